"""The threads at stdin and stdout, on pipes and on files in memory, and the guards in a program of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import BinaryIO

import attrs
import pytest

from acpbridge.descriptors import write_all
from acpbridge.stdio import MAX_LINE, LineReader, LineWriter

# A bound for what must happen, not a time that a test spends.
SECONDS = 30


@attrs.define
class Read:
    """What a reader handed on: lines as bytes, lengths of oversized lines as ints, EOF as None."""

    events: list[bytes | int | None] = attrs.Factory(list)
    eof: threading.Event = attrs.Factory(threading.Event)

    def end(self) -> None:
        self.events.append(None)
        self.eof.set()

    def reader(self, stream: BinaryIO, max_line: int = MAX_LINE) -> LineReader:
        return LineReader(
            stream,
            on_line=self.events.append,
            on_oversized=self.events.append,
            on_eof=self.end,
            max_line=max_line,
        )


def read_all(data: bytes, max_line: int = MAX_LINE) -> list[bytes | int | None]:
    read = Read()
    reader = read.reader(io.BytesIO(data), max_line)
    reader.start()
    assert reader.join(SECONDS)
    return read.events


@attrs.define
class Pipe:
    read_fd: int
    write_fd: int
    reading_end: BinaryIO


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    read_fd, write_fd = os.pipe()
    with open(read_fd, "rb") as reading_end:
        yield Pipe(read_fd, write_fd, reading_end)
        os.close(write_fd)


def close(pipe: Pipe) -> None:
    """Close the writing end; its number stays taken, for the fixture to close."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, pipe.write_fd)
    os.close(null)


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"", [None]),
        (b"a\nb\n", [b"a", b"b", None]),
        (b"a\r\nb\r\n", [b"a", b"b", None]),
        (b"\n\r\na\n", [b"", b"", b"a", None]),
        (b"a\nhalf", [b"a", b"half", None]),
        (b"half\r", [b"half", None]),
        (b"a\rb\n", [b"a\rb", None]),
        ("ä\u2028\x85\n".encode(), ["ä\u2028\x85".encode(), None]),
    ],
)
def test_lines_end_with_lf_or_crlf(data: bytes, events: list[bytes | int | None]) -> None:
    """LF and CRLF end a line and nothing else does; what stands unterminated before EOF is a line, too."""
    assert read_all(data) == events


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"12345678\nx\n", [b"12345678", b"x", None]),
        (b"12345678\r\nx\n", [b"12345678", b"x", None]),
        (b"12345678", [b"12345678", None]),
        (b"12345678\r", [b"12345678", None]),
        (b"123456789\nx\n", [9, b"x", None]),
        (b"123456789\r\nx\n", [9, b"x", None]),
        (b"123456789", [9, None]),
        (b"1234567890123456789012345\nx", [10, b"x", None]),
        (b"12345678901234567890", [10, None]),
        (b"1234567890\n1234567890\nx\n", [10, 10, b"x", None]),
    ],
)
def test_a_longer_line_is_skipped_and_reported(data: bytes, events: list[bytes | int | None]) -> None:
    """With a limit of 8 bytes, line ending not counted: a longer line is reported once and the next line is read."""
    assert read_all(data, max_line=8) == events


class Endless(io.BytesIO):
    """A line of 40 MiB that never exists as a whole, and a short one; remembers the largest piece asked for."""

    def __init__(self, mebibytes: int) -> None:
        super().__init__()
        self.left = mebibytes << 20
        self.asked = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size > 0
        if not self.left:
            self.left = -1
            return b"\n"
        if self.left < 0:
            return b""
        self.asked = size
        taken = min(size, self.left)
        self.left -= taken
        return b"x" * taken


def test_the_rest_of_an_oversized_line_is_not_held() -> None:
    """Beyond the limit a line is read in small pieces that are dropped, so that its length costs no memory."""
    stream = Endless(40)
    read = Read()
    reader = read.reader(stream)
    reader.start()
    assert reader.join(SECONDS)
    assert read.events == [MAX_LINE + 2, None]
    assert stream.asked <= 1 << 16


def test_33_mb_on_one_line_go_through_a_pipe(pipe: Pipe) -> None:
    """A line of exactly 32 MiB arrives whole through a pipe, one byte more is refused, and the connection goes on."""
    read = Read()
    reader = read.reader(pipe.reading_end)
    reader.start()
    line = os.urandom(1 << 16).replace(b"\n", b"-").replace(b"\r", b"-") * (MAX_LINE >> 16)
    writer = LineWriter(pipe.write_fd)
    writer.start()
    writer.put(line + b"\r\n")
    writer.put(line + b"x\n")
    writer.put(b"next\n")
    writer.put(b"x" * 33_000_000 + b"\n")
    assert writer.close(SECONDS)
    assert len(line) == MAX_LINE
    close(pipe)
    assert reader.join(SECONDS)
    assert read.events == [line, MAX_LINE + 1, b"next", b"x" * 33_000_000, None]


def test_the_reader_waits_for_the_rest_of_a_line(pipe: Pipe) -> None:
    """Half a line is no line until its end, or EOF, has come."""
    lines: SimpleQueue[bytes] = SimpleQueue()
    ended = threading.Event()
    reader = LineReader(pipe.reading_end, on_line=lines.put, on_oversized=lambda length: None, on_eof=ended.set)
    reader.start()
    os.write(pipe.write_fd, b"one\nha")
    assert lines.get(timeout=SECONDS) == b"one"
    assert lines.empty()
    os.write(pipe.write_fd, b"lf\nend")
    assert lines.get(timeout=SECONDS) == b"half"
    assert not ended.is_set()
    assert not reader.join(0)
    close(pipe)
    assert lines.get(timeout=SECONDS) == b"end"
    assert ended.wait(SECONDS)
    assert reader.join(SECONDS)


def test_a_read_error_ends_the_input() -> None:
    """A terminal that hangs up (EIO) ends the input like EOF, after the lines before it."""

    class HungUp(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            if not line:
                raise OSError(5, "Input/output error")
            return line

    read = Read()
    reader = read.reader(HungUp(b"a\n"))
    reader.start()
    assert reader.join(SECONDS)
    assert read.events == [b"a", None]


def test_a_failing_callback_ends_the_input_and_is_raised_by_join() -> None:
    """The reader's failure reaches whoever joins it, and the end of the input is told nevertheless."""
    ended = threading.Event()

    def fail(line: bytes) -> None:
        raise ZeroDivisionError(line)

    reader = LineReader(io.BytesIO(b"a\nb\n"), on_line=fail, on_oversized=lambda length: None, on_eof=ended.set)
    reader.start()
    with pytest.raises(ZeroDivisionError):
        reader.join(SECONDS)
    assert ended.is_set()


def test_the_writer_keeps_the_order_and_counts_the_lines(pipe: Pipe) -> None:
    """Each line is written once, in order, and counted once."""
    written: list[int] = []
    writer = LineWriter(pipe.write_fd, on_written=written.append)
    for number in range(1000):
        writer.put(b"%d\n" % number)
    writer.start()
    assert writer.close(SECONDS)
    close(pipe)
    assert pipe.reading_end.read() == b"".join(b"%d\n" % number for number in range(1000))
    assert sum(written) == 1000


def test_what_is_queued_goes_out_in_one_write(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that are queued already share a write; a single line is not held back for others."""
    writes: SimpleQueue[bytes] = SimpleQueue()
    monkeypatch.setattr("acpbridge.stdio.write_all", lambda fd, data: writes.put(data))
    writer = LineWriter(pipe.write_fd)
    for line in (b"a\n", b"b\n", b"c\n"):
        writer.put(line)
    writer.start()
    assert writes.get(timeout=SECONDS) == b"a\nb\nc\n"
    writer.put(b"d\n")
    assert writes.get(timeout=SECONDS) == b"d\n"
    assert writer.close(SECONDS)
    assert writes.empty()


def test_a_client_that_stops_reading_loses_nothing_when_it_goes_on(pipe: Pipe) -> None:
    """With the pipe full, `put` still does not block and nothing counts as written; all arrives when it reads on."""
    counts: SimpleQueue[int] = SimpleQueue()
    lines = [b"%d:" % number + b"x" * 5000 + b"\n" for number in range(2000)]
    writer = LineWriter(pipe.write_fd, on_written=counts.put)
    writer.start()
    for line in lines:
        writer.put(line)
    assert not writer.close(0)
    assert counts.qsize() < len(lines)
    for line in lines:
        assert pipe.reading_end.readline() == line
    assert writer.close(SECONDS)
    total = 0
    while not counts.empty():
        total += counts.get()
    assert total == len(lines)


def test_lines_put_by_a_busy_program_arrive_in_order_while_the_client_pauses(pipe: Pipe) -> None:
    """A client that reads a little, pauses until the program is done, and reads on sees every line in order."""
    resume = threading.Event()
    received: list[bytes] = []

    def client() -> None:
        for _ in range(10):
            received.append(pipe.reading_end.readline())
        resume.wait(SECONDS)
        received.extend(pipe.reading_end)

    thread = threading.Thread(target=client)
    thread.start()
    writer = LineWriter(pipe.write_fd)
    writer.start()
    for number in range(20_000):
        writer.put(b"%d xxxxxxxxxxxxxxxxxxxx\n" % number)
    resume.set()
    assert writer.close(SECONDS)
    close(pipe)
    thread.join(SECONDS)
    assert received == [b"%d xxxxxxxxxxxxxxxxxxxx\n" % number for number in range(20_000)]


def test_a_client_that_is_gone_is_reported_once() -> None:
    """A broken pipe is told once; every line before and after counts as done, so that nobody waits for room."""
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    written: SimpleQueue[int] = SimpleQueue()
    gone: list[OSError] = []
    writer = LineWriter(write_fd, on_written=written.put, on_gone=gone.append)
    writer.start()
    for number in range(5):
        writer.put(b"line\n")
        assert written.get(timeout=SECONDS) == 1, number
    assert writer.close(SECONDS)
    os.close(write_fd)
    assert len(gone) == 1
    assert isinstance(gone[0], OSError)


def test_a_line_after_the_close_is_given_up_and_counted(pipe: Pipe) -> None:
    """What comes after the close is not written, and still counts as done."""
    written: list[int] = []
    writer = LineWriter(pipe.write_fd, on_written=written.append)
    writer.start()
    writer.put(b"a\n")
    assert writer.close(SECONDS)
    writer.put(b"b\n")
    close(pipe)
    assert pipe.reading_end.read() == b"a\n"
    assert written == [1, 1]


def test_a_failing_callback_of_the_writer_is_raised_by_close(pipe: Pipe) -> None:
    """A callback that raises does not stop the lines behind it, and its failure reaches whoever closes."""

    def fail(lines: int) -> None:
        raise ZeroDivisionError(lines)

    writer = LineWriter(pipe.write_fd, on_written=fail)
    writer.start()
    writer.put(b"a\n")
    assert pipe.reading_end.readline() == b"a\n"
    writer.put(b"b\n")
    assert pipe.reading_end.readline() == b"b\n"
    with pytest.raises(ZeroDivisionError):
        writer.close(SECONDS)


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_partial_writes_are_continued(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A descriptor may take as little as a byte at a time: the rest follows, nothing is sent twice."""
    taken: list[bytes] = []

    def write(fd: int, data: memoryview) -> int:
        taken.append(bytes(data[:piece]))
        return len(taken[-1])

    monkeypatch.setattr(os, "write", write)
    write_all(9, b"0123456789")
    monkeypatch.undo()
    assert b"".join(taken) == b"0123456789"
    assert len(taken) == -(-10 // piece)


if sys.platform != "win32":

    def test_a_non_blocking_pipe_is_waited_for(pipe: Pipe) -> None:
        """A pipe that another process made non-blocking loses nothing when it is full."""
        os.set_blocking(pipe.write_fd, False)
        writer = LineWriter(pipe.write_fd)
        writer.start()
        data = b"x" * 1_000_000 + b"\n"
        writer.put(data)
        assert pipe.reading_end.readline() == data
        assert writer.close(SECONDS)


def run_program(source: str, stdin: bytes) -> tuple[bytes, bytes]:
    """Run a program; what it wrote to the real stdout and stderr. Its exit code must be 0."""
    # No timeout here and below: subprocess would wait for it by sleeping. pytest-timeout is the bound.
    process = subprocess.run([sys.executable, "-c", source], input=stdin, capture_output=True, env=BUFFERED)
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout, process.stderr


# stdout as a client starts us: buffered.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

GUARDED = """
import os, subprocess, sys
print("before", end=" ")
from acpbridge.descriptors import guard_stdin, guard_stdout
from acpbridge.stdio import LineReader, LineWriter
fd, stdin = guard_stdout(), guard_stdin()
"""


def test_stray_output_lands_on_stderr() -> None:
    """print, os.write(1), sys.__stdout__ and a child's output go to stderr; only the protocol reaches stdout."""
    source = (
        GUARDED
        + """
os.write(1, b"raw ")
sys.__stdout__.write("original ")
sys.__stdout__.flush()
subprocess.run([sys.executable, "-c", "print('child')"], check=True)
writer = LineWriter(fd)
writer.start()
writer.put(b"protocol\\n")
writer.close()
print("printed")
os._exit(0)  # what still waits in a buffer is lost
"""
    )
    out, err = run_program(source, b"")
    assert out == b"protocol\n"
    for text in (b"before", b"printed", b"raw", b"original", b"child"):
        assert text in err


def test_nobody_else_reads_the_clients_bytes() -> None:
    """A child process and input() find the null device at fd 0; the client's lines are all for the reader."""
    source = (
        GUARDED
        + """
taken = subprocess.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], stdout=subprocess.PIPE)
lines = []
reader = LineReader(stdin, on_line=lines.append, on_oversized=print, on_eof=lambda: None)
reader.start()
reader.join()
os.write(fd, taken.stdout.strip() + b" " + repr(lines).encode())
"""
    )
    assert run_program(source, b"one\ntwo\n")[0] == b"'' [b'one', b'two']"


def test_children_do_not_inherit_the_protocol() -> None:
    """The protocol's descriptors are not inheritable, so that no child keeps the client's pipes open."""
    source = GUARDED + "os.write(fd, repr([os.get_inheritable(fd), os.get_inheritable(stdin.fileno())]).encode())"
    assert run_program(source, b"")[0] == b"[False, False]"


def test_the_program_can_end_while_the_reader_waits() -> None:
    """A program that ends by itself is not held up, or crashed, by a reader that waits for the client."""
    source = (
        GUARDED
        + """
reader = LineReader(stdin, on_line=lambda line: None, on_oversized=print, on_eof=lambda: None)
reader.start()
os.write(fd, b"ready\\n")
"""
    )
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=BUFFERED,
    )
    assert process.stdin is not None
    with process:
        assert process.wait() == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"ready\n"
        assert process.stderr is not None
        assert b"Fatal" not in process.stderr.read()
