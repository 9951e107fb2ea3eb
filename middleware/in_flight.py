"""How many messages are on their way in one pipeline: who may send more, and when all is done.

The only thing that threads share besides their inboxes. The limit is at the source: inboxes are unbounded, since two
neighbours with bounded inboxes in both directions deadlock; instead whoever feeds the pipeline asks for room first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from loguru import logger

from .errors import PipelineError


class InFlight:
    """A counter with three questions: is there room, when is there room again, when is nothing left.

    There is no room from `high` messages on until `low` are left, so that a source does not stop and start at every
    message.

    Raises:
        PipelineError: the marks are not 0 <= low < high.
    """

    def __init__(self, high: int = 1024, low: int = 256) -> None:
        if not 0 <= low < high:
            raise PipelineError(f"marks must be 0 <= low < high, not low={low} and high={high}")
        self._high, self._low = high, low
        self._condition = threading.Condition()
        self._count = 0
        self._full = False
        self._released = False
        self._waiters = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def count(self) -> int:
        return self._count

    @property
    def has_room(self) -> bool:
        return self._released or not self._full

    def change(self, by: int) -> None:
        """Count messages that came (positive) or went. Count what follows from a message before it goes itself."""
        with self._condition:
            self._count += by
            roomy = False
            if self._count >= self._high:
                self._full = True
            elif self._full and self._count <= self._low:
                self._full, roomy = False, True
            if self._waiters and (roomy or self._count == 0):
                self._condition.notify_all()
            listeners = tuple(self._listeners) if roomy else ()
        _call(listeners)

    def on_room(self, listener: Callable[[], None]) -> None:
        """Call `listener` each time there is room again, on the thread that made it; it must not block.

        Two threads may call it at once, and it asks `has_room` once more before it goes on, since another source may
        have been quicker. One that raises is logged: the thread that made room has other things to do than to fail.
        """
        with self._condition:
            self._listeners.append(listener)

    def wait_room(self, timeout: float | None = None) -> bool:
        """Block until there is room (or `release`); whether there is. `timeout` is in real seconds."""
        return self._wait(lambda: self.has_room, timeout)

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Block until nothing is on its way; whether nothing is. `timeout` is in real seconds."""
        return self._wait(lambda: self._count == 0, timeout)

    def release(self) -> None:
        """Let every source go on, for good: the pipeline ends."""
        with self._condition:
            self._released = True
            self._condition.notify_all()
            listeners = tuple(self._listeners)
        _call(listeners)

    def _wait(self, question: Callable[[], bool], timeout: float | None) -> bool:
        with self._condition:
            self._waiters += 1
            try:
                return self._condition.wait_for(question, timeout)
            finally:
                self._waiters -= 1


def _call(listeners: tuple[Callable[[], None], ...]) -> None:
    for listener in listeners:
        try:
            listener()
        except Exception as error:
            logger.opt(exception=error).error("{!r} failed when there was room again", listener)
