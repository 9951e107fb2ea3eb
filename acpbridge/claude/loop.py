"""The thread `sdk loop`: one asyncio loop, for all Claude Code processes and for as long as the program runs.

All state of the agent end is touched on this thread only. Other threads hand work in and never wait for it here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from loguru import logger


class SdkLoop:
    """An asyncio loop on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="sdk loop", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function on the loop, soon; calls from one thread keep their order. From any thread.

        After `stop` nothing runs any more: whoever calls then is late, and is told so in the log.
        """
        try:
            self.loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            if not self.loop.is_closed():
                raise
            logger.debug("{} comes after the end of the SDK loop", getattr(function, "__name__", function))

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a task; on the loop's thread only. A task that fails is logged: nobody else may look at it."""
        task = self.loop.create_task(work, name=name)
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._done)
        return task

    def stop(self, timeout: float = 2.0) -> None:
        """Cancel what still runs, stop the loop and join the thread, within `timeout` seconds."""
        self.call(self._stop)
        self._thread.join(timeout)

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.loop.call_soon(self.loop.stop)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.opt(exception=error).error("{} failed", task.get_name())

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()
