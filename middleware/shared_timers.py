"""The timers of a pipeline that runs on threads: set by any lane, and put into the inboxes when they are due.

What a timer is, and which of them counts, is `timers`' business; what becomes of one that is due, the runner's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from .clock import Clock
from .timers import Due, Timers


class SharedTimers:
    """Timers behind one lock, and the thread that waits for them.

    Args:
        clock: tells the time; the thread waits by the system's, so it is started for a `SystemClock` only.
        expired: called, without the lock, with each timer that is due.
    """

    def __init__(self, clock: Clock, expired: Callable[[Due], None]) -> None:
        self._clock = clock
        self._expired = expired
        self._timers = Timers()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Let timers expire by themselves."""
        self._thread = threading.Thread(target=self._watch, name="timers")
        self._thread.start()

    def stop(self) -> None:
        """End the thread, where there is one; from any other thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def set(self, owner: int, key: Hashable, seconds: float) -> None:
        """Set a timer of a stage (its index), or set it anew."""
        with self._changed:
            self._timers.set(owner, key, self._clock.now() + seconds)
            self._changed.notify_all()

    def cancel(self, owner: int, key: Hashable) -> None:
        """Cancel a timer of a stage; one that is not set is none."""
        with self._changed:
            self._timers.cancel(owner, key)

    def claim(self, due: Due) -> bool:
        """Whether a timer that was due is still wanted; it is asked for once, by the stage's own thread."""
        with self._changed:
            return self._timers.claim(due)

    def expire(self) -> None:
        """Hand over what is due now, on the caller's thread: for clocks that a test moves."""
        while True:
            with self._changed:
                due = self._timers.pop_due(self._clock.now())
            if due is None:
                return
            self._expired(due)

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                due = self._timers.pop_due(self._clock.now())
                if due is None:
                    deadline = self._timers.next_deadline()
                    left = threading.TIMEOUT_MAX if deadline is None else deadline - self._clock.now()
                    self._changed.wait(min(max(0.0, left), threading.TIMEOUT_MAX))
                    continue
            self._expired(due)
