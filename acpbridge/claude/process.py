"""One Claude Code: started, spoken to, ended. What is said to it is decided elsewhere.

Runs on the SDK loop. Writing goes through one queue, so that what the bridge says reaches Claude Code in the order in
which it was said: a cancel behind its prompt, a prompt behind the cancel before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, CLIConnectionError
from loguru import logger

from .descendants import kill_descendants
from .private_files import present, without_arguments
from .tap import Frame, Tap
from .watch import Watcher

TERMINATE_AFTER = 2.0
"""Seconds that Claude Code has to end after its stdin was closed, before SIGTERM."""

KILL_AFTER = 4.0
"""Seconds after which it is killed."""

_STDERR_LINES = 20


class ClaudeProcess:
    """A Claude Code process and its wire.

    Args:
        options: the SDK's options; `stderr` and the line limit are set here.
        initialize: further members of the `initialize` request.
        on_frame: called with each frame in order; the last is `{"type": "__closed__", "error": ...}`.
        flow: see `Tap`.
        watcher: ends the process when the program is killed.
    """

    def __init__(
        self,
        options: ClaudeAgentOptions,
        *,
        initialize: Mapping[str, Any],
        on_frame: Callable[[Frame], None],
        flow: Callable[[], Awaitable[None] | None] | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self._watcher = watcher
        self._number: int | None = None  # the SDK forgets the process when it has ended
        self.stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        options, self._files = without_arguments(options)
        options = replace(
            options,
            stderr=self.stderr.append,
            max_buffer_size=1 << 62,  # one line above the default of 1 MiB would end the connection for good
        )
        self.tap = Tap(options, initialize=initialize, on_frame=on_frame, flow=flow, on_started=self._watch)
        self._client = ClaudeSDKClient(options, transport=self.tap)
        self._outbox: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._connecting: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._closed = False
        self._ended = asyncio.Event()

    async def start(self) -> dict[str, Any]:
        """Start it and make the handshake; its answer to `initialize`.

        Raises:
            ClaudeSDKError: it could not be started, refused, or was closed meanwhile.
            OSError: the files that it is to read could not be written.
        """
        # A task of its own, so that a close can end it and wait until nothing of it is left.
        self._connecting = asyncio.get_running_loop().create_task(self._connect(), name="claude start")
        try:
            await self._connecting  # a start that fails says why here, also when its end has closed this meanwhile
        except asyncio.CancelledError:
            if not self._closed:
                raise
        if self._closed:
            raise CLIConnectionError("Claude Code was closed before it had started")
        self.tap.connected = True
        self._writer = asyncio.get_running_loop().create_task(self._write(), name="claude writer")
        info = await self._client.get_server_info()
        return dict(info or {})

    async def _connect(self) -> None:
        if self._closed:
            raise CLIConnectionError("Claude Code was closed before it had started")
        with present(self._files):
            await self._client.connect()

    def send(self, frame: Mapping[str, Any]) -> None:
        """Write a frame behind what was sent before. What cannot be written any more is logged: the end of the stream
        tells everybody who waits."""
        self._outbox.put_nowait(frame)

    def request(self, subtype: str, **members: Any) -> asyncio.Future[Any]:
        """Make a control request, written behind what was sent before; see `Tap.open_request` for how it can fail."""
        frame, answer = self.tap.open_request({"subtype": subtype, **members})
        self.send(frame)
        return answer

    async def close(self) -> None:
        """End it: its stdin is closed, SIGTERM after 2 s, SIGKILL (of what it runs, too) after 4 s.

        Whoever calls again waits for the same end.
        """
        if self._closed:
            await self._ended.wait()
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        ladder = (
            loop.call_later(TERMINATE_AFTER, self.tap.terminate),
            loop.call_later(KILL_AFTER, self._kill),
        )
        try:
            if self._connecting is not None and not self._connecting.done():
                self._connecting.cancel()
                await asyncio.wait([self._connecting])
            await self._client.disconnect()
            await self.tap.close()  # the SDK does not when it had not come so far as to read
        finally:
            for step in ladder:
                step.cancel()
            if self._writer is not None:
                self._writer.cancel()
                await asyncio.wait([self._writer])
            if self._watcher is not None and self._number is not None:
                self._watcher.remove(self._number)
            self._ended.set()

    def _kill(self) -> None:
        if self.tap.process_id is not None and self.tap.exit_code is None:
            kill_descendants(self.tap.process_id)
        self.tap.kill()

    def _watch(self, number: int) -> None:
        self._number = number
        if self._watcher is not None:
            self._watcher.add(number)

    async def _write(self) -> None:
        while True:
            frame = await self._outbox.get()
            try:
                await self.tap.send(frame)
            except CLIConnectionError as error:
                logger.warning("a frame of type {} was not written: {}", frame.get("type"), error)
            except Exception as error:  # no JSON: what is sent behind it must be written all the same
                logger.opt(exception=error).error("a frame of type {} cannot be written", frame.get("type"))
