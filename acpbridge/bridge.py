"""Wires both ends to the pipeline: start, run, drain, close.

    [acp reader] -> Line -> pipeline -> AgentEnd -> [sdk loop] -> Claude Code
    [acp writer] <- Written <- pipeline <- feed  <- [sdk loop] <-

The end is one round trip (EOF on stdin, or a signal): `Closing` toward the agent; the agent end closes each Claude
Code; then the stages are closed toward the client and answer what they still owe; the writer flushes. Nothing is left
running.
"""

from __future__ import annotations

import platform
import queue
import sys
from collections.abc import Callable
from typing import BinaryIO

from loguru import logger

from middleware import InFlight, Message, ThreadRunner
from middleware.messages import Closing

from . import __version__, flow
from .agent_end import AgentEnd
from .claude.hand_over import HandOver
from .claude.loop import SdkLoop
from .client_end import Line, LineTooLong, Written
from .sessions.identity import ask_claude
from .stdio import MAX_LINE, LineReader, LineWriter

AGENT_CLOSES_WITHIN = 8.0
"""Seconds that the agent end has for closing all sessions: its own bound (SIGKILL after 4 s), and some."""

FLUSHED_WITHIN = 2.0
"""Seconds that a client has for reading the last lines."""


class Bridge:
    """One connection, from its first line to the end of its last process.

    Args:
        stdin: what the client writes.
        stdout: the descriptor of what it reads.
        answered: see `flow.pipeline`.
        hide_claude_auth: claude.ai subscriptions are not used, see `sessions.claude_auth_guard`.
    """

    def __init__(
        self, stdin: BinaryIO, stdout: int, answered: bytes | None = None, *, hide_claude_auth: bool = False
    ) -> None:
        self._in_flight = InFlight()
        self._ending: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._loop = SdkLoop()
        self._agent = AgentEnd(
            self._loop,
            feed=HandOver(self._loop, self._feed),
            has_room=lambda: self._in_flight.has_room,
            ask_claude=ask_claude,
            hide_claude_auth=hide_claude_auth,
        )
        self._runner = ThreadRunner(
            flow.pipeline(answered=answered, hide_claude_auth=hide_claude_auth),
            to_client=self._write,
            to_agent=self._agent.accept,
            lanes=flow.LANES,
            in_flight=self._in_flight,
        )
        self._in_flight.on_room(self._agent.room_changed)
        self._writer = LineWriter(
            stdout, on_written=lambda lines: self._in_flight.change(-lines), on_gone=lambda error: self.end()
        )
        self._reader = LineReader(
            stdin,
            on_line=lambda line: self._feed(Line(data=line)),
            on_oversized=lambda length: self._feed(LineTooLong(limit=MAX_LINE)),
            on_eof=self.end,
        )

    def run(self) -> int:
        """Serve until the client is gone or `end` is called; the exit code."""
        logger.info("acpbridge {}, Python {}, {}", __version__, platform.python_version(), sys.platform)
        self._loop.start()
        self._runner.start()
        self._writer.start()
        self._reader.start()
        self._agent.start()
        self._ending.get()
        return self._close()

    def end(self) -> None:
        """Begin the end; from any thread, or a signal's handler. A second call does nothing new."""
        # Not an Event: a handler that interrupts its `wait` at the wrong moment would wait for itself.
        self._ending.put(None)

    def _close(self) -> int:
        self._in_flight.release()
        self._feed(Closing())
        if not self._agent.closed.wait(AGENT_CLOSES_WITHIN):
            logger.error("Claude Code was not closed within {} s", AGENT_CLOSES_WITHIN)
        self._loop.stop()
        sound = self._succeeds(self._runner.close)
        # What the stages said is still written when one of them had failed.
        return 0 if self._succeeds(lambda: self._writer.close(FLUSHED_WITHIN)) and sound else 1

    def _succeeds(self, close: Callable[[], bool | None]) -> bool:
        try:
            return close() is not False
        except Exception as error:
            logger.opt(exception=error).error("a thread had failed before the end")
            return False

    def _feed(self, *messages: Message) -> None:
        self._runner.feed(*messages)

    def _write(self, message: Message) -> None:
        if isinstance(message, Written):
            self._in_flight.change(1)  # on its way until the client took it: `on_written`
            self._writer.put(message.data)
