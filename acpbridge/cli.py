"""`acpbridge --cli ARGS`: Claude Code itself, in the terminal that it was called from (reference 12).

The same Claude Code that the agent drives: the bundled one, or CLAUDE_CODE_EXECUTABLE. It has stdin, stdout and stderr
as they are; signals are handed on; its exit code is ours. An editor runs it so to log in.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

MISSING = (
    "Claude Code was not found. Reinstall claude-agent-sdk with its bundled program, install Claude Code, or set "
    "CLAUDE_CODE_EXECUTABLE."
)


def executable() -> str | None:
    """The Claude Code to run; None when there is none. The SDK is looked for, and not imported: that takes a second."""
    given = os.environ.get("CLAUDE_CODE_EXECUTABLE")
    if given:
        return given
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is not None and found.origin is not None:
        bundled = Path(found.origin).parent / "_bundled" / ("claude.exe" if sys.platform == "win32" else "claude")
        if bundled.is_file():
            return str(bundled)
    return shutil.which("claude")


def run(arguments: Sequence[str]) -> int:
    """Run Claude Code with these arguments; its exit code, 128 and more where a signal ended it."""
    program = executable()
    if program is None:
        sys.stderr.write(MISSING + "\n")
        return 1
    waiting: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def hand_on(number: int, frame: FrameType | None) -> None:
        if child is None:
            waiting.append(number)
        elif child.poll() is None:
            child.send_signal(number)

    before = {
        getattr(signal, name): signal.signal(getattr(signal, name), hand_on)
        for name in _SIGNALS
        if hasattr(signal, name)  # Windows has no SIGHUP
    }
    try:
        child = subprocess.Popen([program, *arguments])
        for number in waiting:
            child.send_signal(number)
        code = child.wait()
    except OSError as error:
        sys.stderr.write(f"Claude Code could not be started: {error}\n")
        return 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
