"""One whole conversation through the real program and the real Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acpbridge.testing import Say, ScriptedModel, Think, UseTool, Wait
from tests.stdio.agent_process import AgentProcess


def test_a_whole_conversation(model: ScriptedModel, tmp_path: Path) -> None:
    """Prompt, thought, text, an edit allowed, an edit rejected, a cancel in mid-text, a second prompt, close: each as
    ACP says, every message legal, and no process left."""
    gate = model.gate()
    allowed, rejected = tmp_path / "work" / "allowed.txt", tmp_path / "work" / "rejected.txt"
    model.on("think first", [[Think("let me see"), Say("I thought about it.")]])
    model.on("please write", [[Say("Writing."), _write(allowed)], [Say("Written.")]])
    model.on("write that too", [[_write(rejected)], [Say("Then not.")]])
    model.on("tell me a story", [[Say("Once upon a time"), Wait(gate), Say("THE END")]])
    model.on("and now", [[Say("Something short.")]])

    with AgentProcess(model, tmp_path / "home") as agent:
        initialized = agent.initialize()["result"]
        assert (initialized["protocolVersion"], initialized["agentInfo"]["name"]) == (1, "acpbridge")
        session = agent.new_session(tmp_path / "work")

        answer = agent.answer(agent.prompt(session, "think first"))["result"]
        assert answer["stopReason"] == "end_turn"
        assert answer["usage"]["totalTokens"] == answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"] > 0
        assert agent.text(kind="agent_thought_chunk") == "let me see"
        assert agent.text() == "I thought about it."
        assert {update["messageId"] for update in agent.updates("agent_message_chunk", "agent_thought_chunk")}

        assert agent.answer(agent.prompt(session, "please write"))["result"]["stopReason"] == "end_turn"
        assert allowed.read_text() == "content\n"
        assert _statuses(agent) == ["completed"]

        agent.choose = lambda request: "reject"
        assert agent.answer(agent.prompt(session, "write that too"))["result"]["stopReason"] == "end_turn"
        assert not rejected.exists()
        assert _statuses(agent) == ["completed", "failed"]
        assert agent.text().endswith("Written.Then not.")

        story = agent.prompt(session, "tell me a story")
        agent.chunk("Once upon a time")
        agent.cancel(session)
        assert agent.answer(story)["result"]["stopReason"] == "cancelled"
        told = len(agent.seen)
        gate.open()

        assert agent.answer(agent.prompt(session, "and now"))["result"]["stopReason"] == "end_turn"
        assert agent.text(agent.seen[told:]) == "Something short."
        assert "THE END" not in agent.text()
        assert "interrupted" not in agent.text()

        assert agent.answer(agent.request("session/close", {"sessionId": session}))["result"] == {}
        assert agent.claude_processes() == []
        assert agent.judge.unanswered() == []


def test_permission_request(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A call is announced once, before the permission that is asked for it, which offers allow once, always where
    Claude Code suggests it, and reject; what is chosen always is not asked again."""
    work = tmp_path / "work"
    model.on("twice", [[_write(work / "a")], [_write(work / "b")], [Say("both")]])
    session = agent.new_session(work)
    agent.choose = lambda request: "allow-with-updates"
    agent.answer(agent.prompt(session, "twice"))

    told = agent.told()
    assert sum(line.startswith("session/request_permission") for line in told) == 1
    request = agent.permission()["params"]
    assert [option["kind"] for option in request["options"]] == ["allow_once", "allow_always", "reject_once"]
    call = request["toolCall"]["toolCallId"]
    announced = next(index for index, line in enumerate(told) if line.startswith(f"tool_call {call}"))
    asked = next(index for index, line in enumerate(told) if line.startswith("session/request_permission"))
    assert announced < asked
    assert len({update["toolCallId"] for update in agent.updates("tool_call")}) == len(agent.updates("tool_call")) == 2
    assert agent.open_calls() == []


def test_each_text_is_shown_once(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """What was streamed is not repeated by the complete message, block by block."""
    model.on("two blocks", [[Think("a"), Say("one "), Think("b"), Say("two")]])
    agent.answer(agent.prompt(agent.new_session(tmp_path / "work"), "two blocks"))
    assert agent.text() == "one two"
    assert agent.text(kind="agent_thought_chunk") == "ab"


def test_prompt_with_every_block(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """Text, image, resource and resource link reach the model; audio is refused by name."""
    session = agent.new_session(tmp_path / "work")
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "look at these"},
        {"type": "resource_link", "uri": "file:///somewhere/notes.md", "name": "notes.md"},
        {
            "type": "resource",
            "resource": {"uri": "file:///else/data.txt", "text": "THE DATA", "mimeType": "text/plain"},
        },
        {"type": "image", "data": pixel, "mimeType": "image/png"},
    ]
    answer = agent.answer(agent.request("session/prompt", {"sessionId": session, "prompt": blocks}))
    assert answer["result"]["stopReason"] == "end_turn"
    asked = model.wait_for_request(lambda request: "look at these" in request.prompt and request.kind == "main")
    sent = str(asked.body["messages"])
    assert "[@notes.md](file:///somewhere/notes.md)" in sent
    assert "THE DATA" in sent
    assert "image/png" in sent

    refused = agent.answer(
        agent.request(
            "session/prompt",
            {"sessionId": session, "prompt": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]},
        )
    )
    assert refused["error"]["code"] == -32602
    assert "audio" in refused["error"]["message"]


def _write(path: Path) -> UseTool:
    return UseTool("Write", {"file_path": str(path), "content": "content\n"})


def _statuses(agent: AgentProcess) -> list[str]:
    """How the calls ended, in order."""
    ended = [update["status"] for update in agent.updates("tool_call_update") if update.get("status")]
    return [status for status in ended if status in ("completed", "failed")]
