"""The rules of the limit at the source: when there is room, who is told, and what idle means."""

from __future__ import annotations

import threading

import pytest

from middleware import InFlight
from middleware.errors import PipelineError
from tests.core import logged

SECONDS = 10.0
"""A bound for what must happen, not a time that a test spends."""


@pytest.mark.parametrize(("high", "low"), [(4, 4), (4, 5), (4, -1), (0, 0)])
def test_the_low_mark_is_below_the_high_one(high: int, low: int) -> None:
    """Marks that are not 0 <= low < high are an error that shows them."""
    with pytest.raises(PipelineError, match=f"low={low} and high={high}"):
        InFlight(high=high, low=low)


def test_room_ends_at_the_high_mark_and_is_back_at_the_low_one() -> None:
    """There is room below `high`, none from `high` on, and again from `low` on: not one message earlier."""
    in_flight = InFlight(high=4, low=1)
    in_flight.change(3)
    assert in_flight.has_room
    in_flight.change(1)
    assert not in_flight.has_room
    in_flight.change(-2)
    assert not in_flight.has_room
    assert in_flight.count == 2
    in_flight.change(-1)
    assert in_flight.has_room
    in_flight.change(2)
    assert in_flight.has_room, "the way up is free to the high mark"


def test_a_low_mark_of_nothing() -> None:
    """With `low=0` a source waits until all is done."""
    in_flight = InFlight(high=2, low=0)
    in_flight.change(2)
    in_flight.change(-1)
    assert not in_flight.has_room
    in_flight.change(-1)
    assert in_flight.has_room


def test_listeners_hear_of_room_once() -> None:
    """A listener is called when there is room again: once a time, not before, and every listener."""
    in_flight = InFlight(high=4, low=1)
    calls: list[tuple[str, int]] = []
    in_flight.on_room(lambda: calls.append(("one", in_flight.count)))
    in_flight.on_room(lambda: calls.append(("two", in_flight.count)))
    in_flight.change(3)
    in_flight.change(-3)
    assert calls == [], "there was room all the time"
    in_flight.change(4)
    in_flight.change(-2)
    assert calls == []
    in_flight.change(-1)
    assert calls == [("one", 1), ("two", 1)]
    in_flight.change(-1)
    assert len(calls) == 2


def test_a_listener_may_ask_and_change() -> None:
    """A listener is called outside the lock: it may count, and wait for nothing."""
    in_flight = InFlight(high=2, low=0)
    found: list[tuple[bool, bool]] = []

    def refill() -> None:
        in_flight.change(1)
        asks = threading.Thread(target=lambda: found.append((in_flight.wait_room(0), in_flight.wait_idle(0))))
        asks.start()
        asks.join(SECONDS)

    in_flight.on_room(refill)
    in_flight.change(2)
    in_flight.change(-2)
    assert found == [(True, False)]


def test_a_failing_listener_harms_nobody() -> None:
    """A listener that raises is logged; the next one is called, and whoever made the room goes on."""
    in_flight = InFlight(high=2, low=0)
    calls: list[int] = []

    def fails() -> None:
        raise RuntimeError("no")

    in_flight.on_room(fails)
    in_flight.on_room(lambda: calls.append(1))
    in_flight.change(2)
    with logged() as entries:
        in_flight.change(-2)
    assert calls == [1]
    assert entries[0].startswith("ERROR")
    assert "failed when there was room again" in entries[0]


def test_who_waits_for_room_goes_on_at_the_low_mark() -> None:
    """`wait_room` blocks a source from the high mark until the low one is reached, and says that there is room."""
    in_flight = InFlight(high=4, low=1)
    in_flight.change(4)
    assert not in_flight.wait_room(0)
    counts: list[int] = []

    def wait() -> None:
        if in_flight.wait_room(SECONDS):
            counts.append(in_flight.count)

    source = threading.Thread(target=wait)
    source.start()
    for _ in range(3):
        assert counts == []
        in_flight.change(-1)
    source.join(SECONDS)
    assert counts == [1]


def test_who_waits_for_idle_goes_on_at_zero() -> None:
    """`wait_idle` blocks until the count is zero, and is true at once when it is."""
    in_flight = InFlight()
    assert in_flight.wait_idle(0)
    in_flight.change(2)
    counts: list[int] = []

    def wait() -> None:
        if in_flight.wait_idle(SECONDS):
            counts.append(in_flight.count)

    waiter = threading.Thread(target=wait)
    waiter.start()
    in_flight.change(-1)
    assert not in_flight.wait_idle(0)
    assert counts == []
    in_flight.change(-1)
    waiter.join(SECONDS)
    assert counts == [0]


def test_release_lets_every_source_go_on() -> None:
    """`release` wakes who waits for room, tells the listeners, and leaves room for good."""
    in_flight = InFlight(high=2, low=1)
    in_flight.change(2)
    calls: list[str] = []
    in_flight.on_room(lambda: calls.append("listener"))
    source = threading.Thread(target=lambda: calls.append(f"waited {in_flight.wait_room(SECONDS)}"))
    source.start()
    in_flight.release()
    source.join(SECONDS)
    assert sorted(calls) == ["listener", "waited True"]
    in_flight.change(100)
    assert in_flight.has_room
    assert in_flight.count == 102
    assert not in_flight.wait_idle(0)
