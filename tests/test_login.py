"""Which ways to log in a client is offered."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from acpbridge import handshake, login
from middleware import acp

TERMINAL = {"auth": {"terminal": True}}
OLDER = {"_meta": {"terminal-auth": True}}


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_BROWSER", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CLAUDE_CODE_REMOTE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "capabilities", [{}, {"auth": None}, {"auth": {"terminal": False}}, {"_meta": {"terminal-auth": 3}}]
)
def test_without_a_terminal(capabilities: dict[str, Any]) -> None:
    """A client that can run nothing in a terminal is offered nothing."""
    assert login.methods(capabilities) == []


def test_with_a_browser() -> None:
    """Where a browser opens there are the subscription and the console, each a command of ours."""
    offered = login.methods(TERMINAL)
    assert [method["id"] for method in offered] == ["claude-ai-login", "console-login"]
    assert offered[0]["args"] == ["--cli", "auth", "login", "--claudeai"]
    assert all("_meta" not in method for method in offered)


def test_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over ssh there is Claude Code's own login."""
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    assert [method["id"] for method in login.methods(TERMINAL)] == ["claude-login"]


def test_the_whole_command() -> None:
    """An older client is told the whole command."""
    told = login.methods(OLDER)[0]["_meta"]["terminal-auth"]
    assert (told["command"], told["args"][:4]) == (sys.executable, ["-P", "-m", "acpbridge", "--cli"])


def test_legal() -> None:
    """What `initialize` answers is legal ACP, whatever the client can do."""
    for capabilities in ({}, TERMINAL, OLDER, {**TERMINAL, **OLDER}):
        result = handshake.result({"protocolVersion": 1, "clientCapabilities": capabilities})
        assert acp.structure(result, acp.InitializeResponse).agent_capabilities.load_session is True


def test_no_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    """An integration that may not use subscriptions offers no way to log in with one, here or in a remote terminal."""
    assert [each["id"] for each in login.methods(TERMINAL, hide_claude_auth=True)] == ["console-login"]
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    assert login.methods(TERMINAL, hide_claude_auth=True) == []
    params = {"clientCapabilities": TERMINAL}
    assert handshake.result(params, hide_claude_auth=True)["authMethods"] == []
    assert handshake.result(params)["authMethods"] != []
