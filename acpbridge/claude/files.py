"""The file that a permission is asked for, as it is on the disk at that moment: read here, since a stage does no I/O.

Bounded and safe: only a regular file of at most 1 MiB that is UTF-8 text is read; anything else is said to be hidden.
It is read on the SDK loop, in the moment in which the ask is read, so that no ask overtakes another.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

import attrs
from loguru import logger

from middleware.messages import FileState, PermissionAsk

LIMIT = 1 << 20
"""Bytes of a file that are read at most (reference 4.10)."""

_BINARY_PROBE = 8000
"""Bytes in which a NUL makes a file binary, as git decides it."""

_PATHS: Mapping[str, tuple[str, ...]] = {
    "Edit": ("file_path",),
    "MultiEdit": ("file_path",),
    "Write": ("file_path", "path"),
}
"""Which tools change a text file, and which members of their input say which."""


def with_file(ask: PermissionAsk, cwd: str) -> PermissionAsk:
    """The ask with the state of the file that it is about; the same ask when it is about none."""
    for key in _PATHS.get(ask.name, ()):
        path = ask.input.get(key)
        if isinstance(path, str) and path:
            return attrs.evolve(ask, file=read(path, cwd))
    return ask


def read(path: str, cwd: str) -> FileState:
    """The state of a file; a relative path is the session's."""
    place = os.path.join(cwd, path)
    try:
        # Opening a pipe waits for its writer, so what it is comes before, and is asked of the open file again.
        if not stat.S_ISREG(os.stat(place).st_mode):
            return FileState(path=path, state="hidden")
        with open(place, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return FileState(path=path, state="hidden")
            data = file.read(LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return FileState(path=path, state="missing")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        logger.info("a file that a permission is asked for cannot be read: {}", type(error).__name__)
        return FileState(path=path, state="hidden")
    if len(data) > LIMIT or b"\0" in data[:_BINARY_PROBE]:
        return FileState(path=path, state="hidden")
    try:
        return FileState(path=path, state="text", text=data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return FileState(path=path, state="hidden")
