"""Idle on threads: never true while something is on its way, true when nothing is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import attrs
import pytest

from middleware import Context, Expired, InFlight, ManualClock, Message, Pipeline, ThreadRunner
from tests.core import Alarm, Does, Down, Log, Pass, Up
from tests.threads.support import REPETITIONS, SECONDS, Ends, Gate, Held, partitions


@attrs.define(eq=False, slots=False)
class Counted(InFlight):
    """Keeps what the count was after each change."""

    def __attrs_post_init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []

    def change(self, by: int) -> None:
        super().change(by)
        self.counts.append(self.count)


def burst(item: Message | Expired, context: Context) -> Iterator[Message]:
    """Three for one, and one back."""
    if isinstance(item, Up):
        yield from (Up(number=item.number + one) for one in (1, 2, 3))
        yield Down(number=item.number)
    elif isinstance(item, Message):
        yield item


def test_a_new_runner_is_idle() -> None:
    """A runner that nothing was fed to is idle."""
    with Ends().runner(Pass()) as runner:
        assert runner.wait_idle(0)


def test_what_waits_for_the_start_is_on_its_way() -> None:
    """What is fed before the start is counted, and handled after it."""
    ends = Ends()
    runner = ends.runner(Pass())
    runner.feed(Up())
    assert not runner.wait_idle(0)
    with runner:
        assert runner.wait_idle(SECONDS)
        assert ends.agent == [Up()]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_message_in_a_slow_stage_is_on_its_way(place: int) -> None:
    """While a stage has a message in its hands the pipeline is not idle, wherever the stage stands."""
    ends, held = Ends(), Held(Up)
    stages = [held if index == place else Pass() for index in range(3)]
    with ends.runner(*stages) as runner:
        runner.feed(Up())
        held.gate.wait_held()
        assert not runner.wait_idle(0)
        held.gate.open()
        assert runner.wait_idle(SECONDS)
        assert ends.agent == [Up()]


def test_a_message_in_a_slow_sink_is_on_its_way() -> None:
    """While a sink has a message in its hands the pipeline is not idle."""
    gate, ends = Gate(), Ends()

    def sink(message: Message) -> None:
        gate.hold()
        ends.client.append(message)

    with ThreadRunner(Pipeline([Pass(), Pass()]), to_client=sink, to_agent=ends.agent.append) as runner:
        runner.feed(Down())
        gate.wait_held()
        assert not runner.wait_idle(0)
        gate.open()
        assert runner.wait_idle(SECONDS)
        assert ends.client == [Down()]


def test_a_message_in_an_inbox_is_on_its_way() -> None:
    """What waits behind a message that is being handled is counted too, each of it."""
    held = Held(Up)
    with Ends().runner(Pass(), held) as runner:
        runner.feed(Up())
        held.gate.wait_held()
        runner.feed(Up(number=1), Up(number=2), Down())
        assert not runner.wait_idle(0)
        held.gate.open()
        assert runner.wait_idle(SECONDS)
        assert len(held.seen) == 4


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_what_follows_is_counted_before_its_cause_goes(lanes: tuple[int, ...]) -> None:
    """From the feed to the last sink the count does not touch zero, and it ends there: seen at every change of it."""
    counted, ends = Counted(), Ends()
    with ends.runner(Does(burst), Pass(), Does(burst), lanes=lanes, in_flight=counted) as runner:
        runner.feed(Up())
        assert runner.wait_idle(SECONDS)
        assert 0 not in counted.counts[:-1]
        assert counted.counts[-1] == 0
    assert len(ends.agent) == 9
    assert len(ends.client) == 4


@pytest.mark.usefixtures("switching")
def test_idle_means_that_all_has_arrived() -> None:
    """300 times: when `wait_idle` says yes, everything that follows from what was fed has left the pipeline."""
    ends = Ends()
    with ends.runner(Pass(), Does(burst), Pass(), Does(burst)) as runner:
        for repetition in range(REPETITIONS // 2):
            runner.feed(Up(number=repetition))
            assert runner.wait_idle(SECONDS)
            assert len(ends.agent) == 9 * (repetition + 1)
            assert len(ends.client) == 4 * (repetition + 1)


def test_timers_do_not_count() -> None:
    """A timer that is set is nothing on its way; one that is due and waits for its stage is."""
    clock, ends = ManualClock(), Ends()
    held = Held(Down)
    with ends.runner(held, Alarm(2.0), clock=clock) as runner:
        runner.feed(Up(number=1))
        assert runner.wait_idle(SECONDS)
        clock.advance(2.0)
        assert runner.wait_idle(0)
        runner.expire()
        held.gate.wait_held()
        assert not runner.wait_idle(0)
        held.gate.open()
        assert runner.wait_idle(SECONDS)
        assert ends.client == [Down(number=1)]


def test_a_dropped_message_is_gone() -> None:
    """What a stage drops, or fails on, is not on its way any more."""

    def drop(item: Message | Expired, context: Context) -> None:
        if isinstance(item, Down):
            raise RuntimeError("no")

    log = Log()
    with Ends().runner(log, Does(drop)) as runner:
        runner.feed(Up(), Down())
        assert runner.wait_idle(SECONDS)
        assert log.seen == [Up()]


def test_a_sink_that_keeps_counts_what_it_keeps() -> None:
    """A sink that queues counts what it holds, so that idle includes what the client has not been given yet."""
    in_flight, kept = InFlight(), threading.Event()

    def keep(message: Message) -> None:
        in_flight.change(1)
        kept.set()

    with ThreadRunner(Pipeline([Pass()]), to_client=keep, to_agent=keep, in_flight=in_flight) as runner:
        runner.feed(Down())
        assert kept.wait(SECONDS)
        assert not runner.wait_idle(0)
        in_flight.change(-1)
        assert runner.wait_idle(SECONDS)
