"""The watcher, with real processes: what is listed ends with the program, what is not is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from acpbridge.claude import orphans
from acpbridge.claude.watch import Watcher
from tests.core import logged

SECONDS = 20.0
ROOT = Path(__file__).parents[2]

PROGRAM = """\
import sys
from acpbridge.claude.watch import Watcher
watcher = Watcher()
for word in sys.argv[1:]:
    (watcher.add if word[0] == "+" else watcher.remove)(int(word[1:]))
print(watcher._process.pid, flush=True)
sys.stdin.read()
"""

POLITE = "import sys; print('up', flush=True); sys.stdin.read()"
STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + POLITE


class Children:
    """Processes that live until they are told otherwise, or the test is over."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start Python with these arguments; it has said its first line, which is in `said`."""
        process = subprocess.Popen(
            [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self._stack.callback(self._end, process)
        return process

    def up(self, code: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        """Start a script, and wait for its first line; both."""
        process = self.start("-c", code, *arguments)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    def close(self) -> None:
        self._stack.close()

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def children() -> Iterator[Children]:
    children = Children()
    yield children
    children.close()


def gone(number: int) -> None:
    """Wait until a process has ended."""
    try:
        psutil.Process(number).wait(SECONDS)
    except psutil.NoSuchProcess:
        return


def test_a_program_that_is_killed(children: Children) -> None:
    """What the program had listed is told to terminate, and killed when it does not; what it had taken off the list is
    left alone; the watcher survives a terminal's signals until then, and is gone afterwards."""
    polite, _ = children.up(POLITE)
    stubborn, _ = children.up(STUBBORN)
    removed, _ = children.up(POLITE)
    words = [f"+{polite.pid}", f"+{removed.pid}", f"+{stubborn.pid}", f"-{removed.pid}", "-999999999"]
    program, watcher = children.up(PROGRAM, *words)
    if os.name != "nt":
        _wait_until_it_reads(int(watcher))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(int(watcher), number)
    program.kill()
    codes = (polite.wait(SECONDS), stubborn.wait(SECONDS))
    gone(int(watcher))
    if os.name != "nt":
        assert codes == (-signal.SIGTERM, -signal.SIGKILL)
    assert removed.poll() is None


def _wait_until_it_reads(number: int) -> None:
    """Wait until the watcher ignores signals, which it does before it reads: its status says so."""
    status = Path(f"/proc/{number}/status")
    while status.exists() and not _ignores(status.read_text(), signal.SIGTERM):
        os.sched_yield()


def _ignores(status: str, number: signal.Signals) -> bool:
    mask = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(mask.split()[1], 16) & (1 << (number - 1)))


def test_a_program_that_ends_in_order(children: Children) -> None:
    """A watcher that is closed ends at once and touches nothing that was taken off its list."""
    child, _ = children.up(POLITE)
    watcher = Watcher()
    watcher.add(child.pid)
    process = watcher._process
    assert process is not None
    watcher.remove(child.pid)
    watcher.close()
    assert process.returncode == 0
    watcher.close()
    assert child.poll() is None


def test_one_watcher_for_all() -> None:
    """The first process starts the watcher, and it is the only one; without any there is none; none comes after the
    end."""
    watcher = Watcher()
    watcher.remove(1)
    assert watcher._process is None
    watcher.add(999999998)
    process = watcher._process
    watcher.add(999999999)
    assert process is not None
    assert watcher._process is process
    watcher.remove(999999998)
    watcher.remove(999999999)
    watcher.close()
    watcher.add(999999999)
    assert watcher._process is None


def test_half_a_line_is_no_number(children: Children) -> None:
    """A line that was cut by the program's death, and lines that are none, name nobody."""
    child, _ = children.up(POLITE)
    watcher = children.start("-I", "-S", orphans.__file__)
    watcher.communicate(f"\n+\nx{child.pid}\n+0\n+-1\n+{child.pid}x\n+{child.pid}", timeout=SECONDS)
    assert watcher.returncode == 0
    assert child.poll() is None


def test_a_watcher_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a watcher everything else works; the log says that there is none."""
    monkeypatch.setattr(sys, "executable", str(ROOT / "no-python"))
    watcher = Watcher()
    with logged() as log:
        watcher.add(1)
        watcher.remove(1)
        watcher.close()
    assert len(log) == 1
    assert "no watcher for Claude Code could be started" in log[0]


def test_a_watcher_that_died() -> None:
    """A watcher that somebody killed is logged, and hinders nobody."""
    watcher = Watcher()
    watcher.add(999999999)
    process = watcher._process
    assert process is not None
    process.kill()
    process.wait()
    with logged() as log:
        watcher.add(999999998)
        watcher.close()
    assert log
    assert all("the watcher of Claude Code is gone" in entry for entry in log)


def test_a_watcher_that_hangs(monkeypatch: pytest.MonkeyPatch, children: Children) -> None:
    """A watcher that does not end is killed, so that the program can."""
    hanging, _ = children.up("import signal, sys; print('up', flush=True); sys.stdin.read(); signal.pause()")
    watcher = Watcher()
    monkeypatch.setattr(watcher, "_start", lambda: hanging)
    monkeypatch.setattr(orphans, "GRACE", -2.9)
    watcher.add(999999999)
    with logged() as log:
        watcher.close()
    assert hanging.poll() is not None
    assert any("is killed" in entry for entry in log)


@pytest.mark.parametrize("error", [ProcessLookupError, OSError])
def test_a_number_that_may_be_anothers(error: type[OSError], monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux a process that has ended before it could be held is not signalled by its number, which may be another
    process's by now; only a kernel that cannot hold processes leaves no other way."""
    sent: list[int] = []

    def fails(number: int) -> int:
        raise error

    monkeypatch.setattr(orphans, "sys", SimpleNamespace(platform="linux"))
    monkeypatch.setattr(os, "pidfd_open", fails, raising=False)
    monkeypatch.setattr(os, "kill", lambda number, signal: sent.append(number))
    listed = orphans.Listed(4242)
    listed.send(signal.SIGTERM)
    listed.forget()
    assert sent == ([] if error is ProcessLookupError else [4242])
