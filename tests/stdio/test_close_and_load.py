"""A close, and a load or a resume written right behind it: found by breaking (the session was dead for good)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stdio.agent_process import AgentProcess


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_taken_up_behind_a_close(method: str, agent: AgentProcess, tmp_path: Path) -> None:
    """The session is closed, then open again: its prompts work."""
    work = tmp_path / "work"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "remember me"))
    close = agent.request("session/close", {"sessionId": session})
    again = agent.request(method, {"sessionId": session, "cwd": str(work), "mcpServers": []})
    assert agent.answer(close)["result"] == {}
    assert "result" in agent.answer(again)
    assert agent.answer(agent.prompt(session, "still there"))["result"]["stopReason"] == "end_turn"
    assert agent.text().endswith("echo: still there")


def test_closed_behind_a_load(agent: AgentProcess, tmp_path: Path) -> None:
    """A close behind a load that is under way closes what the load opens."""
    work = tmp_path / "work"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "remember me"))
    agent.answer(agent.request("session/close", {"sessionId": session}))
    again = agent.request("session/load", {"sessionId": session, "cwd": str(work), "mcpServers": []})
    close = agent.request("session/close", {"sessionId": session})
    assert "result" in agent.answer(again)
    assert agent.answer(close)["result"] == {}
    assert agent.answer(agent.prompt(session, "anybody"))["error"]["code"] == -32002
    assert agent.claude_processes() == []
