"""`python -m acpbridge.testing [--port 0] [--home DIR]`: the scripted model as a process of its own.

It prints the lines that point a Claude Code at it, and runs until Ctrl-C. Scripts are written into the prompts
(directive.py).
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from acpbridge.testing.model import ScriptedModel


def environment_line(name: str, value: str) -> str:
    """The line for the system's usual shell: sh, or PowerShell on Windows."""
    if os.name == "nt":
        return f"$env:{name} = '{value.replace(chr(39), chr(39) * 2)}'"
    return f"export {name}={shlex.quote(value)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m acpbridge.testing", description="A scripted model for Claude Code."
    )
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; 0 (the default) takes a free one")
    parser.add_argument(
        "--home", type=Path, help="the home of Claude Code; without it a new directory that is deleted at the end"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="scripted-model-", ignore_cleanup_errors=True) as temporary:
        home = options.home or Path(temporary)
        with _Signals() as signals, ScriptedModel(port=options.port) as model:
            lines = [environment_line(name, value) for name, value in model.prepare(home).items()]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
            signals.wait()
    return 0


class _Signals:
    """SIGINT and SIGTERM as an end to a wait: the signal's number arrives on a socket, which works on every system."""

    def __enter__(self) -> _Signals:
        self._reading, self._writing = socket.socketpair()
        self._writing.setblocking(False)
        self._before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
        self._fd_before = signal.set_wakeup_fd(self._writing.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._fd_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._reading.close()
        self._writing.close()

    def wait(self) -> None:
        self._reading.recv(1)


if __name__ == "__main__":
    sys.exit(main())
