"""Starting the watcher of `orphans` and telling it which Claude Code processes there are."""

from __future__ import annotations

import subprocess
import sys

from loguru import logger

from . import orphans


class Watcher:
    """One watcher for all sessions of the program; started with the first. On the SDK loop only.

    Without it nothing works worse, except that a program that is killed in the middle of a turn leaves Claude Code
    running until the model has answered: a watcher that cannot be started is logged.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def add(self, process: int) -> None:
        """End this process when the program is gone. After `close` there is nobody to do it."""
        if self._process is None and not self._closed:
            self._process = self._start()
        self._tell(f"+{process}")

    def remove(self, process: int) -> None:
        """This process has ended."""
        self._tell(f"-{process}")

    def close(self) -> None:
        """End the watcher: nothing is left to be watched."""
        self._closed = True
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.close()
        except OSError as error:
            logger.warning("the watcher of Claude Code is gone: {}", error)
        try:
            process.wait(orphans.GRACE + 3)
        except subprocess.TimeoutExpired:
            logger.error("the watcher of Claude Code did not end by itself and is killed")
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[str] | None:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", orphans.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            logger.warning("no watcher for Claude Code could be started: {}", error)
            return None

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            return
        try:
            self._process.stdin.write(line + "\n")
        except OSError as error:
            logger.warning("the watcher of Claude Code is gone: {}", error)
