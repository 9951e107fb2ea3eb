"""Holding a session's reader back while the pipeline is full: a slow client slows Claude Code down."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class FlowControl:
    """The valve of one session. All methods run on the SDK loop.

    Args:
        has_room: whether the pipeline takes more.
    """

    def __init__(self, has_room: Callable[[], bool]) -> None:
        self._has_room = has_room
        self._changed = asyncio.Event()
        self._forced = False

    def wait(self) -> Awaitable[None] | None:
        """None when the reader may go on; else what to await until there is room, or until it must go on regardless.

        Asked before each frame, so nothing is made that need not be.
        """
        return None if self._forced or self._has_room() else self._room()

    async def _room(self) -> None:
        while not self._forced and not self._has_room():
            self._changed.clear()
            await self._changed.wait()

    def recheck(self) -> None:
        """The pipeline may have room again."""
        self._changed.set()

    def open(self) -> None:
        """Read on whatever the pipeline says: the answer to an interrupt stands behind what was not read yet."""
        self._forced = True
        self._changed.set()

    def release(self) -> None:
        """Ask the pipeline again before each frame."""
        self._forced = False
