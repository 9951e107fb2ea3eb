"""Where time comes from. Nothing else in the two packages reads a clock.

Seconds, as a float, from an arbitrary beginning: only differences mean something.
"""

from __future__ import annotations

import time
from typing import Protocol


def exact(seconds: float) -> float:
    """A moment to the nanosecond, so that 0.1 + 0.2 is 0.3 and a deadline is reached when its decimals say so."""
    return round(seconds, 9)


class Clock(Protocol):
    """Anything with a `now()`."""

    def now(self) -> float:
        """The seconds that have passed since some fixed moment."""
        ...


class SystemClock:
    """The machine's monotonic clock.

    `time.monotonic` is looked up at each call, so that a test which patches it is obeyed. With freezegun use
    `middleware.testing.FrozenClock` all the same: docs/threading.md says why.
    """

    def now(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until somebody moves it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward.

        Raises:
            ValueError: for a negative number; monotonic time does not go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: advance({seconds})")
        self._now = exact(self._now + seconds)
