"""Subagents through the real program and the real Claude Code: flat for most clients, child sessions for some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Seen

CHILDREN: dict[str, Any] = {"subagents": {}}


def delegate(prompt: str, **members: Any) -> UseTool:
    given = {"description": "Sub work", "subagent_type": "general-purpose", "run_in_background": False, **members}
    return UseTool("Agent", {"prompt": prompt, **given})


def write(path: Path) -> UseTool:
    return UseTool("Write", {"file_path": str(path), "content": "content\n"})


def updates(seen: list[Seen], session: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
    """The updates of a session, of a kind."""
    found = [(item.message["params"]["sessionId"], item.update) for item in seen if item.update]
    return [
        update
        for name, update in found
        if session in (None, name) and kind in (None, update["sessionUpdate"])
    ]


def states(seen: list[Seen], child: str) -> list[tuple[str, str | None]]:
    """The work states of a child as its parent was told them, each with its stop reason."""
    told = [update for update in updates(seen, kind="subagent_update") if update["sessionId"] == child]
    return [(update["state"]["state"], update["state"].get("stopReason")) for update in told if "state" in update]


def children(seen: list[Seen]) -> list[str]:
    """The child sessions, in the order in which they were told."""
    return list(dict.fromkeys(update["sessionId"] for update in updates(seen, kind="subagent_update")))


def test_flat(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A client without child sessions: the Agent call, the child's calls with their parent, and none of its text."""
    path = tmp_path / "work" / "flat.txt"
    model.on("flat work", [[delegate("flat child")], [Say("parent done")]])
    model.on("flat child", [[Say("child text"), write(path)], [Say("child result")]], subagent=True)
    session = agent.new_session(tmp_path / "work")
    assert agent.answer(agent.prompt(session, "flat work"))["result"]["stopReason"] == "end_turn"
    assert agent.text() == "parent done"
    launch, inner = agent.updates("tool_call")
    assert inner["_meta"]["claudeCode"] == {"toolName": "Write", "parentToolUseId": launch["toolCallId"]}
    assert path.exists()
    assert agent.open_calls() == []
    assert children(agent.seen) == []
