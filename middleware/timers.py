"""The timers of all stages of one runner: which are set, and which are due.

Plain bookkeeping without a clock or a thread; a runner guards it and asks it. Setting a key that is set replaces it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable


class Timers:
    """Deadlines by (stage index, key)."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, tuple[int, Hashable]]] = []
        self._live: dict[tuple[int, Hashable], int] = {}
        self._tokens = itertools.count()

    def __len__(self) -> int:
        return len(self._live)

    def set(self, owner: int, key: Hashable, deadline: float) -> None:
        """Set or replace the timer `key` of the stage at index `owner`; `deadline` is in the clock's seconds."""
        token = next(self._tokens)
        self._live[owner, key] = token
        heapq.heappush(self._heap, (deadline, token, (owner, key)))

    def cancel(self, owner: int, key: Hashable) -> None:
        """Forget a timer; one that is not set is no error, since it may have expired a moment ago."""
        self._live.pop((owner, key), None)

    def next_deadline(self) -> float | None:
        """When the earliest timer is due, or None."""
        while self._heap and self._live.get(self._heap[0][2]) != self._heap[0][1]:
            heapq.heappop(self._heap)  # replaced or cancelled since it was pushed
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> tuple[int, Hashable] | None:
        """Take the earliest timer with `now >= deadline`, as (stage index, key), or None."""
        deadline = self.next_deadline()
        if deadline is None or now < deadline:
            return None
        timer = heapq.heappop(self._heap)[2]
        del self._live[timer]
        return timer
