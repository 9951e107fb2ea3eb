"""What a Claude Code is started with for the sake of subagents, questions and MCP servers."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.options import MCP_STARTS_WITHIN, SessionOptions, session_options
from middleware import acp


def started(**options: Any) -> SessionOptions:
    meta = {"claudeCode": {"options": options}} if options else None
    return session_options(acp.NewSessionRequest(cwd="/", mcp_servers=[], meta=meta), "s")


def test_subagents() -> None:
    """Subagents' words are sent, whoever is shown them; a cancel spares the background, unless the client says not."""
    assert started().sdk.forward_subagent_text is True
    assert started().initialize["perTaskStopAffordance"] is True
    assert started(perTaskStopAffordance=False).initialize["perTaskStopAffordance"] is False


def test_questions() -> None:
    """Claude may ask the person, whatever the client can show."""
    assert "AskUserQuestion" not in started().sdk.disallowed_tools
    assert started(disallowedTools=["AskUserQuestion"]).sdk.disallowed_tools == ["AskUserQuestion"]


def test_servers_start_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not start holds the first prompt for a bound, which client and user may set."""
    monkeypatch.delenv("MCP_TIMEOUT", raising=False)
    assert started().sdk.env["MCP_TIMEOUT"] == str(int(MCP_STARTS_WITHIN * 1000))
    assert started(env={"MCP_TIMEOUT": "1"}).sdk.env["MCP_TIMEOUT"] == "1"
    monkeypatch.setenv("MCP_TIMEOUT", "2")
    assert "MCP_TIMEOUT" not in started().sdk.env
