"""A Claude Code that dies: its prompt fails in words, and the session goes on with the next one."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Message
from tests.stdio.talk import asked


@pytest.fixture
def agent(shared: AgentProcess) -> AgentProcess:
    return shared


def test_killed_between_turns(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Killed while nothing runs: the next prompt starts it again, in the same conversation, with the same choices."""
    session = agent.new_session(home / "between")
    agent.answer(agent.prompt(session, "remember me"))
    agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"}))
    _set(agent, session, "model", "sonnet")
    _set(agent, session, "effort", "high")
    begun = len(agent.seen)
    _kill(agent, session)
    _works(agent, session, "are you there")
    request = model.wait_for_request(lambda request: "are you there" in request.prompt and request.kind == "main")
    assert "remember me" in str(request.body["messages"])
    assert request.body["model"] == "claude-sonnet-5-5"
    assert request.body["output_config"]["effort"] == "high"
    assert "Plan mode is active" in str(request.body["messages"])
    kinds = [seen.update.get("sessionUpdate") for seen in agent.seen[begun:]]
    assert "config_option_update" not in kinds
    assert "current_mode_update" not in kinds


def test_killed_during_a_turn(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Killed in mid-turn: the prompt fails with the exit code, its open call is closed before, and the next works."""
    session = agent.new_session(home / "during")
    agent.answer(agent.prompt(session, "first of all"))
    gate = model.gate()
    model.on("tell me all", [[Say("It began"), Wait(gate), Say("THE END")]])
    prompt = agent.prompt(session, "tell me all")
    agent.chunk("It began")
    _kill(agent, session)
    error = agent.answer(prompt)["error"]
    gate.open()
    assert error["code"] == -32603
    assert "exit code -9" in error["message"]
    assert error["data"]["exitCode"] == -9
    assert agent.open_calls() == []
    _works(agent, session, "and from there")
    assert "first of all" in asked(model, "and from there")


def test_killed_with_a_permission_open(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Killed while a permission is asked for: the ask is taken back, the call fails, the next prompt works."""
    session = agent.new_session(home / "asked")
    target = home / "asked" / "never.txt"
    model.on("write it", [[UseTool("Write", {"file_path": str(target), "content": "x"})], [Say("written")]])
    agent.choose = None
    prompt = agent.prompt(session, "write it")
    request = agent.permission()
    _kill(agent, session)
    assert agent.answer(prompt)["error"]["code"] == -32603
    withdrawn = [seen.message for seen in agent.seen if seen.message.get("method") == "$/cancel_request"]
    assert [message["params"]["requestId"] for message in withdrawn] == [request["id"]]
    assert agent.open_calls() == []
    assert not target.exists()
    agent.choose = lambda request: "allow-once"
    _works(agent, session, "never mind")


def test_killed_in_the_first_turn(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Killed before anything of the conversation is on the disk: the next prompt begins it."""
    session = agent.new_session(home / "first")
    gate = model.gate()
    model.on("never answered", [[Say("Hardly"), Wait(gate), Say(" more")]])
    prompt = agent.prompt(session, "never answered")
    agent.chunk("Hardly")
    _kill(agent, session)
    assert agent.answer(prompt)["error"]["code"] == -32603
    gate.open()
    _works(agent, session, "then this")


def test_killed_before_the_first_prompt(agent: AgentProcess, home: Path) -> None:
    """A session without a conversation is started again too, under its own id."""
    session = agent.new_session(home / "early")
    _kill(agent, session)
    _works(agent, session, "first words")
    listed = agent.answer(agent.request("session/list", {"cwd": str(home / "early")}))["result"]["sessions"]
    assert [row["sessionId"] for row in listed] == [session]


def test_killed_twice(agent: AgentProcess, home: Path) -> None:
    """It may die as often as it likes."""
    session = agent.new_session(home / "twice")
    for count in range(2):
        _works(agent, session, f"number {count}")
        _kill(agent, session)
    assert agent.answer(agent.request("session/close", {"sessionId": session}))["result"] == {}


def _works(agent: AgentProcess, session: str, prompt: str) -> None:
    answer = agent.answer(agent.prompt(session, prompt))
    assert answer.get("result", answer).get("stopReason") == "end_turn", f"{answer}\n{agent.log()[-3000:]}"


def _set(agent: AgentProcess, session: str, name: str, value: str) -> Message:
    params = {"sessionId": session, "configId": name, "value": value}
    return agent.answer(agent.request("session/set_config_option", params))


def _kill(agent: AgentProcess, session: str) -> None:
    """Kill the session's Claude Code: the one that was started last."""
    claude = max((p for p in agent.claude_processes() if p.ppid() == agent.process.pid), key=_started)
    claude.kill()
    claude.wait(10)


def _started(process: psutil.Process) -> tuple[float, int]:
    return process.create_time(), process.pid
