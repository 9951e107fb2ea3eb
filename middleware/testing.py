"""Tools for testing stages, pipelines and bridges: public, and used by the tests of this repository.

Time: `ManualClock`, or `FrozenClock` for freezegun. Order: `interleavings`, `schedules`. Checks: `assert_one_answer`,
`check_stage`. None of them needs pytest or freezegun to be installed.
"""

from __future__ import annotations

import queue
import threading
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
    Reply,
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

    `make` gives a fresh runner that has been fed. The number grows fast: two messages each way through three stages
    have 3,444 schedules.

    Raises:
        AssertionError: there are more than `limit`. Some of the orders would not be "every order".
    """
    pending: list[tuple[int, ...]] = [()]
    played = 0
    while pending:
        if played == limit:
            raise AssertionError(f"there are more than {limit} schedules: feed less, or raise the limit")
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
        answered = Counter(_ends(message) for message in runner.sent if isinstance(message, outward))
        withdrawn = {("ask", message.ask) for message in runner.fed if isinstance(message, AskWithdrawn)}
        far_answers = {_ends(message) for message in runner.fed if isinstance(message, outward)}
        for key in opened:
            times = answered[key]
            if times > 1:
                raise AssertionError(f"{_named(key)} was answered {times} times")
            owed = key not in withdrawn and (key not in passed or key in far_answers)
            if complete and owed and times == 0:
                raise AssertionError(f"{_named(key)} was never answered")


def _ends(message: Message) -> Key | None:
    """What a message answers; the client's reply answers its ask, in words that a stage has yet to translate."""
    return ("ask", message.ask) if isinstance(message, Reply) else message.answers


def _named(key: Key) -> str:
    return f"the {key[0]} {key[1]!r}"


@attrs.frozen(kw_only=True)
class _UnknownToAgent(ToAgent):
    session: str
    number: int


@attrs.frozen(kw_only=True)
class _UnknownToClient(ToClient):
    session: str
    number: int


def check_stage(make: Callable[[], Stage], script: Iterable[Message] = (), *, seconds: float = 10.0) -> None:
    """Check what every stage must do, whatever it is for. `make` gives a fresh instance.

    - A message that it does not know passes through: at once, unchanged and once, in both directions.
    - `Initialized` and `Closing` reach whoever stands behind it; `Closing` may come twice.
    - The end of a session that it never saw is no error, and passes.
    - Two instances share nothing: the same script has the same outcome on a second instance, after the first and side
      by side with it.
    - Each request is answered once, at the latest when the stage is closed, unless it was passed on.
    - It neither fails nor waits, and needs no thread of its own: it does the same on a `ThreadRunner` as step by step.

    `script` is fed to it besides, message by message: give it a typical conversation, since state that the script does
    not touch is not checked.

    Args:
        make: builds the stage, always in the same way.
        script: what the stage is for.
        seconds: how long all of it may take, in real time. The clock of the check stands still. A stage that waits
            longer is left behind on a daemon thread.

    Raises:
        AssertionError: saying which of these does not hold.
    """
    watch = _Watch()
    messages = tuple(_conversation(script))

    def check() -> None:
        alone = _Trial(make, watch).play(messages)
        assert_one_answer(alone.runner)
        _check_fresh(make, messages, alone, watch)
        _check_threaded(make, messages, alone, watch)

    done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            check()
        except BaseException as error:
            done.put(error)
        else:
            done.put(None)

    # A stage that waits cannot be stopped, but it can be left: the threads of a daemon are daemons.
    threading.Thread(target=work, name="check_stage", daemon=True).start()
    try:
        failure = done.get(timeout=seconds)
    except queue.Empty:
        raise AssertionError(f"the stage did not come back from {watch.doing} in {seconds} s: does it wait?") from None
    if failure is not None:
        raise failure


_NEVER_OPENED = SessionClosed(session="never opened")
_PASSING = (_UnknownToAgent, _UnknownToClient)


def _conversation(script: Iterable[Message]) -> Iterator[Message]:
    number = 0

    def unknown() -> tuple[Message, ...]:
        nonlocal number
        number += 2
        return _UnknownToAgent(session="check", number=number), _UnknownToClient(session="check", number=number + 1)

    yield Initialized(profile=ClientProfile())
    yield from unknown()
    yield from unknown()
    for message in script:
        yield message
        yield from unknown()
    yield _NEVER_OPENED
    yield Closing()
    yield Closing()


@attrs.define
class _Watch:
    """What is being done, for the report when it is never done."""

    doing: str = ""


class _Trial:
    """One instance, message by message, and what each message gave."""

    def __init__(self, make: Callable[[], Stage], watch: _Watch) -> None:
        watch.doing = "being made"
        self.stage = make()
        self.runner = StepRunner(Pipeline([self.stage]))
        self.gave: list[tuple[Message, ...]] = []
        self._watch = watch

    def play(self, messages: Iterable[Message]) -> _Trial:
        for message in messages:
            self.feed(message)
        return self.close()

    def feed(self, message: Message) -> None:
        gave = self._gave(type(message).__name__, lambda: self.runner.feed(message).run())
        if (isinstance(message, _PASSING) or message in (_NEVER_OPENED, Closing())) and gave.count(message) != 1:
            raise AssertionError(f"{type(message).__name__} did not pass through, at once and once: it gave {gave}")
        if isinstance(message, Initialized) and not any(isinstance(given, Initialized) for given in gave):
            raise AssertionError(f"Initialized did not pass through: it gave {gave}")

    def close(self) -> _Trial:
        self._gave("close()", self.runner.close)
        return self

    def _gave(self, name: str, act: Callable[[], object]) -> tuple[Message, ...]:
        self._watch.doing = name
        before = len(self.runner.sent)
        try:
            act()
        except Exception as error:
            raise AssertionError(f"the stage failed on {name}: {error!r}") from error
        self.gave.append(tuple(self.runner.sent[before:]))
        return self.gave[-1]


def _check_fresh(make: Callable[[], Stage], messages: tuple[Message, ...], alone: _Trial, watch: _Watch) -> None:
    left, right = _Trial(make, watch), _Trial(make, watch)
    if left.stage is right.stage or left.stage is alone.stage:
        raise AssertionError("make() gave the same instance twice; it must build a new one at each call")
    for message in messages:
        left.feed(message)
        right.feed(message)
    left.close()
    right.close()
    again = _Trial(make, watch).play(messages)
    if not left.gave == right.gave == again.gave == alone.gave:
        raise AssertionError("a second instance behaved otherwise: is state shared between instances?")


def _check_threaded(make: Callable[[], Stage], messages: tuple[Message, ...], alone: _Trial, watch: _Watch) -> None:
    threaded: dict[Toward, list[Message]] = {Toward.CLIENT: [], Toward.AGENT: []}
    watch.doing = "its own thread"
    with ThreadRunner(
        Pipeline([make()]),
        to_client=threaded[Toward.CLIENT].append,
        to_agent=threaded[Toward.AGENT].append,
        clock=ManualClock(),
    ) as runner:
        runner.feed(*messages)
    if threaded[Toward.CLIENT] != alone.runner.client or threaded[Toward.AGENT] != alone.runner.agent:
        raise AssertionError("the stage behaved otherwise on a thread than step by step")
