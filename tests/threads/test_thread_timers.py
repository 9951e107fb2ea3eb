"""Timers on threads: by themselves with the system's clock, by `expire()` with a clock that a test moves."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Hashable

import attrs
import pytest
from freezegun import freeze_time

from middleware import Context, Expired, ManualClock, Message, Outcome, Pipeline, Stage, SystemClock, ThreadRunner, on
from middleware.testing import FrozenClock
from tests.core import Alarm, Does, Down, Log, Pass, Up
from tests.threads.support import REPETITIONS, SECONDS, Ends, Gate

# --------------------------------------------------------------------------------------------- a clock that is moved


@pytest.mark.usefixtures("switching")
def test_freezegun_moves_the_threads() -> None:
    """300 times: not due at 1.999 s of frozen time and due at 2.000 s, after `tick` and `expire()`."""
    with freeze_time("2026-01-01") as frozen:
        ends = Ends()
        with ends.runner(Pass(), Alarm(2.0), Pass(), clock=FrozenClock(frozen)) as runner:
            for number in range(REPETITIONS // 2):
                runner.feed(Up(number=number))
                assert runner.wait_idle(SECONDS)
                frozen.tick(1.999)
                runner.expire()
                assert runner.wait_idle(SECONDS)
                assert ends.client == [Down(number=earlier) for earlier in range(number)]
                frozen.tick(0.001)
                runner.expire()
                assert runner.wait_idle(SECONDS)
                assert ends.client[-1] == Down(number=number)


def test_a_stage_reads_the_frozen_time() -> None:
    """`context.now()` in a stage's thread is the frozen time, which `time.monotonic()` there is not."""
    read: list[float] = []

    def act(item: Message | Expired, context: Context) -> None:
        read.append(context.now())

    with freeze_time("2026-01-01") as frozen, Ends().runner(Does(act), clock=FrozenClock(frozen)) as runner:
        for _ in range(3):
            runner.feed(Up())
            assert runner.wait_idle(SECONDS)
            frozen.tick(10)
    assert read == [0.0, 10.0, 20.0]


def test_a_manual_clock_moves_the_threads() -> None:
    """With a `ManualClock` timers wait for `expire()`, and come in the order of their deadlines."""
    clock, ends, stage = ManualClock(), Ends(), Alarm()
    with ends.runner(stage, clock=clock) as runner:
        for number, seconds in ((1, 3.0), (2, 2.0), (3, 5.0)):
            stage.seconds = seconds
            runner.feed(Up(number=number))
            assert runner.wait_idle(SECONDS)
        clock.advance(4.0)
        assert runner.wait_idle(0)
        assert ends.client == []
        runner.expire()
        assert runner.wait_idle(SECONDS)
        assert ends.client == [Down(number=2), Down(number=1)]


def test_only_the_system_clock_has_a_thread() -> None:
    """A runner whose clock is moved by somebody else has no `timers` thread: nothing there could wake it."""
    for clock, timers in ((ManualClock(), 0), (SystemClock(), 1), (None, 1)):
        with Ends().runner(Pass(), clock=clock):
            assert sum(thread.name == "timers" for thread in threading.enumerate()) == timers


# --------------------------------------------------------------------------------------------- meeting messages


@attrs.define(eq=False)
class Kettle(Stage):
    """`Up(1)` sets the timer for 2 s, `Up(2)` cancels it, `Up(3)` sets it anew; `Up(0)` holds the thread."""

    gate: Gate = attrs.field(factory=Gate)
    seen: list[Hashable] = attrs.field(factory=list)

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        match message.number:
            case 0:
                self.gate.hold()
            case 1 | 3:
                context.set_timer("tea", 2.0)
            case 2:
                context.cancel_timer("tea")
        self.seen.append(message.number)
        return None

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Outcome:
        self.seen.append(expired.key)
        return None


def late(*messages: int) -> tuple[Kettle, ManualClock, ThreadRunner]:
    """A kettle whose timer came due while these messages waited in its inbox."""
    kettle, clock = Kettle(), ManualClock()
    runner = Ends().runner(kettle, clock=clock).start()
    runner.feed(Up(number=1), Up(number=0))
    kettle.gate.wait_held()
    runner.feed(*(Up(number=number) for number in messages))
    clock.advance(2.0)
    runner.expire()
    return kettle, clock, runner


def test_a_message_that_waits_comes_first() -> None:
    """What is in the inbox when a timer comes due is handled before it, what comes later behind it."""
    kettle, _, runner = late(7)
    runner.feed(Up(number=8))
    kettle.gate.open()
    runner.close()
    assert kettle.seen == [1, 0, 7, "tea", 8]


def test_a_timer_is_cancelled_on_its_way() -> None:
    """A message that is handled before a due timer may cancel it: the timer never comes, and is not on its way."""
    kettle, _, runner = late(2)
    kettle.gate.open()
    assert runner.wait_idle(SECONDS)
    runner.close()
    assert kettle.seen == [1, 0, 2]


def test_a_timer_is_replaced_on_its_way() -> None:
    """A message that is handled before a due timer may set it anew: it comes once, at the new deadline."""
    kettle, clock, runner = late(3)
    kettle.gate.open()
    assert runner.wait_idle(SECONDS)
    assert kettle.seen == [1, 0, 3]
    clock.advance(1.999)
    runner.expire()
    assert runner.wait_idle(SECONDS)
    assert kettle.seen == [1, 0, 3]
    clock.advance(0.001)
    runner.expire()
    runner.close()
    assert kettle.seen == [1, 0, 3, "tea"]


# --------------------------------------------------------------------------------------------- the system's clock


@attrs.define(eq=False)
class Fuse(Stage):
    """Sets a timer for each `Up`, for as long as a table says."""

    seconds: dict[int, float]

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        context.set_timer(message.number, self.seconds[message.number])
        return None

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Outcome:
        assert isinstance(expired.key, int)
        return Down(number=expired.key)


def test_timers_fire_by_themselves() -> None:
    """With the system's clock a timer comes unasked, not before its time, and wakes an idle pipeline."""
    fired, moments = threading.Event(), list[float]()

    def act(item: Message | Expired, context: Context) -> Outcome:
        moments.append(context.now())
        if isinstance(item, Expired):
            return Down()
        context.set_timer("k", 0.02)
        return None

    with ThreadRunner(
        Pipeline([Does(act)]), to_client=lambda message: fired.set(), to_agent=lambda message: None
    ) as runner:
        runner.feed(Up())
        assert fired.wait(SECONDS)
    assert moments[1] - moments[0] >= 0.02


class Watched(SystemClock):
    """Says when the `timers` thread looks at it."""

    def __init__(self) -> None:
        self.looks = threading.Semaphore(0)

    def now(self) -> float:
        if threading.current_thread().name == "timers":
            self.looks.release()
        return super().now()

    def wait_looks(self, number: int) -> None:
        for _ in range(number):
            assert self.looks.acquire(timeout=SECONDS)


@pytest.mark.parametrize("far", [3600.0, math.inf])
def test_a_nearer_timer_overtakes(far: float) -> None:
    """A timer that is set later and due earlier wakes the thread that waits for a far one, or for ever."""
    fired, clock = queue.SimpleQueue[Message](), Watched()
    fuse = Fuse({1: far, 2: 0.01, 3: 0.0})
    with ThreadRunner(Pipeline([fuse]), to_client=fired.put, to_agent=fired.put, clock=clock) as runner:
        clock.wait_looks(1)
        runner.feed(Up(number=1))
        clock.wait_looks(2)  # is it due? how long is it till then?
        runner.feed(Up(number=2))
        assert fired.get(timeout=SECONDS) == Down(number=2)
        runner.feed(Up(number=3))
        assert fired.get(timeout=SECONDS) == Down(number=3)
    assert fired.empty(), "and the end does not wait for the far one"


def test_the_end_comes_before_a_timer() -> None:
    """Timers that are due when their stage is closed go nowhere, are no error, and leave nothing on its way."""
    clock, log = ManualClock(), Log()
    alarm = Alarm(2.0)
    runner = Ends().runner(log, alarm, clock=clock).start()
    runner.feed(Up(number=1))
    runner.close()
    clock.advance(5.0)
    runner.expire()
    assert alarm.expired == []
    assert runner.wait_idle(0)
