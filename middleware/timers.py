"""The timers of all stages of one runner: which are set, and which are due.

Plain bookkeeping without a clock or a thread; a runner guards it and asks it. Setting a key that is set replaces it.

Between its deadline and its stage a timer may have to wait in an inbox. What the stage handles meanwhile may cancel or
replace it, and that holds: a timer ends when it is claimed, not when it is due.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable

import attrs

from .clock import exact

_LEFTOVERS = 64
"""Replaced and cancelled timers that may wait for their deadline before all of them are thrown out at once."""


@attrs.frozen
class Due:
    """A timer whose deadline has come, on its way to the stage at index `owner`."""

    owner: int
    key: Hashable
    token: int


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
        heapq.heappush(self._heap, (exact(deadline), token, (owner, key)))
        if len(self._heap) > 2 * len(self._live) + _LEFTOVERS:
            self._heap = [entry for entry in self._heap if self._live.get(entry[2]) == entry[1]]
            heapq.heapify(self._heap)

    def cancel(self, owner: int, key: Hashable) -> None:
        """Forget a timer; one that is not set is no error, since it may have expired a moment ago."""
        self._live.pop((owner, key), None)

    def next_deadline(self) -> float | None:
        """When the earliest timer is due, or None."""
        while self._heap and self._live.get(self._heap[0][2]) != self._heap[0][1]:
            heapq.heappop(self._heap)  # replaced or cancelled since it was pushed
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Due | None:
        """Take the earliest timer with `now >= deadline`, the one that was set first of two; or None."""
        deadline = self.next_deadline()
        if deadline is None or exact(now) < deadline:
            return None
        _, token, (owner, key) = heapq.heappop(self._heap)
        return Due(owner, key, token)

    def claim(self, due: Due) -> bool:
        """End a timer that has come to its stage; whether it still stands: not cancelled or replaced on its way."""
        if self._live.get((due.owner, due.key)) != due.token:
            return False
        del self._live[due.owner, due.key]
        return True
