"""The rules of time: when a timer is due, whose it is, what ends it, and which clocks there are."""

from __future__ import annotations

import datetime
import math
import time

import pytest
from freezegun import freeze_time
from hypothesis import example, given, settings
from hypothesis import strategies as st

from middleware import Expired, ManualClock, Message, Outcome, Pipeline, StepRunner, SystemClock
from middleware.errors import PipelineError
from middleware.stage import Context
from middleware.testing import FrozenClock
from middleware.timers import Timers
from tests.core import Alarm, Does, Down, Up


def rung(runner: StepRunner) -> list[int]:
    """The timers that were told to the client."""
    return [message.number for message in runner.client if isinstance(message, Down)]


def alarm(start: float = 0.0, seconds: float = 2.0) -> StepRunner:
    """A runner in which the timer 1 is set."""
    return StepRunner(Pipeline([Alarm(seconds)]), clock=ManualClock(start)).feed(Up(number=1)).run()


# --------------------------------------------------------------------------------------------- the deadline


def test_due_means_reached() -> None:
    """A timer of 2 s is not due after 1.999 s, and due after 2.000 s."""
    runner = alarm().advance(1.999)
    assert rung(runner) == []
    assert rung(runner.advance(0.001)) == [1]


@settings(deadline=None)
@given(start=st.integers(0, 10**9), length=st.integers(1, 5000), stops=st.sets(st.integers(1, 4999), max_size=20))
@example(start=100, length=200, stops=set())
def test_rounding_makes_no_difference(start: int, length: int, stops: set[int]) -> None:
    """However a clock gets there, in thousandths: one before the deadline nothing is due, at the deadline it is."""
    runner = alarm(start / 1000, seconds=length / 1000)
    passed = 0
    for stop in sorted({stop for stop in stops if stop < length} | {length - 1}):
        runner.advance((stop - passed) / 1000)
        passed = stop
    assert rung(runner) == []
    assert rung(runner.advance(0.001)) == [1]


def test_ten_tenths_are_one() -> None:
    """A clock that is moved ten times by 0.1 s reads 1 s."""
    clock = ManualClock()
    for _ in range(10):
        clock.advance(0.1)
    assert clock.now() == 1.0


def test_each_timer_has_its_own_moment() -> None:
    """When much time passes at once, each timer expires at its own deadline, the earliest first, equals as set."""
    stage = Alarm()
    runner = StepRunner(Pipeline([stage]))
    for number, seconds in ((1, 3.0), (2, 1.5), (3, 3.0)):
        stage.seconds = seconds
        runner.feed(Up(number=number)).run()
    runner.advance(100.0)
    assert stage.expired == [(2, 1.5), (1, 3.0), (3, 3.0)]
    assert runner.clock.now() == 100.0


def test_a_timer_may_set_the_next() -> None:
    """A timer that is set when another expires belongs to the same passage of time."""

    def tick(item: Message | Expired, context: Context) -> Outcome:
        context.set_timer("tick", 1.0)
        return Down() if isinstance(item, Expired) else None

    runner = StepRunner(Pipeline([Does(tick)])).feed(Up()).run()
    assert len(runner.advance(3.5).client) == 3
    assert len(runner.advance(0.5).client) == 4


def test_never_is_a_time() -> None:
    """An infinite timer can be set and is never due."""
    assert rung(alarm(seconds=math.inf).advance(1e12)) == []


# --------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(("second", "moment"), [(5.0, 6.0), (0.5, 1.5)], ids=["later", "earlier"])
def test_the_same_key_replaces(second: float, moment: float) -> None:
    """Setting a key that is set moves its timer, later or earlier; it expires once."""
    stage = Alarm()
    runner = StepRunner(Pipeline([stage])).feed(Up(number=1)).advance(1.0)
    stage.seconds = second
    runner.feed(Up(number=1)).advance(100.0)
    assert stage.expired == [(1, moment)]


def test_a_cancelled_timer_is_silent() -> None:
    """A timer that is cancelled never expires; cancelling one that is not set is no error."""

    def act(item: Message | Expired, context: Context) -> Outcome:
        match item:
            case Up():
                context.set_timer("one", 1.0)
                context.set_timer("two", 1.0)
            case Down():
                context.cancel_timer("one")
                context.cancel_timer("never set")
            case Expired(key="two"):
                return Down(number=2)
            case Expired():
                return Down(number=1)
        return None

    runner = StepRunner(Pipeline([Does(act)])).feed(Up(), Down()).advance(10.0)
    assert rung(runner) == [2]


def test_keys_belong_to_their_stage() -> None:
    """Two stages may use the same key: each has its own timer, and gets its own."""
    near, far = Alarm(1.0), Alarm(2.0)

    def both(item: Message | Expired, context: Context) -> Outcome:
        near._up(Up(number=1), context)
        return item if isinstance(item, Message) else None

    first = Does(lambda item, context: both(item, context) if isinstance(item, Up) else near.handle(item, context))
    StepRunner(Pipeline([first, far])).feed(Up(number=1)).advance(10.0)
    assert (near.expired, far.expired) == ([(1, 1.0)], [(1, 2.0)])


def test_a_message_that_waits_comes_first() -> None:
    """What is in the inbox already is handled before a timer that is due, and may cancel it."""

    def act(item: Message | Expired, context: Context) -> Outcome:
        if isinstance(item, Expired):
            return Down(number=1)
        context.set_timer("k", 2.0) if isinstance(item, Up) else context.cancel_timer("k")
        return None

    clock = ManualClock()
    runner = StepRunner(Pipeline([Does(act)]), clock=clock).feed(Up()).run()
    clock.advance(2.0)
    runner.feed(Down()).expire()
    assert rung(runner) == []


@pytest.mark.parametrize("change", ["cancel", "replace"])
def test_a_due_timer_can_be_stopped_on_its_way(change: str) -> None:
    """A timer that is due and still waits for its stage ends by being cancelled or replaced, as one that is not due."""
    timers = Timers()
    timers.set(0, "k", 2.0)
    due = timers.pop_due(2.0)
    assert due is not None
    timers.cancel(0, "k") if change == "cancel" else timers.set(0, "k", 4.0)
    assert not timers.claim(due)
    assert timers.pop_due(3.999) is None
    again = timers.pop_due(4.0)
    assert (again is not None and timers.claim(again)) == (change == "replace")


def test_a_timer_is_claimed_once() -> None:
    """A due timer is handed out once and ends when it is claimed; then nothing is set."""
    timers = Timers()
    timers.set(3, "k", 2.0)
    due = timers.pop_due(5.0)
    assert due is not None
    assert (due.owner, due.key) == (3, "k")
    assert timers.pop_due(5.0) is None
    assert len(timers) == 1
    assert timers.claim(due)
    assert not timers.claim(due)
    assert len(timers) == 0
    assert timers.next_deadline() is None


def test_replaced_timers_take_no_room() -> None:
    """A timer that is set again with each message, or cancelled, leaves nothing behind until its deadline."""
    timers = Timers()
    timers.set(0, "stays", 5.0)
    for number in range(10_000):
        timers.set(0, "again", 600.0 + number)
        timers.set(0, number, 600.0)
        timers.cancel(0, number)
    assert len(timers) == 2
    assert len(timers._heap) < 200
    due = [timers.pop_due(math.inf), timers.pop_due(math.inf), timers.pop_due(math.inf)]
    assert [timer.key if timer else None for timer in due] == ["stays", "again", None]


# --------------------------------------------------------------------------------------------- clocks


def test_a_manual_clock_stands_still() -> None:
    """A manual clock begins where it is told to and moves by what it is told to, and never back."""
    clock = ManualClock(5.0)
    assert clock.now() == clock.now() == 5.0
    clock.advance(0.25)
    assert clock.now() == 5.25
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-0.001)
    assert clock.now() == 5.25


def test_the_system_clock_is_asked_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """`SystemClock` is `time.monotonic`, looked up at call time, so that a patched one is obeyed."""
    before = time.monotonic()
    assert before <= SystemClock().now() <= time.monotonic()
    clock = SystemClock()
    monkeypatch.setattr(time, "monotonic", lambda: 77.0)
    assert clock.now() == 77.0


def test_freezegun_moves_a_step_runner() -> None:
    """With `FrozenClock` freezegun's tick and `expire()` make a timer due, to the millisecond."""
    with freeze_time("2026-01-01") as frozen:
        runner = StepRunner(Pipeline([Alarm(2.0)]), clock=FrozenClock(frozen)).feed(Up(number=1)).run()
        frozen.tick(1.999)
        assert rung(runner.expire()) == []
        frozen.tick(0.001)
        assert rung(runner) == [], "moving time wakes nobody"
        assert rung(runner.expire()) == [1]


def test_freezegun_may_start_anywhere() -> None:
    """A `FrozenClock` counts from the moment at which it was made, in seconds, and follows `move_to`."""
    with freeze_time("2026-01-01 12:00:00") as frozen:
        clock = FrozenClock(frozen)
        assert clock.now() == 0.0
        frozen.move_to(datetime.datetime(2026, 1, 1, 13, 0, 0))
        assert clock.now() == 3600.0


def test_only_a_manual_clock_is_advanced() -> None:
    """`advance` with a clock that somebody else moves is an error that says what to do instead."""
    runner = StepRunner(Pipeline([Alarm()]), clock=SystemClock())
    with pytest.raises(PipelineError, match=r"SystemClock cannot be advanced .* call expire"):
        runner.advance(1.0)
