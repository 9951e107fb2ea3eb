"""How Claude Code's tools are shown, in the real program with the real Claude Code."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel, Usage, UseTool
from tests.stdio.agent_process import AgentProcess, Message
from tests.stdio.talk import Talk

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

OUTPUTS = {"CLAUDE_CODE_ENABLE_TASKS": "0", "MAX_MCP_OUTPUT_TOKENS": "100000000"}
"""TodoWrite in place of Task*, where the model has one of them; and results of any size."""


@pytest.fixture(scope="module")
def plain(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client shows text."""
    with AgentProcess(model, tmp_path_factory.mktemp("plain") / "home", environment=OUTPUTS) as agent:
        agent.initialize()
        yield agent


@pytest.fixture(scope="module")
def terminal(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client shows terminals."""
    with AgentProcess(model, tmp_path_factory.mktemp("terminal") / "home") as agent:
        agent.initialize({"_meta": {"terminal_output": True}})
        yield agent


@pytest.fixture
def talk(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> Iterator[Talk]:
    plain.choose = lambda request: "allow-once"
    talk = Talk(plain, model, tmp_path / "work")
    yield talk
    talk.close()


@pytest.fixture
def terminals(terminal: AgentProcess, model: ScriptedModel, tmp_path: Path) -> Iterator[Talk]:
    talk = Talk(terminal, model, tmp_path / "work")
    yield talk
    talk.close()


def bash(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "what it does"})


def text(call: Message) -> str:
    """The text that a call shows."""
    return "".join(item["content"]["text"] for item in call["content"] if item["type"] == "content")


def metas(talk: Talk, name: str) -> list[Any]:
    """What `_meta` of the tool calls says under this name, in order."""
    updates = talk.updates("tool_call", "tool_call_update")
    return [update["_meta"][name] for update in updates if name in update.get("_meta", {})]


# ------------------------------------------------------------------------------------------------- plans


def test_todos(talk: Talk, model: ScriptedModel, tmp_path: Path) -> None:
    """TodoWrite is a plan and no tool call."""
    options = {"claudeCode": {"options": {"model": "claude-opus-4-5"}}}
    talk = Talk(talk.agent, model, tmp_path / "todos", _meta=options)
    todos = [
        {"content": "look", "activeForm": "looking", "status": "completed"},
        {"content": "build", "activeForm": "building", "status": "in_progress"},
        {"content": "check", "activeForm": "checking", "status": "pending"},
    ]
    talk.run([UseTool("TodoWrite", {"todos": todos})], [Say("noted")])
    entries = [(entry["content"], entry["status"]) for entry in talk.updates("plan")[-1]["entries"]]
    assert entries == [("look", "completed"), ("building", "in_progress"), ("check", "pending")]
    assert talk.calls == []
    talk.close()


def test_tasks(terminals: Talk, model: ScriptedModel, tmp_path: Path) -> None:
    """TaskCreate and TaskUpdate are a plan and no tool calls."""
    options = {"claudeCode": {"options": {"model": "claude-sonnet-4-5"}}}
    talk = Talk(terminals.agent, model, tmp_path / "tasks", _meta=options)
    create = UseTool("TaskCreate", {"subject": "build", "description": "build it"})
    talk.run([create], [UseTool("TaskUpdate", {"taskId": "1", "status": "completed"})], [Say("done")])
    plans = [[(e["content"], e["status"]) for e in update["entries"]] for update in talk.updates("plan")]
    assert (plans[0], plans[-1]) == ([("build", "pending")], [("build", "completed")])
    assert talk.calls == []
    talk.close()


# ------------------------------------------------------------------------------------------------- commands


def test_a_command_as_text(talk: Talk) -> None:
    """For a client without terminals a command's output is text; stderr stands beside stdout."""
    talk.run([bash("echo out; echo err >&2")], [Say("ok")])
    (call,) = talk.calls
    assert (call["kind"], call["title"], call["status"]) == ("execute", "echo out; echo err >&2", "completed")
    assert text(call) == "```console\nout\nerr\n```"
    assert call["rawOutput"]["metadata"]["exit"] == 0
    assert not any(key.startswith("terminal") for update in talk.updates("tool_call") for key in update["_meta"])


def test_a_command_as_a_terminal(terminals: Talk) -> None:
    """For a client with terminals it is one: named in the call, then its output, then its end."""
    terminals.run([bash("echo out")], [Say("ok")])
    (call,) = terminals.calls
    number = call["toolCallId"]
    assert call["content"] == [{"type": "terminal", "terminalId": number}]
    assert metas(terminals, "terminal_info") == [{"terminal_id": number}]
    assert "".join(output["data"] for output in metas(terminals, "terminal_output")).strip() == "out"
    assert metas(terminals, "terminal_exit") == [{"terminal_id": number, "exit_code": 0, "signal": None}]


def test_a_command_that_fails(talk: Talk) -> None:
    """A command that fails is a call that failed, with what it said and its exit code, and the turn goes on."""
    talk.run([bash("echo went wrong >&2; exit 7")], [Say("I see")])
    (call,) = talk.calls
    assert (call["status"], talk.text) == ("failed", "I see")
    assert "went wrong" in text(call)
    assert call["rawOutput"]["metadata"]["exit"] == 7


def test_a_terminal_that_fails(terminals: Talk) -> None:
    """The same with a terminal: its end has the exit code."""
    terminals.run([bash("echo went wrong >&2; exit 7")], [Say("I see")])
    assert terminals.statuses == ["failed"]
    assert "went wrong" in "".join(output["data"] for output in metas(terminals, "terminal_output"))
    assert [end["exit_code"] for end in metas(terminals, "terminal_exit")] == [7]


# ------------------------------------------------------------------------------------------------- files


def test_overwriting_a_file(talk: Talk) -> None:
    """Who is asked to let a file be overwritten sees what is lost: the request has the real old text."""
    talk.work.joinpath("kept.txt").write_text("one\ntwo\nthree\n")
    target = str(talk.work / "kept.txt")
    talk.run(
        [UseTool("Read", {"file_path": target})],
        [UseTool("Write", {"file_path": target, "content": "one\n2\nthree\n"})],
        [Say("written")],
    )
    (asked,) = talk.asks
    (diff,) = asked["params"]["toolCall"]["content"]
    assert (diff["type"], diff["path"]) == ("diff", target)
    assert ("two" in diff["oldText"], "2" in diff["newText"]) == (True, True)
    call = talk.calls[-1]
    assert call["status"] == "completed"
    assert "two" in next(item for item in call["content"] if item["type"] == "diff")["oldText"]
    assert (talk.work / "kept.txt").read_text() == "one\n2\nthree\n"


def test_editing_a_file(talk: Talk) -> None:
    """An edit is a diff at its real line."""
    talk.work.joinpath("code.py").write_text("".join(f"line {number}\n" for number in range(1, 41)))
    target = str(talk.work / "code.py")
    edit = {"file_path": target, "old_string": "line 30\n", "new_string": "line thirty\n"}
    talk.run([UseTool("Read", {"file_path": target})], [UseTool("Edit", edit)], [Say("edited")])
    call = talk.calls[-1]
    assert (call["status"], call["kind"]) == ("completed", "edit")
    (diff,) = [item for item in call["content"] if item["type"] == "diff"]
    assert "line 30" in diff["oldText"]
    assert "line thirty" in diff["newText"]
    assert 27 <= call["locations"][0]["line"] <= 30


def test_an_image(talk: Talk) -> None:
    """An image that is read is shown as an image."""
    (talk.work / "dot.png").write_bytes(base64.b64decode(PIXEL))
    talk.run([UseTool("Read", {"file_path": str(talk.work / "dot.png")})], [Say("a dot")])
    (call,) = talk.calls
    images = [item["content"] for item in call["content"] if item["content"]["type"] == "image"]
    assert [image["mimeType"] for image in images] == ["image/png"]
    assert base64.b64decode(images[0]["data"]).startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------------- size


def test_a_large_result(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A result as large as Claude Code passes one on, 500 kB of text (more it puts into a file), is shown whole."""
    server = {"name": "large", "command": sys.executable, "args": [str(Path(__file__).with_name("large_server.py"))]}
    talk = Talk(plain, model, tmp_path / "large", mcpServers=[{**server, "env": []}])
    plain.choose = lambda request: "allow-once"
    talk.run([UseTool("mcp__large__large", {"size": 480_000})], [Say("that was a lot")])
    (call,) = talk.calls
    assert (call["status"], text(call).count("0123456789abcde\n")) == ("completed", 30_000)
    talk.close()


def test_a_large_file(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A file of 10 MB that is written, and comes back in the tool's result, holds up no other session."""
    talk, other = (Talk(plain, model, tmp_path / name) for name in ("large", "other"))
    target = talk.work / "large.txt"
    write = UseTool("Write", {"file_path": str(target), "content": "0123456789abcde\n" * 640_000}, pieces=20)
    plain.choose = None
    prompt = talk.prompt([Usage(100, 10), write], [Say("that was a lot")])
    asked = talk.asked()
    plain.reply(asked, "allow-once")
    assert other.run([Say("not held up")])["stopReason"] == "end_turn"
    assert talk.result(prompt)["stopReason"] == "end_turn"
    assert (talk.statuses, target.stat().st_size) == (["completed"], 10_240_000)
    assert (talk.text, other.text) == ("that was a lot", "not held up")
    talk.close()
    other.close()
