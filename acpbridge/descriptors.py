"""The program's stdin and stdout, kept for the protocol: guards for the descriptors, and writing to one of them.

Standard library only, and light: this runs before anything else is imported. The threads that read and write lines are
in `stdio`.
"""

from __future__ import annotations

import os
import select
import sys
from typing import BinaryIO, Final

# A 7 MiB line takes half the time with this buffer than with the default one (schema-and-speed, "Inbound").
_READ_BUFFER: Final = 1 << 16


def write_all(fd: int, data: bytes) -> None:
    """Write everything, however little the descriptor takes at a time. OSError when it takes no more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            # POSIX only: another process that shares the pipe has made it non-blocking. Windows, which has no select
            # for pipes, has no such sharing either.
            select.select([], [fd], [])


def guard_stdout() -> int:
    """Keep stdout for the protocol: its descriptor under a new number, which children do not inherit.

    From here on fd 1 and `sys.stdout` are stderr, so that a stray print, a C library or a child process writes there.
    So does what `sys.stdout` still buffers. Call it once, first thing.
    """
    protocol = os.dup(1)
    _make_binary_and_blocking(protocol)
    try:
        os.dup2(2, 1)
    except OSError:
        # Started without a stderr: what is printed goes nowhere.
        _point_at_null(1, os.O_WRONLY)
    sys.stdout = sys.stderr
    return protocol


def guard_stdin() -> BinaryIO:
    """Keep stdin for the protocol: a binary file on a new descriptor, which children do not inherit.

    From here on fd 0 is the null device, so that neither `input()` nor a child process takes bytes from the client, and
    no child that outlives the program keeps the client's pipe open.
    """
    protocol = os.dup(0)
    _make_binary_and_blocking(protocol)
    _point_at_null(0, os.O_RDONLY)
    return open(protocol, "rb", buffering=_READ_BUFFER, closefd=False)


def _point_at_null(fd: int, flags: int) -> None:
    null = os.open(os.devnull, flags)
    os.dup2(null, fd)
    os.close(null)


def _make_binary_and_blocking(fd: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(fd, os.O_BINARY)
    else:
        # Whoever shares a terminal or socket with us may have made it non-blocking: finding nothing looks like EOF.
        os.set_blocking(fd, True)
