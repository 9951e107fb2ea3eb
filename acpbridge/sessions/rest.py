"""Whether a Claude Code has something to do, so that it may be replaced by another one. Runs on the SDK loop.

Read off its frames: its own state, what it was given and has not ended, its work in the background. What is done with
a Claude Code at rest is the caller's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import attrs


@attrs.define(eq=False)
class Rest:
    """The work of one session's Claude Code.

    Args:
        has_prompts: whether it was given prompts that are not over. One that it has not taken yet counts: it may be in
            the transcript already, and a successor takes no prompt that it finds there.
    """

    has_prompts: Callable[[], bool]
    busy: bool = attrs.field(default=False, init=False)
    tasks: bool = attrs.field(default=False, init=False)  # work in the background, and the turn that hears of its end
    _running: bool = attrs.field(default=False, init=False)
    _waiting: list[asyncio.Future[None]] = attrs.field(factory=list, init=False)

    def begin_anew(self) -> None:
        """Another Claude Code takes its place; the end of the old one need not have been seen."""
        self.observe({"type": "__closed__"})

    def observe(self, frame: Mapping[str, Any]) -> None:
        """Read along with what it writes."""
        kind, subtype = frame.get("type"), frame.get("subtype")
        if kind == "__closed__":
            self.busy = self.tasks = self._running = False  # no state follows
        elif kind == "system" and subtype == "session_state_changed":
            self.busy = frame.get("state") != "idle"
            self.tasks = self.tasks if self.busy else self._running
        elif kind == "system" and subtype == "background_tasks_changed":
            self._running = bool(frame.get("tasks"))
            self.tasks = self.tasks or self._running
        elif kind not in ("command_lifecycle", "result"):
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def come(self, *, tasks: bool = False) -> None:
        """Wait until nothing runs, and with `tasks` nothing in the background either."""
        while self.busy or self.has_prompts() or (tasks and self.tasks):
            change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change
