"""What a Claude Code is started with for the sake of subagents, questions and MCP servers."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.options import MCP_STARTS_WITHIN, SessionOptions, session_options
from middleware import acp


def started(stops_subagents: bool = False, **options: Any) -> SessionOptions:
    meta = {"claudeCode": {"options": options}} if options else None
    request = acp.NewSessionRequest(cwd="/", mcp_servers=[], meta=meta)
    return session_options(request, "s", stops_subagents=stops_subagents)


def test_subagents() -> None:
    """Subagents' words are sent, whoever is shown them."""
    assert started().sdk.forward_subagent_text is True


def test_what_a_cancel_spares() -> None:
    """A cancel spares the background for a client that can stop one subagent, unless the client says otherwise."""
    assert started(True).initialize["perTaskStopAffordance"] is True
    assert "perTaskStopAffordance" not in started().initialize
    for stops in (True, False):
        assert started(stops, perTaskStopAffordance=not stops).initialize["perTaskStopAffordance"] is not stops


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
