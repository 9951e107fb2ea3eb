"""What a Claude Code is started with for the sake of subagents, questions and MCP servers."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.options import MCP_HOLDS_FOR, SessionOptions, session_options
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


def test_dialogs() -> None:
    """A dialog is declared where its client can be shown a form: Claude Code would wait for the answer to it."""
    request = acp.NewSessionRequest(cwd="/", mcp_servers=[])
    assert session_options(request, "s", forms=True).initialize["supportedDialogKinds"] == ["refusal_fallback_prompt"]
    assert "supportedDialogKinds" not in session_options(request, "s").initialize


HOLD = "CLAUDE_CODE_MCP_STARTUP_WAIT_MS"


def test_servers_hold_the_first_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that still connect hold the first prompt for a bound, which client and user may set; how long a server
    may take to start is left to Claude Code."""
    monkeypatch.delenv(HOLD, raising=False)
    assert started().sdk.env[HOLD] == str(int(MCP_HOLDS_FOR * 1000))
    assert "MCP_TIMEOUT" not in started().sdk.env
    assert started(env={HOLD: "1"}).sdk.env[HOLD] == "1"
    monkeypatch.setenv(HOLD, "2")
    assert HOLD not in started().sdk.env
