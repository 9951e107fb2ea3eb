"""The watcher: a small process that ends Claude Code when the program can no longer do it, since it was killed.

Run as a script by `watch.Watcher`, with the standard library only. It reads `+PID` and `-PID` lines from its stdin. The
program's death is the end of that input, on every platform: what is still listed then is told to terminate, and killed
two seconds later. Claude Code itself reads the end of its stdin too, but in the middle of a turn it first waits for the
model.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading

GRACE = 2.0
"""Seconds between the polite signal and the other one."""

_LINE = re.compile(r"[+-][1-9][0-9]{0,18}\n")


class Listed:
    """A process that is watched. On Linux it is held by a descriptor, so that a reused number is never hit."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._descriptor: int | None = None
        self._ended = False
        if sys.platform == "linux":
            try:
                self._descriptor = os.pidfd_open(number)
            except ProcessLookupError:
                self._ended = True
            except OSError:  # the kernel is older than 5.3
                return

    def send(self, number: signal.Signals) -> None:
        try:
            if sys.platform == "linux" and self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            elif not self._ended:
                os.kill(self._number, number)
        except OSError:
            return  # it has ended, which is what is wanted

    def forget(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def main() -> None:
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):  # a terminal's Ctrl-C goes to the whole group
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    listed: dict[int, Listed] = {}
    for line in sys.stdin:
        if _LINE.fullmatch(line) is None:
            continue  # cut short by the program's death: half a number is another process's number
        number = int(line[1:])
        if number in listed:
            listed.pop(number).forget()
        if line[0] == "+":
            listed[number] = Listed(number)
    for process in listed.values():
        process.send(signal.SIGTERM)
    if listed:
        threading.Event().wait(GRACE)
    for process in listed.values():
        process.send(getattr(signal, "SIGKILL", signal.SIGTERM))


if __name__ == "__main__":
    main()
