"""The end of a hidden call: what of it is shown, and where (reference 7.3, L2 to H1).

A call that a child session replaces stays hidden. Any other is shown after all, once, as it ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from middleware.messages import Message, ToolCall

from .calls import LAUNCHES, SEND, HiddenCall, recipient_of
from .family import Family
from .words import reported, spoken, tell


def finished(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    """The call has ended. Of one that is shown only its message is news."""
    if hidden.name == SEND:
        yield from _sent(family, hidden)
    elif hidden.shown:
        return
    elif hidden.name in LAUNCHES:
        yield from _launched(family, hidden)
    else:
        yield from _handed_back(family, hidden)


def show(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    """The client gets the call after all, as far as it is; from here on it is a call like any other."""
    hidden.shown = True
    family.own(hidden.tool_use, hidden.session)
    yield ToolCall(session=hidden.session, call=hidden.at_last() if hidden.ended else hidden.call)


def _launched(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    """Whoever waited for the child is told its report; what has no child is a call. One in the background may have
    its child later, but in a replay, which tells of the child before the launch has ended."""
    child = family.begun_by(hidden.tool_use)
    completed = hidden.call.status == "completed"
    background = hidden.input.get("run_in_background") is True or hidden.response.get("status") == "async_launched"
    if child is not None and child.announced:
        if completed and not (background or child.background or child.handed_back):
            yield from reported(child, hidden.tool_use, hidden.texts())
    elif family.replay or not (completed and background):
        family.waiting.take(hidden.tool_use)
        if child is not None:
            del family.children[child.session]
        yield from show(family, hidden)


def _sent(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    """A message that reached a child stands in both transcripts instead of the call (M1), or beside a call that is
    shown in the child's only. In a replay one that did is a `SubagentMessage`, and a call is one that did not."""
    child = family.named(recipient_of(hidden.response) or hidden.member("to", "recipient"))
    refused = hidden.call.status != "completed" or hidden.response.get("success") is False
    if not (family.replay or refused or child is None or not child.announced):
        text = hidden.member("message", "content")
        yield from tell(child, hidden.session, hidden.tool_use, text, linked=not hidden.shown)
    elif not hidden.shown:
        yield from show(family, hidden)


def _handed_back(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    """What a child hands back is a message to its parent, and stands for its report (H1)."""
    child = family.children.get(hidden.session)
    text = hidden.member("message")
    if child is None or child.parent is None or hidden.call.status != "completed" or text is None:
        yield from show(family, hidden)
    else:
        child.handed_back = True
        yield from spoken(child.session, child.parent, hidden.tool_use, text)
