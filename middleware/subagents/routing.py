"""Which session does a message belong to, and does the client know that one yet (reference 7.2).

What the main thread does is the root's; what a call began is the child's whose call it is, and waits until that child
was announced. Calls that a child session replaces are held back (`hidden`).
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware.messages import Message, Task, Text, ToolCall, ToolCallUpdate

from . import lives
from .calls import HAND_BACK, HIDDEN, LAUNCHES, HiddenCall, id_of, merged, name_of, parent_of
from .family import Child, Family
from .hidden import finished
from .waiting import Routed


def route(family: Family, message: Routed) -> Iterator[Message]:
    """A message goes to the session that it belongs to, or waits until the client knows that one."""
    if isinstance(message, Text):
        yield from _in_lane(family, message.parent, message)
        return
    tool_use, lane = id_of(message), parent_of(message)
    hidden = family.hidden.get(tool_use)
    if hidden is None or hidden.shown:
        yield from _open(family, message, tool_use, lane)
    if hidden is not None and isinstance(message, ToolCallUpdate):
        yield from _change(family, hidden, message)


def _open(family: Family, message: ToolCall | ToolCallUpdate, tool_use: str, lane: str | None) -> Iterator[Message]:
    """A call that nothing replaces, or may: that is clear when it has ended."""
    if tool_use in family.owners:
        yield attrs.evolve(message, session=family.owners[tool_use])
    elif isinstance(message, ToolCall) and _is_control(family, message):
        session = family.session_of(lane)
        if session is None:
            family.waiting.put(str(lane), message)  # nobody guesses whose it is
        else:
            yield from _hide(family, HiddenCall(session, message.call))
    else:
        yield from _in_lane(family, lane, message)


def come_back(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """A child from before runs again; what waited for it, or for one above it, follows."""
    line = family.lineage(child.session)
    yield from lives.returns(family, child, message)
    for above in line:
        known = family.children.get(above.task)
        if known is not None:  # of too many children one at rest is forgotten first
            yield from deliver(family, known)


def announce(family: Family, child: Child) -> Iterator[Message]:
    """Tell of a child, and then what waited for it."""
    yield from lives.announce(family, child)
    yield from deliver(family, child)


def deliver(family: Family, child: Child) -> Iterator[Message]:
    """What waited for the child follows its announcement, in its order (A3)."""
    if child.announced:
        for began in (*child.past_calls, child.call):
            for held in family.waiting.take(began):
                yield from route(family, held)


def _in_lane(family: Family, lane: str | None, message: Routed) -> Iterator[Message]:
    session = family.session_of(lane)
    if session is None:
        family.waiting.put(str(lane), message)
        return
    if session != family.root and not isinstance(message, Text):
        family.own(id_of(message), session)
    yield attrs.evolve(message, session=session)


def _is_control(family: Family, message: ToolCall) -> bool:
    name = name_of(message.call.meta)
    return name in HIDDEN and (name != HAND_BACK or family.begun_by(parent_of(message)) is not None)


def _hide(family: Family, hidden: HiddenCall) -> Iterator[Message]:
    family.hide(hidden)
    child = family.begun_by(hidden.tool_use)
    if child is not None and not child.announced and hidden.name in LAUNCHES:
        yield from announce(family, child)
    if hidden.ended:
        yield from finished(family, hidden)


def _change(family: Family, hidden: HiddenCall, message: ToolCallUpdate) -> Iterator[Message]:
    over = hidden.ended
    hidden.call = merged(hidden.call, message.change)
    if hidden.ended and not over:
        yield from finished(family, hidden)
