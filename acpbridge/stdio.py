"""The two threads at the program's stdin and stdout.

Here belongs framing: bytes to lines, lines to bytes, one thread each way. No JSON and no decision: what a line means is
`jsonrpc.py`'s, what happens at the end of the input is the owner's. Only `acp writer` blocks when the client does not
read, and only `acp reader` when it does not write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import IO, Final

from loguru import logger

from acpbridge.descriptors import write_all

MAX_LINE: Final = 32 * 1024 * 1024
"""The longest accepted line in bytes, its line ending not counted (reference 1.1)."""

# What is read at a time of a line that is skipped or long.
_READ_AT_ONCE: Final = 1 << 16
# A batch is copied once to join it; more than this at a time saves no more system calls.
_BATCH_BYTES: Final = 1 << 20


class LineReader:
    """Reads lines from a binary file on the thread `acp reader` and hands them on, without their line ending.

    `on_line(line)` for each line, blank ones included; `on_oversized(length)` once for a line above `max_line` bytes,
    with the length known so far: the line is skipped without being held, and reading goes on; `on_eof()` once, last,
    whatever ended the input. A last line without a line ending is a line. A read error ends the input like EOF. When a
    callback raises, reading ends the same way and `join` re-raises.

    The thread is a daemon: nothing can interrupt a blocked read, so a program that ends by a signal leaves it behind.
    """

    def __init__(
        self,
        stream: IO[bytes],
        *,
        on_line: Callable[[bytes], None],
        on_oversized: Callable[[int], None],
        on_eof: Callable[[], None],
        max_line: int = MAX_LINE,
    ) -> None:
        self._stream = stream
        self._on_line = on_line
        self._on_oversized = on_oversized
        self._on_eof = on_eof
        self._max_line = max_line
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="acp reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds for the end of the input; False when it has not come. Re-raises a failure."""
        self._thread.join(timeout)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._read()
        except BaseException as failure:
            logger.opt(exception=failure).error("the reader of the client's messages failed")
            self._failure = failure
        try:
            self._on_eof()
        except BaseException as failure:
            logger.opt(exception=failure).error("the end of the client's messages could not be handled")
            self._failure = self._failure or failure

    def _read(self) -> None:
        while line := self._next(self._max_line + 2):
            ended = line.endswith(b"\n")
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if len(text) <= self._max_line:
                self._on_line(text)
                continue
            length = len(text)
            del line, text
            self._on_oversized(length)
            while not ended and (rest := self._next(_READ_AT_ONCE)):
                ended = rest.endswith(b"\n")

    def _next(self, size: int) -> bytes:
        try:
            return self._stream.readline(size)
        except OSError as problem:
            logger.warning("the client's messages end here, reading failed: {}", problem)
            return b""


class LineWriter:
    """Writes lines to a file descriptor on the thread `acp writer`, in the order in which they were put.

    Whatever is queued goes out in one write, and the thread never waits for more. `on_written(lines)` counts each line
    once, when it is written or given up, so that a runner can bound what is under way. `on_gone(error)` comes once when
    the client does not take any more; from then on everything is given up. Both run on the writer's thread (after the
    close, `on_written` on that of `put`).
    """

    def __init__(
        self,
        fd: int,
        *,
        on_written: Callable[[int], None] | None = None,
        on_gone: Callable[[OSError], None] | None = None,
    ) -> None:
        self._fd = fd
        self._on_written = on_written
        self._on_gone = on_gone
        self._gone = False
        self._closed = False
        # No line gets behind the end mark, where nobody would write or count it.
        self._closing = threading.Lock()
        self._failure: BaseException | None = None
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="acp writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queue one line with its newline. Never blocks; any thread may call it. After the close it is given up."""
        with self._closing:
            if not self._closed:
                self._lines.put(line)
                return
        logger.debug("a line of {} bytes comes after the close and is given up", len(line))
        if self._on_written is not None:
            self._on_written(1)

    def close(self, timeout: float | None = None) -> bool:
        """Write what is queued and end, within `timeout` seconds; False when the client did not take it in that time.

        The descriptor stays open. Re-raises what a callback raised.
        """
        with self._closing:
            self._closed = True
            self._lines.put(None)
        self._thread.join(timeout)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._thread.is_alive():
            logger.warning("the client does not read: about {} lines are given up", self._lines.qsize())
            return False
        return True

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._take()
            if batch and not self._gone:
                try:
                    write_all(self._fd, b"".join(batch))
                except OSError as problem:
                    self._client_gone(problem)
            if batch:
                self._written(len(batch))

    def _take(self) -> tuple[list[bytes], bool]:
        """All that is queued, up to a batch's size; whether more may follow."""
        batch: list[bytes] = []
        size = 0
        line = self._lines.get()
        while line is not None:
            batch.append(line)
            size += len(line)
            if size >= _BATCH_BYTES:
                return batch, True
            try:
                line = self._lines.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _written(self, lines: int) -> None:
        if self._on_written is not None:
            with self._keeping_failures():
                self._on_written(lines)

    def _client_gone(self, problem: OSError) -> None:
        self._gone = True
        logger.info("the client is gone, what is still to be sent is given up: {}", problem)
        if self._on_gone is not None:
            with self._keeping_failures():
                self._on_gone(problem)

    @contextmanager
    def _keeping_failures(self) -> Iterator[None]:
        """A callback that raises must not end the thread: the lines behind it would never be written or counted."""
        try:
            yield
        except BaseException as failure:
            logger.opt(exception=failure).error("a callback of the writer failed")
            self._failure = self._failure or failure
