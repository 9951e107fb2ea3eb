"""What lies under a transcript's name and is none, or cannot be read: it stops nobody and holds nobody up."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acpbridge.sessions.deleting import delete
from acpbridge.sessions.failures import RequestRefused
from acpbridge.sessions.listing import page
from acpbridge.sessions.places import find_transcript, open_transcript
from acpbridge.sessions.taking_up import load
from middleware import acp
from middleware.messages import Request
from tests.core import logged
from tests.sessions.writing import Transcript

ODD, GOOD = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))

NOBODY = 65534
"""A user id that is nobody's."""


class End:
    """Of an agent end, what a request about a session that is not open needs."""

    def __init__(self) -> None:
        self.open: dict[str, Any] = {}

    def opening(self, name: str) -> asyncio.Lock:
        return asyncio.Lock()

    async def close_session(self, name: str) -> None:
        self.open.pop(name, None)


def _refused(serve: Callable[[Any, Request], Any], params: Any) -> Any:
    """The failure with which a request is refused."""
    end: Any = End()
    with pytest.raises(RequestRefused) as refused:
        asyncio.run(serve(end, Request(request=1, method="session/x", params=params)))
    return refused.value.failure


def _load(name: str, cwd: Path) -> Any:
    return _refused(load, acp.LoadSessionRequest(session_id=name, cwd=str(cwd), mcp_servers=[]))


@contextmanager
def anybody() -> Iterator[None]:
    """As a user who may not read everything: root may."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def forbidden(path: Path) -> Iterator[None]:
    """Nobody may read this file or directory, until it is over."""
    if sys.platform == "win32":
        subprocess.run(["icacls", str(path), "/deny", "*S-1-1-0:(RX)"], check=True, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            subprocess.run(["icacls", str(path), "/remove:d", "*S-1-1-0"], check=True, stdout=subprocess.DEVNULL)
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    try:
        with anybody():
            yield
    finally:
        path.chmod(mode)


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """CLAUDE_CONFIG_DIR, in a place that every user may walk into; pytest's own directory is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", name)
        yield Path(name)


def _good(config: Path, project: str = "-repo") -> Transcript:
    t = Transcript(config, session=GOOD, project=project)
    t.user("the good one")
    return t


def _titles() -> list[str | None]:
    return [row.title for row in page(None, 0).sessions]


def _directory(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nothing"))


def _circle(path: Path) -> None:
    path.symlink_to(path)


def _pipe(path: Path) -> None:
    """A pipe that nobody writes into, where there are any."""
    os.mkfifo(path) if hasattr(os, "mkfifo") else path.mkdir()


def _socket(path: Path) -> None:
    """A socket, where one has a place among the files."""
    if not hasattr(socket, "AF_UNIX"):
        path.mkdir()
        return
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [_directory, _dangling, _circle, _pipe, _socket])
def test_what_is_no_file(config: Path, make: Callable[[Path], None]) -> None:
    """What has a transcript's name and is no file is no session: neither listed, loaded nor deleted; nobody waits."""
    t = _good(config)
    odd = t.path.with_name(f"{ODD}.jsonl")
    make(odd)
    with logged() as log:
        assert _titles() == ["the good one"]
        assert find_transcript(ODD) is None
        assert _load(ODD, config).code == -32002
    assert [line for line in log if "Traceback" in line or "cannot be read" in line] == []
    end: Any = End()
    asked = Request(request=1, method="session/delete", params=acp.DeleteSessionRequest(session_id=ODD))
    assert asyncio.run(delete(end, asked)) == acp.DeleteSessionResponse()


def test_a_pipe_in_place_of_a_file(config: Path) -> None:
    """A file that became a pipe since it was found is not waited for."""
    pipe = config / "pipe"
    _pipe(pipe)
    with pytest.raises(OSError, match="pipe"):
        open_transcript(pipe)


def test_a_file_that_nobody_may_read(config: Path) -> None:
    """It is left out of the list, and a load says why it fails, without a traceback."""
    t = Transcript(config, session=ODD)
    t.user("the secret one")
    _good(config)
    with logged() as log, forbidden(t.path):
        assert _titles() == ["the good one"]
        failure = _load(ODD, config)
    assert failure.code == -32603
    assert failure.message.startswith(f"Internal error: The transcript of session {ODD} cannot be read: ")
    assert any("cannot be read" in line for line in log)
    assert [line for line in log if "Traceback" in line] == []
    assert sorted(map(str, _titles())) == ["the good one", "the secret one"]


def test_a_directory_that_nobody_may_read(config: Path) -> None:
    """Its sessions are not there, those of the others are."""
    t = Transcript(config, session=ODD, project="-secret")
    t.user("the secret one")
    _good(config)
    with logged() as log, forbidden(t.path.parent):
        assert _titles() == ["the good one"]
        assert _load(ODD, config).code == -32002
        assert find_transcript(GOOD) is not None
    assert any("-secret" in line for line in log)
    assert sorted(map(str, _titles())) == ["the good one", "the secret one"]


def test_no_directory_that_anybody_may_read(config: Path) -> None:
    """Where none of the transcripts may be read the list is empty, and the log says why."""
    _good(config)
    with logged() as log, forbidden(config / "projects"):
        assert _titles() == []
    assert any("cannot be read" in line for line in log)


def test_a_deletion_that_is_not_allowed(config: Path) -> None:
    """A session that cannot be removed is -32603 with the reason, and still there."""
    t = _good(config)
    t.path.parent.chmod(0o555)
    if sys.platform == "win32":
        t.path.chmod(0o444)
    with anybody():
        failure = _refused(delete, acp.DeleteSessionRequest(session_id=GOOD))
    assert failure.code == -32603
    assert failure.message.startswith(f"Internal error: Session {GOOD} cannot be deleted: ")
    assert _titles() == ["the good one"]
    t.path.parent.chmod(0o755)
    t.path.chmod(0o644)
