"""A child's life as its parent is told it: announced, ended, resumed, back from before (reference 7.3 and 7.8).

Each function changes what is known of the child and gives the messages. What waited for a child is not sent here: the
stage delivers it behind these messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from loguru import logger

from middleware.messages import AskWithdrawn, Message, SessionOpened, SubagentPlace, Task

from .calls import SEND
from .family import ENDS, PLACES, Child, Family
from .waiting import Waiting
from .words import announcement, place_of, spoken, state_of, tell

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
    name = child.call or f"{child.session}:prompt:1"
    if launch is not None and not launch.shown:
        yield from tell(child, child.parent, name, child.prompt)
    elif child.prompt and name not in child.told:
        child.told.add(name)  # the call itself stands in its maker's transcript
        yield from spoken(child.parent, child.session, name, child.prompt, outgoing=False)


def ends(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """How it ended; of one that was never announced nothing is said, since its parent would be guessed (W2, W3)."""
    error = message.error or (message.summary if message.status == "failed" else None)
    if not child.announced:
        family.waiting.take(child.call)
        del family.children[child.session]
    elif child.works:
        child.state = "idle"
        reason = None if message.reason in _NO_REASON else ENDS.get(message.status or "")
        child.error_owed = reason == "error" and error is None
        yield state_of(child, reason, error if reason == "error" else None)
    elif child.error_owed and error is not None:
        child.error_owed = False
        yield state_of(child, "error", error)


def resumes(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """A new delegation of a child that had ended; its session is the same (W4)."""
    if message.tool_use is not None and message.tool_use != child.call:
        if child.call is not None:
            child.past_calls.add(child.call)
        child.past_calls.discard(message.tool_use)
        child.call = message.tool_use
    child.handed_back = child.error_owed = False
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
        if above.told:
            yield SessionOpened(session=known.session, cwd=family.cwd_of(known.session))
        else:
            yield from announcement(family, known, live=known is child)
    if family.past[child.session].told:
        yield state_of(child)
    child.background = child.background if message.background is None else message.background
    yield from _delegated(family, child, message)


def _delegated(family: Family, child: Child, message: Task) -> Iterator[Message]:
    """What a child was told with its new delegation; a running patch alone tells it nothing."""
    sent = family.hidden.get(message.tool_use or "")
    if sent is not None:
        text = sent.member("message", "content", "prompt") or message.prompt
        yield from tell(child, sent.session, sent.tool_use, text)
    elif message.tool_use is not None:
        yield from tell(child, child.parent, message.tool_use, message.prompt)


def placed(family: Family, message: SubagentPlace) -> Iterator[Message]:
    """Where a child works is told when it is another directory than before, its parent's to begin with (D1)."""
    child = family.children.get(message.agent)
    if child is None:
        if len(family.places) < PLACES:
            family.places[message.agent] = message.cwd
        return
    before = child.cwd if child.cwd is not None else family.cwd_of(child.parent)
    child.cwd = message.cwd
    if child.announced and before != message.cwd:
        yield place_of(child, message.cwd)


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
            child.state = "idle"
            yield state_of(child)
    family.waiting = Waiting()
