"""What is refused before any Claude Code is started: directories, options, methods of logging in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acpbridge.claude.client_options import WrongOption
from acpbridge.sessions import METHODS
from acpbridge.sessions.failures import RequestRefused, failure_of
from acpbridge.sessions.new import check_directories
from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request
from tests.core import logged


def test_directories_that_are_there(tmp_path: Path) -> None:
    """An absolute directory that exists is one to work in; additional ones only have to be absolute."""
    check_directories(str(tmp_path), [str(tmp_path / "not there")])
    check_directories(str(tmp_path), None)


def test_directories_that_are_none(tmp_path: Path) -> None:
    """What is wrong with a directory is -32602 and says which one."""
    file = tmp_path / "file"
    file.touch()
    cases: list[tuple[str, list[str], str]] = [
        ("here", [], "`cwd` must be an absolute path, but received: here"),
        ("", [], "`cwd` must be an absolute path, but received: "),
        (str(tmp_path / "no"), [], f"`cwd` does not exist on the machine running the agent: {tmp_path / 'no'}"),
        (str(file), [], f"`cwd` is not a directory: {file}"),
        (str(tmp_path), ["x"], "`additionalDirectories` entries must be absolute paths, but received: x"),
        ("here", ["x"], "`additionalDirectories` entries must be absolute paths, but received: x"),
    ]
    for cwd, additional, text in cases:
        with pytest.raises(RequestRefused) as caught:
            check_directories(cwd, additional)
        assert caught.value.failure.code == -32602
        assert caught.value.failure.message == f"Invalid params: {text}"


def test_failures() -> None:
    """A refusal is its own failure, a wrong option -32602; anything else is -32603, named, and logged in full."""
    refused = Failure.auth_required("log in")
    assert failure_of(RequestRefused(refused), "session/new") == refused
    assert failure_of(WrongOption("`x` must be y"), "session/new").message == "Invalid params: `x` must be y"
    with logged() as log:
        failure = failure_of(RuntimeError("unforeseen"), "session/new")
    assert (failure.code, failure.message) == (-32603, "Internal error: session/new failed: RuntimeError")
    assert len(log) == 1
    assert "unforeseen" in log[0]


def test_logging_in() -> None:
    """No method of logging in is there; the refusal names the one asked for, and says what to do."""
    end: Any = None
    asked = Request(request=1, method="authenticate", params=acp.AuthenticateRequest(method_id="claude-login"))
    with pytest.raises(RequestRefused) as caught:
        asyncio.run(_served(METHODS["authenticate"](end, asked)))
    failure = caught.value.failure
    assert failure.code == -32602
    assert failure.data == {"methodId": "claude-login"}
    assert "claude-login" in failure.message
    assert "ANTHROPIC_API_KEY" in failure.message


def test_a_close() -> None:
    """A close has its session closed, then answers; whether it was open makes no difference."""
    closed: list[str] = []

    class End:
        def opening(self, name: str) -> asyncio.Lock:
            return asyncio.Lock()

        async def close_session(self, name: str) -> None:
            closed.append(name)

    end: Any = End()
    asked = Request(request=1, method="session/close", params=acp.CloseSessionRequest(session_id="s"), session="s")
    assert asyncio.run(_served(METHODS["session/close"](end, asked))) == acp.CloseSessionResponse()
    assert closed == ["s"]


async def _served(answer: Any) -> Any:
    return await answer
