"""An ACP client's end of the connection to an agent in a subprocess: one inbox for everything that can happen.

The owner's thread calls, answers and takes the next event; only `post` may be called by others. Here belong the process
and its threads. What the events mean is `conversation.py`'s.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

import attrs
from loguru import logger

from acpbridge.jsonrpc import (
    ErrorReply,
    Notification,
    Params,
    Peer,
    Refused,
    Reply,
    Request,
    RequestId,
)
from acpbridge.stdio import LineReader, LineWriter
from middleware.errors import Failure

GRACE: Final = 15.0
"""Seconds that the agent has to end after its stdin was closed; it needs some to end Claude Code."""
_KILL_GRACE: Final = 5.0
_TAIL_LINES: Final = 20

# A Ctrl-C reaches every process of the terminal's foreground group. The agent must not be in it: it learns by messages
# what to do. Windows has a flag for that, the others have sessions.
if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _CREATION_FLAGS = 0


@attrs.frozen
class Typed:
    """The person entered a line (without its line ending)."""

    text: str


@attrs.frozen
class NoMoreInput:
    """The keyboard, or the file that stands for it, is at its end (Ctrl-D)."""


@attrs.frozen
class Interrupted:
    """Ctrl-C."""


@attrs.frozen
class Terminated:
    """The program was asked to end (SIGTERM, SIGHUP)."""


@attrs.frozen
class AgentGone:
    """The agent closed its stdout: it has ended, or is about to. `failed` are our calls that it did not answer."""

    failed: tuple[ErrorReply, ...]


@attrs.frozen
class _Line:
    line: bytes


@attrs.frozen
class _Eof:
    pass


Event: TypeAlias = (
    Request | Notification | Reply | ErrorReply | Typed | NoMoreInput | Interrupted | Terminated | AgentGone
)
Posted: TypeAlias = Typed | NoMoreInput | Interrupted | Terminated


@attrs.frozen
class Ended:
    """How the agent's process ended. `code` is as in `subprocess`; `killed`: it did not end by itself in time."""

    code: int | None
    killed: bool


class Client:
    """Starts the agent at once. OSError when its command cannot be started."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, grace: float = GRACE
    ) -> None:
        self._grace = grace
        self._peer = Peer()
        self._inbox: SimpleQueue[Posted | _Line | _Eof] = SimpleQueue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._ended: Ended | None = None
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment} if environment else None,
            start_new_session=sys.platform != "win32",
            creationflags=_CREATION_FLAGS,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin = stdin
        self._writer = LineWriter(stdin.fileno())
        self._reader = LineReader(
            stdout,
            on_line=lambda line: self._inbox.put(_Line(line)),
            on_oversized=lambda length: logger.warning("a message of more than {} bytes was skipped", length),
            on_eof=lambda: self._inbox.put(_Eof()),
        )
        self._stderr_reader = LineReader(
            stderr,
            on_line=lambda line: self._tail.append(line.decode("utf-8", "replace")),
            on_oversized=lambda length: None,
            on_eof=lambda: None,
        )
        for thread in (self._writer, self._reader, self._stderr_reader):
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def post(self, event: Posted) -> None:
        """Put something that happened at this side into the inbox. Any thread may call it."""
        self._inbox.put(event)

    def next(self) -> Event:
        """Wait for what happens next. After `AgentGone` only what is posted comes."""
        while True:
            item = self._inbox.get()
            if isinstance(item, _Eof):
                return AgentGone(self._peer.close().failed)
            if not isinstance(item, _Line):
                return item
            received = self._peer.receive(item.line)
            if isinstance(received, Refused):
                self._writer.put(received.answer)
            elif received is not None:
                return received

    def call(self, method: str, params: Params) -> int:
        """Ask the agent; the id that its `Reply` or `ErrorReply` will carry. ProtocolError after `AgentGone`."""
        call, line = self._peer.call(method, params)
        self._writer.put(line)
        return call

    def notify(self, method: str, params: Params) -> None:
        """Tell the agent."""
        self._writer.put(self._peer.notify(method, params))

    def respond(self, request: RequestId, result: Any) -> None:
        """Answer a request of the agent."""
        self._writer.put(self._peer.respond(request, result))

    def fail(self, request: RequestId, error: Failure) -> None:
        """Answer a request of the agent with an error."""
        self._writer.put(self._peer.fail(request, error))

    def close(self) -> Ended:
        """End the agent as an editor does: close its stdin and wait. Only one that hangs is killed, with its group."""
        if self._ended is not None:
            return self._ended
        # What is queued is still sent, if the agent takes it within the bound.
        if self._writer.close(min(_KILL_GRACE, self._grace)):
            self._stdin.close()
        killed = not (self._stdin.closed and self._exits_within(self._grace))
        if killed:
            logger.warning("the agent did not end within {} s of its stdin's end and is killed", self._grace)
            self._process.terminate()  # on Windows this is a kill already
            if not self._exits_within(min(_KILL_GRACE, self._grace)):
                _kill_group(self._process)
        self._process.wait()
        # A descendant that the agent left behind may hold these open: it must not hold us up.
        drained = self._stderr_reader.join(1.0) and self._reader.join(1.0)
        if drained:
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()
        self._ended = Ended(self._process.returncode, killed)
        return self._ended

    def stderr_tail(self) -> list[str]:
        """The last lines that the agent wrote to stderr; complete after `close`."""
        return list(self._tail)

    def _exits_within(self, seconds: float) -> bool:
        # Popen.wait(timeout) would look again and again; a thread can wait without one.
        waiter = threading.Thread(target=self._process.wait, name="chat waiter", daemon=True)
        waiter.start()
        waiter.join(seconds)
        return not waiter.is_alive()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        logger.debug("the agent had ended when it was to be killed")
