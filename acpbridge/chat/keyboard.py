"""What the person types, line by line, and the marker behind which it is typed.

`keyboard` gives the one that fits: at a terminal with line editing and a history, where Python has `readline` (not on
Windows, whose console edits lines itself); else lines as they come. What a line means is `conversation.py`'s.
"""

from __future__ import annotations

import os
import re
import select
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Protocol

from loguru import logger

from acpbridge.chat.client import NoMoreInput, Posted, Typed
from acpbridge.stdio import LineReader

Post = Callable[[Posted], None]
Write = Callable[[str], None]

PROMPT: Final = "> "
"""The marker of a prompt, without its colours."""

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


class Keyboard(Protocol):
    """Posts `Typed` for each line and `NoMoreInput` at the end, from a thread that may outlive the conversation."""

    def start(self) -> None: ...

    def invite(self, marker: str) -> None:
        """Show the marker, and have the person type behind it. `marker` may begin with a line break."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def keyboard(post: Post, write: Write) -> Keyboard:
    """The keyboard of this program's stdin and stdout."""
    if sys.platform != "win32" and (editing := _readline()) is not None:
        return EditingKeyboard(post, write, editing)
    return PlainKeyboard(post, write)


def _readline() -> ModuleType | None:
    """`readline`, where lines can be edited: both ends are the terminal, and Python was built with it."""
    if os.environ.get("TERM") == "dumb":
        return None
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and sys.stdin.fileno() == 0):
        return None
    try:
        import readline
    except ImportError:
        return None
    return readline


class PlainKeyboard:
    """Lines as they come: from a terminal that edits them itself, a pipe or a file."""

    def __init__(self, post: Post, write: Write) -> None:
        self._post, self._write = post, write

    def start(self) -> None:
        encoding = getattr(sys.stdin, "encoding", None) or "utf-8"
        # Not sys.stdin: a thread that is blocked in it makes the interpreter crash when it ends.
        LineReader(
            open(0, "rb", closefd=False),  # noqa: SIM115
            on_line=lambda line: self._post(Typed(line.decode(encoding, "replace"))),
            on_oversized=lambda length: logger.warning("a line of more than {} bytes is no prompt", length),
            on_eof=lambda: self._post(NoMoreInput()),
        ).start()

    def invite(self, marker: str) -> None:
        self._write(marker)

    def close(self) -> None:
        """Nothing was changed."""


if sys.platform != "win32":
    import termios

    class EditingKeyboard:
        """A terminal whose lines are edited with readline while the person is invited to type.

        What is typed while nobody invites, in the middle of a turn, are lines as the terminal gives them.
        """

        def __init__(self, post: Post, write: Write, readline: Any) -> None:
            self._post, self._write, self._readline = post, write, readline
            self._saved = termios.tcgetattr(0)
            self._waking, self._wake = os.pipe()
            self._lock = threading.Lock()
            self._marker: str | None = None  # of an invitation that is not taken up yet
            self._reading = False
            self._rest = b""  # of a line that has no end yet
            readline.set_auto_history(False)

        def start(self) -> None:
            threading.Thread(target=self._run, name="chat keyboard", daemon=True).start()

        def invite(self, marker: str) -> None:
            start, text = marker[: len(marker) - len(marker.lstrip("\n"))], marker.lstrip("\n")
            with self._lock:
                if not self._reading:
                    self._write(start)
                    self._marker = text
                    os.write(self._wake, b"!")
                    return
            # Somebody else had something to say while the person typed: what they have typed stays, and is seen again.
            self._write(f"{start}{text}{self._readline.get_line_buffer()}")

        def close(self) -> None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._saved)

        def _run(self) -> None:
            while True:
                marker = self._invitation()
                if marker is None:
                    break
                try:
                    line = input(self._prompt(marker))
                except EOFError:
                    break
                except UnicodeDecodeError:
                    line = ""
                with self._lock:
                    self._reading = False
                if line.strip() and _COLOUR.sub("", marker) == PROMPT:  # the answer to a question is nobody's history
                    self._readline.add_history(line)
                self._post(Typed(line))
            self._post(NoMoreInput())

        def _prompt(self, marker: str) -> str:
            """The marker as readline wants it: it must know what of it has no width."""
            if "libedit" in (self._readline.__doc__ or ""):
                return _COLOUR.sub("", marker)
            return _COLOUR.sub("\x01\\1\x02", marker)

        def _invitation(self) -> str | None:
            """Wait until the person is invited; lines that come before that are posted. None at the end."""
            while True:
                with self._lock:
                    if self._marker is not None:
                        marker, self._marker, self._reading = self._marker, None, True
                        return marker
                ready, _, _ = select.select([0, self._waking], [], [])
                if self._waking in ready:
                    os.read(self._waking, 64)
                elif not self._take(os.read(0, 65536)):
                    return None

        def _take(self, data: bytes) -> bool:
            """Post the lines in what was read; whether there may be more."""
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._post(Typed(line.decode(sys.stdin.encoding or "utf-8", "replace")))
            return bool(data)
