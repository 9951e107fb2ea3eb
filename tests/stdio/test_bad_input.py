"""Bad input through the real program: a clear error or a log line, nothing lost, the process alive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel
from tests.stdio.agent_process import AgentProcess


@pytest.fixture
def rude(model: ScriptedModel, tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent that was not initialized, and whose client may say what is illegal."""
    with AgentProcess(model, tmp_path / "home", judged=False) as agent:
        yield agent


def _error(agent: AgentProcess, count: int = 1) -> dict[str, Any]:
    """The `count`th error with no request's id."""

    def errors(seen: Any) -> list[dict[str, Any]] | None:
        found = [item.message for item in seen if "error" in item.message and item.message.get("id") is None]
        return found if len(found) >= count else None

    found: list[dict[str, Any]] = agent.wait_for(errors, "an error without an id")
    error: dict[str, Any] = found[count - 1]["error"]
    return error


def test_broken_lines_are_answered_and_the_connection_goes_on(rude: AgentProcess) -> None:
    """Broken JSON is -32700, an array and a non-request are -32600, each with id null; blank lines are ignored."""
    rude.write(b'{"jsonrpc": "2.0", "id": 1, "method\n')
    assert _error(rude, 1)["code"] == -32700
    rude.write(b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]\n')
    assert _error(rude, 2)["code"] == -32600
    rude.write(b'{"some": "object"}\n\n\r\n')
    assert _error(rude, 3)["code"] == -32600
    assert rude.initialize()["result"]["protocolVersion"] == 1


def test_a_line_of_33_megabytes(rude: AgentProcess) -> None:
    """A line above 32 MiB is -32600 and skipped; the connection goes on."""
    rude.write(b'{"jsonrpc":"2.0","id":7,"method":"x","params":"' + b"a" * (33 * 1024 * 1024) + b'"}\n')
    error = _error(rude)
    assert error["code"] == -32600
    assert "33554432" in error["message"]
    assert rude.initialize()["result"]["protocolVersion"] == 1


def test_half_a_line_and_the_end(model: ScriptedModel, tmp_path: Path) -> None:
    """Half a line before EOF is answered as broken, and the program ends by itself."""
    agent = AgentProcess(model, tmp_path / "home", judged=False)
    agent.initialize()
    agent.write(b'{"jsonrpc":"2.0","id":9,"meth')
    assert agent.close() == 0
    assert _error(agent)["code"] == -32700


def test_before_initialize(rude: AgentProcess) -> None:
    """A request before `initialize` is -32600 and says so; a prompt too."""
    answer = rude.answer(rude.request("session/new", {"cwd": "/", "mcpServers": []}))
    assert (answer["error"]["code"], answer["error"]["data"]) == (-32600, "first ACP request must be initialize")
    answer = rude.answer(rude.prompt("nobody", "hello"))
    assert answer["error"]["code"] == -32600
    assert rude.initialize()["result"]["protocolVersion"] == 1


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (2, 1), (99, 1), ("1", 1), ("2", 1)])
def test_protocol_version(asked: object, given: int, rude: AgentProcess) -> None:
    """A client that asks for a higher version, or in text, gets 1."""
    answer = rude.answer(rude.request("initialize", {"protocolVersion": asked, "clientCapabilities": {}}))
    assert answer["result"]["protocolVersion"] == given


def test_bad_requests_name_what_is_wrong(rude: AgentProcess, tmp_path: Path) -> None:
    """-32601 names the method, -32602 the path of what is wrong, -32002 the session id; all of them leave it alive."""
    rude.initialize()
    answer = rude.answer(rude.request("no/such", {}))
    assert answer["error"]["message"] == '"Method not found": no/such'
    answer = rude.answer(rude.request("session/load", {"sessionId": "x", "cwd": "/", "mcpServers": []}))
    assert (answer["error"]["code"], answer["error"]["data"]) == (-32002, {"sessionId": "x"})
    answer = rude.answer(rude.request("session/new", {"cwd": 5, "mcpServers": []}))
    assert answer["error"]["code"] == -32602
    assert "cwd" in answer["error"]["message"]
    answer = rude.answer(rude.request("session/new", {"cwd": "relative", "mcpServers": []}))
    assert (answer["error"]["code"], "absolute path" in answer["error"]["message"]) == (-32602, True)
    answer = rude.answer(rude.request("session/new", {"cwd": str(tmp_path / "not there"), "mcpServers": []}))
    assert (answer["error"]["code"], "does not exist" in answer["error"]["message"]) == (-32602, True)
    answer = rude.answer(rude.prompt("unknown-session", "hello"))
    assert (answer["error"]["code"], answer["error"]["data"]) == (-32002, {"sessionId": "unknown-session"})
    answer = rude.answer(rude.request("authenticate", {"methodId": "magic"}))
    assert (answer["error"]["code"], "magic" in answer["error"]["message"]) == (-32602, True)
    assert rude.answer(rude.request("session/close", {"sessionId": "unknown-session"}))["result"] == {}


def test_bad_prompts(rude: AgentProcess, tmp_path: Path) -> None:
    """An unknown block type is -32602 with its path; a prompt that is a bare string is taken as text; the session
    lives on."""
    rude.initialize()
    session = rude.new_session(tmp_path / "work")
    answer = rude.answer(rude.request("session/prompt", {"sessionId": session, "prompt": [{"type": "hologram"}]}))
    assert answer["error"]["code"] == -32602
    assert "prompt[0]" in answer["error"]["message"]
    answer = rude.answer(rude.request("session/prompt", {"sessionId": session, "prompt": "just text"}))
    assert answer["result"]["stopReason"] == "end_turn"
    assert rude.text() == "echo: just text"


def test_answers_that_nobody_waits_for(rude: AgentProcess) -> None:
    """A response to a request that was never made, an error answer to a notification, an unknown notification and a
    cancel of nothing are ignored."""
    rude.initialize()
    rude.send({"id": 4711, "result": {}})
    rude.send({"id": None, "error": {"code": -32601, "message": "Method not found"}})
    rude.send({"method": "no/such/notification", "params": {}})
    rude.send({"method": "session/cancel", "params": {"sessionId": "unknown"}})
    rude.send({"method": "session/cancel", "params": {"sessionId": 5}})
    rude.send({"method": "$/cancel_request", "params": {"requestId": 4711}})
    assert rude.answer(rude.request("no/such", {}))["error"]["code"] == -32601
    assert [line for line in rude.told() if "error" in line.lower() and "answer None" in line] == []


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {"outcome": "allow_once"}},
        {"result": {"outcome": {"optionId": "x", "optionKind": "y"}}},
        {"result": {"outcome": {"outcome": "selected", "optionId": "never-offered"}}},
        {"error": {"code": -32603, "message": "the editor broke"}},
        {"result": {"outcome": {"outcome": "cancelled"}}},
    ],
    ids=["bare string", "no outcome", "not offered", "error", "cancelled"],
)
def test_bad_permission_answers(
    reply: dict[str, Any], rude: AgentProcess, model: ScriptedModel, tmp_path: Path
) -> None:
    """A malformed or failed answer to a permission request fails that tool only; the turn ends normally."""
    from acpbridge.testing import UseTool

    target = tmp_path / "work" / "a.txt"
    model.on(
        f"bad answer {tmp_path}", [[UseTool("Write", {"file_path": str(target), "content": "x"})], [Say("went on")]]
    )
    rude.initialize()
    rude.choose = None
    prompt = rude.prompt(rude.new_session(tmp_path / "work"), f"bad answer {tmp_path}")
    rude.send({"id": rude.permission()["id"], **reply})
    assert rude.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert rude.text() == "went on"
    assert [update["status"] for update in rude.updates("tool_call_update") if update.get("status")] == ["failed"]
    assert not target.exists()


def test_a_client_that_stops_reading(model: ScriptedModel, tmp_path: Path) -> None:
    """A client that does not read slows Claude Code down: nothing is lost when it reads again."""
    text = "".join(f"<{number}>" for number in range(4_000))
    model.on("a long one", [[Say(text, each=6)]])
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize()
        session = agent.new_session(tmp_path / "work")
        held = agent.hold_reading()
        prompt = agent.prompt(session, "a long one")
        model.wait_for_request(lambda request: request.prompt == "a long one" and request.outcome != "open")
        held.set()
        assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
        assert agent.text() == text


def test_json_that_is_legal_and_odd(rude: AgentProcess, tmp_path: Path) -> None:
    """Escaped newlines, lone surrogates and control characters in a prompt come back as legal JSON."""
    rude.initialize()
    session = rude.new_session(tmp_path / "work")
    odd = "a\\u2028b\\u0000c\\ud83dd\\n{}"
    params = '{"sessionId":' + json.dumps(session) + ',"prompt":[{"type":"text","text":"' + odd + '"}]}'
    rude.expect("odd")
    rude.write(b'{"jsonrpc":"2.0","id":"odd","method":"session/prompt","params":' + params.encode() + b"}\n")
    answered = rude.wait_for(lambda seen: [item.message for item in seen if item.message.get("id") == "odd"])
    assert answered[0]["result"]["stopReason"] == "end_turn"
    assert "b" in rude.text()
