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
        self._unwinding = 1.0
        self._thread = threading.Thread(target=self._run, name="sdk loop", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def thread_id(self) -> int | None:
        """The loop's thread, as `threading.get_ident` says it there; None before the start."""
        return self._thread.ident

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function on the loop, soon; calls from one thread keep their order. From any thread.

        After `stop` nothing runs any more: whoever calls then is late, and is told so in the log.
        """
        try:
            self.loop.call_soon_threadsafe(_logging_failures, function, *arguments)
        except RuntimeError:
            if not self.loop.is_closed():
                raise
            logger.debug("{} comes after the end of the SDK loop", _name(function))

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start a task; on the loop's thread only. A task that fails is logged: nobody else may look at it."""
        task = self.loop.create_task(work, name=name)
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._done)
        return task

    def stop(self, timeout: float = 2.0) -> None:
        """Cancel what still runs, let it unwind, end the loop and join the thread, within `timeout` seconds."""
        if self._thread.ident is None:
            self.loop.close()
            return
        self._unwinding = timeout / 2
        self.call(self.loop.stop)
        self._thread.join(timeout)
        if self._thread.is_alive():
            logger.error("the SDK loop did not end within {} s", timeout)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.opt(exception=error).error("{} failed", task.get_name())

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self._unwind()
        finally:
            self.loop.close()

    def _unwind(self) -> None:
        """Cancel all tasks, those of the SDK too, and give them the time to let go of what they hold."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=self._unwinding))
        for task in tasks:
            if not task.done():
                logger.error("{} did not end when it was cancelled", task.get_name())


def _logging_failures(function: Callable[..., object], *arguments: object) -> None:
    """asyncio would report a failure on stderr, with the arguments: they may hold prompts, headers, keys."""
    try:
        function(*arguments)
    except Exception as error:
        logger.opt(exception=error).error("{} failed on the SDK loop", _name(function))


def _name(function: object) -> str:
    return getattr(function, "__qualname__", type(function).__name__)
