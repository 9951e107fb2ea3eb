"""The scripted model under the real Claude Code: its requests are as was read off, and it takes the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acpbridge.testing import Cut, Fail, FailInStream, Say, ScriptedModel, Stop, Think, UseTool, Wait
from tests.testing.claude_process import ClaudeProcess, is_text_delta


def rounds(model: ScriptedModel, kind: str = "main") -> list[tuple[str, int]]:
    return [(request.prompt, request.round) for request in model.requests if request.kind == kind]


def asks_permission(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "control_request" and message["request"]["subtype"] == "can_use_tool")


def test_text_and_thinking_stream(tmp_path: Path) -> None:
    """Claude Code passes every delta on, 5,000 of 5,000, and its result is the text."""
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path) as claude:
        model.on("think", [[Think("let me see", each=4), Say.pieces(["Hello ", "there"])]])
        assert claude.ask("think and answer")["result"] == "Hello there"
        assert claude.deltas("thinking_delta", "thinking") == ["let ", "me s", "ee"]
        assert claude.deltas("text_delta", "text") == ["Hello ", "there"]
        model.on("long", [[Say("0123456789" * 500, each=1)]])
        claude.ask("long")
        assert "".join(claude.deltas("text_delta", "text")[2:]) == "0123456789" * 500
        assert len(claude.deltas("text_delta", "text")) == 5002
        assert claude.ask("no script")["result"] == "echo: no script"


def test_a_tool_call_makes_a_round_trip(tmp_path: Path) -> None:
    """A tool runs with the scripted input, and the next request is for the next round; a directive does the same."""
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path, mode="bypassPermissions") as claude:
        model.on("write", [[Say("I write."), UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("done")]])
        assert claude.ask("write it")["result"] == "done"
        assert (claude.cwd / "a").read_text() == "A"
        written = [[{"tool": "Write", "input": {"file_path": "$CWD/b", "content": "B"}}], [{"text": "written"}]]
        prompt = f"go [[do: {json.dumps(written)}]]"
        assert claude.ask(prompt)["result"] == "written"
        assert (claude.cwd / "b").read_text() == "B"
    assert rounds(model) == [("write it", 0), ("write it", 1), (prompt, 0), (prompt, 1)]


def test_errors_are_retried_and_reported(tmp_path: Path) -> None:
    """Claude Code tries again as often as it may, reports what stays, and the next prompt is a new one."""
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path, max_retries=1) as claude:
        model.on("once", [[Fail(529, times=1), Say("recovered")]])
        assert claude.ask("once")["result"] == "recovered"
        assert [m["error_status"] for m in claude.seen if m.get("subtype") == "api_retry"] == [529]
        model.on("always", [[Fail(529)]])
        failed = claude.ask("always")
        assert failed["is_error"]
        assert failed["result"].startswith("API Error: 529")
        assert claude.ask("next")["result"] == "echo: next"
    assert [r.attempt for r in model.requests if r.prompt == "always"] == [1, 2]


def test_broken_streams_are_asked_for_again(tmp_path: Path) -> None:
    """After an error event or a connection reset in mid-stream Claude Code asks again, without a stream."""
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path) as claude:
        model.on("overload", [[Say("part, "), FailInStream(times=1), Say("rest")]])
        assert claude.ask("overload")["result"] == "part, rest"
        gate = model.gate()
        model.on("reset", [[Say("piece, "), Wait(gate), Cut(times=1), Say("rest")]])
        claude.say("reset")
        claude.wait(is_text_delta)
        gate.open()
        assert claude.result()["result"] == "piece, rest"
    assert [(r.prompt, r.streaming, r.outcome) for r in model.requests] == [
        ("overload", True, "failed"),
        ("overload", False, "answered"),
        ("reset", True, "cut"),
        ("reset", False, "answered"),
    ]


def test_an_interrupt_is_a_client_that_goes_away(tmp_path: Path) -> None:
    """An interrupt ends an answer at a closed gate, in mid-text and before the first event."""
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path) as claude:
        model.on("middle", [[Say("part"), Wait(model.gate("middle")), Say("never")]])
        claude.say("middle")
        claude.wait(is_text_delta)
        claude.control(subtype="interrupt")
        assert claude.result()["subtype"] == "error_during_execution"
        assert model.wait_for_request(lambda r: r.client_gone).status == 200

        before = model.gate("before")
        model.on("early", [[Wait(before), Say("never")]])
        claude.say("early")
        before.wait_reached()
        claude.control(subtype="interrupt")
        assert claude.result()["subtype"] == "error_during_execution"
        assert model.wait_for_request(lambda r: r.client_gone and r.prompt == "early").status is None

        assert claude.ask("next")["result"] == "echo: next"
        assert not before.is_open
    assert rounds(model) == [("middle", 0), ("early", 0), ("next", 0)]


def test_a_prompt_folded_into_the_turn_has_its_own_script(tmp_path: Path) -> None:
    """A prompt that was queued while a tool waited for permission is answered after the tool, in the same turn."""
    flags = ["--permission-prompt-tool", "stdio"]
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path, flags=flags) as claude:
        model.on("write", [[UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("never")]])
        model.on("queued", [[Say("two lines")]])
        claude.say("write")
        permission = claude.wait(asks_permission)
        claude.say("queued\nprompt")
        claude.allow(permission)
        assert claude.result()["result"] == "two lines"
        assert (claude.cwd / "a").read_text() == "A"
    assert rounds(model) == [("write", 0), ("queued\nprompt", 0)]


def test_a_subagent_has_its_own_script(tmp_path: Path) -> None:
    """A subagent's requests are told apart, and answered by the script of its prompt, twice the same prompt too."""
    launch = UseTool(
        "Agent",
        {"description": "d", "prompt": "look", "subagent_type": "general-purpose", "run_in_background": False},
    )
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path, mode="bypassPermissions", max_retries=1) as claude:
        write = UseTool("Write", {"file_path": "$CWD/s", "content": "S"})
        model.on("look", [[Fail(529, times=1), write], [Say("ok")]], subagent=True)
        model.on("delegate", [[launch], [launch], [Say("done")]])
        assert claude.ask("delegate")["result"] == "done"
        assert (claude.cwd / "s").read_text() == "S"
    assert rounds(model) == [("delegate", 0), ("delegate", 1), ("delegate", 2)]
    assert rounds(model, "subagent") == [("look", 0), ("look", 0), ("look", 1)] * 2


def test_claude_codes_own_messages_are_not_prompts(tmp_path: Path) -> None:
    """A task notification, and the request to go on after max_tokens, ask for the next round of the same prompt."""
    command = "until [ -e go ]; do sleep 0.02; done; echo finished"
    with ScriptedModel() as model, ClaudeProcess(model, tmp_path, mode="bypassPermissions") as claude:
        shell = UseTool("Bash", {"command": command, "run_in_background": True})
        model.on("background", [[shell], [Say("started")], [Say("it finished")]])
        assert claude.ask("background")["result"] == "started"
        (claude.cwd / "go").touch()
        assert claude.result()["result"] == "it finished"
        model.on("limit", [[Say("cut "), Stop("max_tokens")], [Say("off")]])
        assert claude.ask("limit")["result"] == "off"
    assert rounds(model) == [*(("background", n) for n in range(3)), *(("limit", n) for n in range(2))]


def test_side_requests_are_told_apart(tmp_path: Path) -> None:
    """Suggestions, titles and compaction are recognised, and the prompt after a compaction is the person's."""
    with ScriptedModel(title="My title") as model, ClaudeProcess(model, tmp_path) as claude:
        model.on_side("suggestion", [Say("run the tests")])
        claude.control(subtype="initialize", promptSuggestions=True)
        for prompt in ("one", "two"):
            claude.ask(prompt)
        suggestion = claude.wait(lambda m: m["type"] == "prompt_suggestion")
        assert suggestion["suggestion"] == "run the tests"
        description = "Please refactor the parser of the configuration files"
        answer = claude.control(subtype="generate_session_title", description=description, persist=False)
        assert answer == {"title": "My title"}
        assert not claude.ask("/compact")["is_error"]
        assert claude.ask("three")["result"] == "echo: three"
        kinds = {request.kind for request in model.requests}
    assert kinds >= {"main", "suggestion", "title", "compact"}
    assert rounds(model) == [("one", 0), ("two", 0), ("three", 0)]
