"""Tools for testing stages, pipelines and bridges: public, and used by the tests of this repository.

Time: `ManualClock`, or `FrozenClock` for freezegun. Order: `interleavings`, `schedules`. Checks: `assert_one_answer`,
`check_stage`. None of them needs pytest or freezegun to be installed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from .clock import ManualClock
from .messages import (
    AskWithdrawn,
    Closing,
    Initialized,
    Key,
    Message,
    SessionClosed,
    ToAgent,
    ToClient,
    Toward,
)
from .pipeline import Pipeline
from .profile import ClientProfile
from .stage import Stage
from .stepping import StepRunner
from .threaded import ThreadRunner

__all__ = ["FrozenClock", "ManualClock", "assert_one_answer", "check_stage", "interleavings", "schedules"]

_Item = TypeVar("_Item")


class _Frozen(Protocol):
    """What `freezegun.freeze_time(...)` gives: called, it says what time it is for those who are frozen."""

    def __call__(self) -> Any: ...


class FrozenClock:
    """A clock that follows freezegun: `FrozenClock(frozen)` inside `with freeze_time(...) as frozen`.

    freezegun decides a call at a time whether the caller is frozen, and a caller near `threading` is not: in a stage's
    thread `time.monotonic()` is real time. So the factory itself is asked. Nothing wakes up when time is moved: after
    `frozen.tick(...)` call `runner.expire()`.
    """

    def __init__(self, frozen: _Frozen) -> None:
        self._frozen = frozen
        self._start = frozen()

    def now(self) -> float:
        passed: float = (self._frozen() - self._start).total_seconds()
        return passed


def interleavings(*scripts: Sequence[_Item]) -> Iterator[tuple[_Item, ...]]:
    """Every way to merge the scripts into one, each script's own order kept.

    The number grows as the multinomial coefficient: two scripts of 4 give 70, three of 3 give 1,680.
    """
    left = [script for script in scripts if script]
    if not left:
        yield ()
        return
    for index, script in enumerate(left):
        for rest in interleavings(*left[:index], script[1:], *left[index + 1 :]):
            yield (script[0], *rest)


def schedules(make: Callable[[], StepRunner], limit: int = 10_000) -> Iterator[StepRunner]:
    """Every order in which the stages can take what is in their inboxes, each as a runner that has run it to its end.

    `make` gives a fresh runner that has been fed. At most `limit` schedules are played.
    """
    pending: list[tuple[int, ...]] = [()]
    played = 0
    while pending and played < limit:
        prefix = pending.pop()
        runner = make()
        for index in prefix:
            runner.step(index)
        taken = prefix
        while ready := runner.ready:
            pending.extend((*taken, other) for other in ready[1:])
            runner.step(ready[0])
            taken = (*taken, ready[0])
        played += 1
        yield runner


def assert_one_answer(runner: StepRunner, *, complete: bool = True) -> None:
    """Check that no request got two answers and, with `complete`, that each one got an answer.

    Counted at both ends: what was fed and opens a request must be answered by what left at that end, unless it was
    passed through to the far end, which then owes the answer. A withdrawn ask may be answered or not.

    Raises:
        AssertionError: naming the request.
    """
    for inward, outward in ((ToAgent, ToClient), (ToClient, ToAgent)):
        opened = [message.opens for message in runner.fed if isinstance(message, inward) and message.opens]
        passed = {message.opens for message in runner.sent if isinstance(message, inward) and message.opens}
        answered = Counter(message.answers for message in runner.sent if isinstance(message, outward))
        withdrawn = {("ask", message.ask) for message in runner.fed if isinstance(message, AskWithdrawn)}
        far_answers = {message.answers for message in runner.fed if isinstance(message, outward)}
        for key in opened:
            times = answered[key]
            if times > 1:
                raise AssertionError(f"{_named(key)} was answered {times} times")
            owed = key not in withdrawn and (key not in passed or key in far_answers)
            if complete and owed and times == 0:
                raise AssertionError(f"{_named(key)} was never answered")


def _named(key: Key) -> str:
    return f"the {key[0]} {key[1]!r}"


@attrs.frozen(kw_only=True)
class _UnknownToAgent(ToAgent):
    session: str


@attrs.frozen(kw_only=True)
class _UnknownToClient(ToClient):
    session: str


def check_stage(make: Callable[[], Stage], script: Iterable[Message] = ()) -> None:
    """Check what every stage must do, whatever it is for. `make` gives a fresh instance.

    - A message that it does not know passes through, unchanged and in order, in both directions.
    - `Initialized` and `Closing` reach whoever stands behind it; `Closing` may come twice.
    - The end of a session that it never saw is no error, and passes.
    - Two instances share nothing: the same script has the same outcome on a second instance, after the first.
    - It neither waits nor needs a thread of its own: it does the same on a `ThreadRunner` as step by step.
    - No request is answered twice.

    `script` is fed to it besides, message by message: give it a typical conversation.

    Raises:
        AssertionError: saying which of these does not hold.
    """
    profile = ClientProfile()
    standard: list[Message] = [
        Initialized(profile=profile),
        _UnknownToAgent(session="check"),
        _UnknownToClient(session="check"),
        *script,
        SessionClosed(session="never opened"),
        Closing(),
        Closing(),
    ]

    def played() -> StepRunner:
        runner = StepRunner(Pipeline([make()]))
        for message in standard:
            runner.feed(message).run()
        return runner.close()

    first = played()
    for expected in (standard[0], standard[1], standard[2], SessionClosed(session="never opened")):
        if first.sent.count(expected) != 1:
            raise AssertionError(f"{type(expected).__name__} did not pass through once: {first.sent}")
    if first.sent.count(Closing()) != 2:
        raise AssertionError("Closing did not pass through")
    assert_one_answer(first, complete=False)
    if played().sent != first.sent:
        raise AssertionError("a second instance behaved otherwise: is state shared between instances?")

    threaded: dict[Toward, list[Message]] = {Toward.CLIENT: [], Toward.AGENT: []}
    with ThreadRunner(
        Pipeline([make()]),
        to_client=threaded[Toward.CLIENT].append,
        to_agent=threaded[Toward.AGENT].append,
        clock=ManualClock(),
    ) as runner:
        for message in standard:
            runner.feed(message)
            if not runner.wait_idle():
                raise AssertionError(f"the stage did not come back from {type(message).__name__}")
    if threaded[Toward.CLIENT] != first.client or threaded[Toward.AGENT] != first.agent:
        raise AssertionError("the stage behaved otherwise on a thread than step by step")
