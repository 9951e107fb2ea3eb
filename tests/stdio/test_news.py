"""What is told beside text and tools, through the real program and the real Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess

MEMORY = """\
---
name: deploy-notes
description: how the whale service is deployed
type: project
---
Deploy with make whale.
"""


def test_recalled_memories(tmp_path: Path) -> None:
    """Memories that Claude Code puts before the model are one call that is over at once, and nothing is said of them.

    It recalls some only where memory stores are set up (CLAUDE_MEMORY_STORES), and in a turn with a tool.
    """
    memories = tmp_path / "memories"
    memories.mkdir()
    (memories / "deploy.md").write_text(MEMORY, encoding="utf-8")
    environment = {"CLAUDE_MEMORY_STORES": json.dumps([str(tmp_path / "stores")])}
    settings = {"autoMemoryDirectory": str(memories)}
    with (
        ScriptedModel() as model,
        AgentProcess(model, tmp_path / "home", settings=settings, environment=environment) as agent,
    ):
        gate = model.gate()
        model.on_side("recall", [Say(json.dumps({"selected_memories": ["deploy.md"]}))])
        tool = UseTool("Bash", {"command": "echo hi"})  # memories are put in behind a tool, as soon as they are chosen
        model.on("deploy the whale", [[Wait(gate), tool], [tool], [tool], [Say("Deployed.")]])
        agent.initialize()
        prompt = agent.prompt(agent.new_session(tmp_path / "work"), "please deploy the whale service")
        model.wait_for_request(lambda request: request.kind == "recall" and request.outcome == "answered")
        gate.open()
        assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
        calls = agent.updates("tool_call")
        [recalled] = [call for call in calls if call["_meta"]["claudeCode"]["toolName"] == "memory_recall"]
        assert recalled.pop("toolCallId")
        assert recalled == {
            "sessionUpdate": "tool_call",
            "status": "completed",
            "title": "Recalled 1 memory",
            "kind": "read",
            "locations": [{"path": str((memories / "deploy.md").resolve())}],
            "_meta": {"claudeCode": {"toolName": "memory_recall", "toolResponse": {"mode": "select"}}},
        }
        assert agent.text() == "Deployed."
        assert "make whale" in str(model.requests[-1].body["messages"])
