"""`acpbridge --cli`: Claude Code itself, with our stdin, stdout, stderr, signals and exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "acpbridge", "--cli"]


def _script(place: Path, text: str) -> dict[str, str]:
    """The environment in which this is Claude Code."""
    path = place / "claude"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return {**os.environ, "CLAUDE_CODE_EXECUTABLE": str(path)}


def test_the_bundled_one(tmp_path: Path) -> None:
    """Without a choice it is the Claude Code that comes with the SDK; all arguments but --cli are its own."""
    environment = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CODE_EXECUTABLE": ""}
    ended = subprocess.run([*PROGRAM, "--version"], capture_output=True, env=environment, timeout=30, check=False)
    assert ended.returncode == 0
    assert b"Claude Code" in ended.stdout


def test_missing() -> None:
    """A Claude Code that is not there is said in words, with exit code 1."""
    environment = {**os.environ, "CLAUDE_CODE_EXECUTABLE": "/nowhere/claude"}
    ended = subprocess.run(PROGRAM, capture_output=True, env=environment, timeout=30, check=False)
    assert ended.returncode == 1
    assert b"could not be started" in ended.stderr


if sys.platform != "win32":  # where a script is a program, and signals can be sent

    def test_streams_arguments_and_exit_code(tmp_path: Path) -> None:
        """It reads our stdin, writes to our stdout and stderr, and its exit code is ours, wherever --cli stands."""
        text = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('oops', file=sys.stderr)\nsys.exit(7)\n"
        command = [sys.executable, "-m", "acpbridge", "auth", "--cli", "login"]
        ended = subprocess.run(
            command, input=b"hello", capture_output=True, env=_script(tmp_path, text), timeout=30, check=False
        )
        assert (ended.returncode, ended.stdout.strip(), ended.stderr.strip()) == (
            7,
            b"['auth', 'login'] hello",
            b"oops",
        )

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
    def test_signals(tmp_path: Path, name: str) -> None:
        """A signal is handed on, and what Claude Code makes of it is our exit code."""
        text = (
            "import signal, sys\n"
            f"signal.signal(signal.{name}, lambda number, frame: sys.exit(40 + number))\n"
            "print('ready', flush=True)\n"
            "signal.pause()\n"
        )
        process = subprocess.Popen(PROGRAM, stdout=subprocess.PIPE, env=_script(tmp_path, text))
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(getattr(signal, name))
            assert process.wait(30) == 40 + getattr(signal, name)

    def test_killed(tmp_path: Path) -> None:
        """A Claude Code that a signal ended is an exit code of 128 and that signal, as in a shell."""
        text = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
        ended = subprocess.run(PROGRAM, env=_script(tmp_path, text), timeout=30, check=False)
        assert ended.returncode == 128 + signal.SIGKILL
