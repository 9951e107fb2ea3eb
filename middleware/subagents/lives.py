"""A child's life as its parent is told it: announced, ended, resumed, back from before (reference 7.3 and 7.8).

Each function changes what is known of the child and gives the messages. What waited for a child is not sent here: the
stage delivers it behind these messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from loguru import logger

from middleware.messages import (
    AskWithdrawn,
    Message,
    SessionOpened,
    SubagentHistory,
    SubagentMessage,
    SubagentPlace,
    Task,
)

from .calls import SEND
from .family import CHILDREN, ENDS, PLACES, Child, Family
from .waiting import Waiting
from .words import announcement, configured, incoming, outgoing, place_of, standing, state_of, tell

_NO_REASON = frozenset({"worker_restart"})


def begins(family: Family, message: Task) -> Child | None:
    """A task of a subagent that is not known: a new child, or None for one that must stay unexposed."""
    sent = family.hidden.get(message.tool_use or "")
    resumed = sent is not None and sent.name == SEND
    if (message.task in family.past or resumed) and not family.lineage(message.task):
        logger.info("session {}: {} was resumed, and its history is not known", family.root, message.task)
        return None
    child = Child(
        session=message.task, call=message.tool_use, run=message.run, cwd=family.places.pop(message.task, None)
    )
    family.add(child)
    family.learn(child, message)
    if child.call is None:
        child.parent = family.root
    return child


def announce(family: Family, child: Child) -> Iterator[Message]:
    """Tell of the child, then what it was told (A1, A2)."""
    launch = family.hidden.get(child.call or "")
    if launch is not None:
        child.parent = launch.session
        family.learn(child, Task(session=family.root, task=child.session, state="running"))
    child.announced = True
    yield from announcement(family, child)
    if child.prompt:
        # A call that is shown stands in its maker's transcript itself.
        linked = launch is not None and not launch.shown
        yield from tell(child, child.parent, child.call or child.next_prompt(), child.prompt, linked=linked)
    yield from configured(family, child)


def ends(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """How it ended; of one that was never announced nothing is said, since its parent would be guessed (W2, W3)."""
    error = message.error or (message.summary if message.status == "failed" else None)
    if not child.announced:
        family.waiting.take(child.call)
        del family.children[child.session]
    elif child.works:
        child.state = "idle"
        child.stop_reason = None if message.reason in _NO_REASON else ENDS.get(message.status or "")
        child.error = error if child.stop_reason == "error" else None
        child.error_owed = child.stop_reason == "error" and error is None
        yield state_of(child)
    elif child.error_owed and error is not None:
        child.error_owed, child.error = False, error
        yield state_of(child)


def resumes(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """A new delegation of a child that had ended; its session is the same (W4)."""
    if message.tool_use is not None and message.tool_use != child.call:
        if child.call is not None:
            child.past_calls.add(child.call)
        child.past_calls.discard(message.tool_use)
        child.call = message.tool_use
    child.handed_back = child.error_owed = child.homeless = False
    child.background = True if message.background is None else message.background
    child.state = "requires_action" if child.asks else "running"
    if child.announced:
        yield state_of(child)
        yield from _delegated(family, child, message)


def returns(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """A child from before this connection is resumed: those above it are told of first, without a state (7.8)."""
    for above in family.lineage(child.session):
        known = child if above.task == child.session else Child(session=above.task, state="idle")
        known.parent = above.parent or family.root
        known.purpose, known.kind = above.title or known.purpose, above.description or known.kind
        known.cwd = known.cwd or above.cwd
        known.announced = True
        if above.call is not None:
            known.past_calls.add(above.call)
        family.add(known)
        yield from announcement(family, known, live=known is child)
    child.background = child.background if message.background is None else message.background
    yield from _delegated(family, child, message)


def _delegated(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """What a child was told with its new delegation; a running patch alone tells it nothing."""
    sent = family.hidden.get(message.tool_use or "")
    if sent is not None:
        text = sent.member("message", "content", "prompt") or message.prompt
        yield from tell(child, sent.session, sent.tool_use, text, linked=not sent.shown)
    elif message.tool_use is not None:
        yield from tell(child, child.parent, message.tool_use, message.prompt)
    elif message.prompt:
        yield from tell(child, None, child.next_prompt(), message.prompt)


def remembered(family: Family, message: SubagentHistory) -> Iterator[Message]:
    """The children from before. Those that a replay has told of are known, and at rest; a live one is as it is."""
    family.past = {past.task: past for past in message.subagents[-CHILDREN:]}
    for past in family.past.values():
        if not past.told or past.task in family.children:
            continue
        child = Child(session=past.task, call=past.call, announced=True, state="idle")
        child.parent = past.parent or family.root
        child.purpose, child.kind = past.title, past.description
        child.cwd, child.homeless = (None, True) if past.homeless else (past.cwd, False)
        child.stop_reason, child.error = ENDS.get(past.status or ""), past.error
        child.settings.learn(model=past.model)
        child.settings.news(family.offer)  # the replay has told it
        family.add(child)
        yield SessionOpened(session=child.session, cwd=family.cwd_of(child.session))


def loaded(family: Family) -> Iterator[Message]:
    """What a load has told is past: where each child stands now is told behind its answer (7.9)."""
    for child in family.children.values():
        if child.announced:
            yield standing(child)


def heard(family: Family, message: SubagentMessage) -> Iterator[Message]:
    """A message that has arrived, where the transcript has it; each of the two sees it at its own place."""
    child = family.children.get(message.recipient)
    if message.seen_by == "sender":
        if message.sender is not None:
            yield outgoing(message.sender, message.recipient, message.message, message.text)
    elif child is not None and child.announced and message.message not in child.told:
        child.told.add(message.message)
        yield incoming(message.sender, child.session, message.message, message.text)


def placed(family: Family, message: SubagentPlace) -> Iterator[Message]:
    """Where a child works is told when it is another directory than before, its parent's to begin with (D1)."""
    child = family.children.get(message.agent)
    if child is None:
        if len(family.places) < PLACES:
            family.places[message.agent] = message.cwd
        return
    home = family.cwd_of(child.parent)
    before, child.cwd = child.cwd if child.cwd is not None else home, message.cwd
    if child.announced and before != message.cwd:
        yield place_of(child, message.cwd if message.cwd != home else None)


def asked(family: Family, child: Child, ask: str) -> Iterator[Message]:
    """A question of the child is open."""
    child.asks[ask] = family.cancels_over(child)
    family.asks[ask] = child
    if child.state == "running":
        child.state = "requires_action"
        yield state_of(child)


def settled(family: Family, ask: str, *, withdrawn: bool = False) -> Iterator[Message]:
    """With its last open ask a child runs again; not one that is being stopped (W1)."""
    child = family.asks.pop(ask, None)
    if child is None:
        return
    cancels = child.asks.pop(ask)
    stopped = withdrawn and family.cancels_over(child) > cancels
    if not child.asks and child.state == "requires_action" and not stopped:
        child.state = "running"
        yield state_of(child)


def all_end(family: Family) -> Iterator[Message]:
    """Claude Code is gone: what still worked is idle, and nobody knows how it ended (W5)."""
    for child in reversed(list(family.children.values())):
        for ask in list(child.asks):
            family.asks.pop(ask, None)
            yield AskWithdrawn(session=child.session, ask=ask)
        child.asks.clear()
        if child.announced and child.works:
            child.state, child.stop_reason, child.error = "idle", None, None
            yield state_of(child)
    family.waiting = Waiting()
