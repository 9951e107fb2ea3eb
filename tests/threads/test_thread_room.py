"""The limit at the source: a source that obeys never exceeds the bound, and nobody else is ever stopped."""

from __future__ import annotations

import queue
import threading

import attrs
import pytest

from middleware import InFlight, Message, Pipeline, ThreadRunner
from tests.core import Down, Pass, Up
from tests.threads.support import SECONDS, Ends, Gate

HIGH, LOW = 16, 4


@attrs.define
class SlowSink:
    """A client that takes nothing until its gate is opened, and then all."""

    gate: Gate = attrs.field(factory=Gate)
    taken: list[Message] = attrs.field(factory=list)

    def take(self, message: Message) -> None:
        self.gate.hold()
        self.taken.append(message)

    def runner(self, in_flight: InFlight) -> ThreadRunner:
        pipeline = Pipeline([Pass(), Pass(), Pass()])
        return ThreadRunner(pipeline, to_client=self.take, to_agent=self.take, in_flight=in_flight)


@attrs.define
class Source:
    """Feeds numbered messages as long as there is room, each with a look at the count."""

    runner: ThreadRunner
    total: int
    fed: int = 0
    peak: int = 0

    def feed_while_room(self) -> None:
        while self.fed < self.total and self.runner.room:
            self._feed()

    def feed_all(self) -> None:
        while self.fed < self.total and self.runner.wait_room(SECONDS):
            self._feed()

    def _feed(self) -> None:
        self.runner.feed(Down(number=self.fed))
        self.fed += 1
        self.peak = max(self.peak, self.runner.in_flight.count)


def test_a_blocked_sink_stops_the_source_at_the_high_mark() -> None:
    """While a client takes nothing a source that asks for room has fed exactly `high` messages, and no more fit."""
    sink = SlowSink()
    with sink.runner(InFlight(HIGH, LOW)) as runner:
        source = Source(runner, total=1000)
        source.feed_while_room()
        sink.gate.wait_held()
        assert source.fed == HIGH
        assert runner.in_flight.count == HIGH
        assert not runner.room
        assert not runner.wait_room(0)
        sink.gate.open()


@pytest.mark.usefixtures("switching")
def test_a_source_that_obeys_stays_below_the_bound() -> None:
    """From a blocked client to one that has everything: the count never exceeds `high`, and nothing is lost."""
    sink = SlowSink()
    with sink.runner(InFlight(HIGH, LOW)) as runner:
        source = Source(runner, total=2000)
        feeding = threading.Thread(target=source.feed_all)
        feeding.start()
        sink.gate.wait_held()
        sink.gate.open()
        feeding.join(SECONDS)
        assert not feeding.is_alive()
    assert source.peak <= HIGH
    assert sink.taken == [Down(number=number) for number in range(2000)]


def test_room_is_told_to_those_who_cannot_wait() -> None:
    """A source that must not block, such as an event loop, is called when it may feed on, and gets all through."""
    sink, wakes = SlowSink(), queue.SimpleQueue[None]()
    in_flight = InFlight(HIGH, LOW)
    with sink.runner(in_flight) as runner:
        source = Source(runner, total=200)
        in_flight.on_room(lambda: wakes.put(None))
        source.feed_while_room()
        sink.gate.wait_held()
        assert source.fed == HIGH
        assert wakes.empty()
        sink.gate.open()
        while source.fed < source.total:
            wakes.get(timeout=SECONDS)
            source.feed_while_room()
        assert source.peak <= HIGH
    assert sink.taken == [Down(number=number) for number in range(200)]


def test_who_cannot_wait_is_never_blocked() -> None:
    """Inboxes have no bound: who feeds without room (a client's cancel) comes back at once, and nothing is lost."""
    sink = SlowSink()
    with sink.runner(InFlight(HIGH, LOW)) as runner:
        Source(runner, total=1000).feed_while_room()
        sink.gate.wait_held()
        runner.feed(*(Down(number=number) for number in range(HIGH, 10 * HIGH)), Up())
        assert runner.in_flight.count == 10 * HIGH + 1
        sink.gate.open()
    assert sorted(map(repr, sink.taken)) == sorted(map(repr, [Up(), *(Down(number=n) for n in range(10 * HIGH))]))


def test_neighbours_that_flood_each_other_do_not_deadlock() -> None:
    """Both directions at once, far above the mark, by sources that do not ask: everything arrives."""
    ends = Ends()
    with ends.runner(Pass(), Pass(), in_flight=InFlight(HIGH, LOW)) as runner:
        ups = threading.Thread(target=lambda: runner.feed(*(Up(number=number) for number in range(2000))))
        ups.start()
        runner.feed(*(Down(number=number) for number in range(2000)))
        ups.join(SECONDS)
        assert runner.wait_idle(SECONDS)
    assert len(ends.agent) == len(ends.client) == 2000


def test_the_end_releases_the_source() -> None:
    """A source that waits for room goes on when the runner is closed, and is told that there is room."""
    in_flight, ends = InFlight(high=2, low=0), Ends()
    runner = ends.runner(Pass(), in_flight=in_flight).start()
    in_flight.change(2)  # a client that never takes what it was given
    told: list[bool] = []
    source = threading.Thread(target=lambda: told.append(runner.wait_room(SECONDS)))
    source.start()
    assert not runner.room
    runner.close()
    source.join(SECONDS)
    assert told == [True]
    assert runner.room
