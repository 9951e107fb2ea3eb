"""How the program ends: in every state it answers what it owes, exits by itself, and leaves no process behind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import TIMEOUT, AgentProcess, wait_for_file

State = Callable[[AgentProcess, ScriptedModel, Path], int | None]


def starting(agent: AgentProcess, model: ScriptedModel, work: Path) -> int | None:
    """A session is being opened."""
    work.mkdir()
    agent.request("session/new", {"cwd": str(work), "mcpServers": []})
    return None


def idle(agent: AgentProcess, model: ScriptedModel, work: Path) -> int | None:
    """Nothing runs."""
    agent.new_session(work)
    return None


def streaming(agent: AgentProcess, model: ScriptedModel, work: Path) -> int | None:
    """The answer streams."""
    model.on(f"stream {work}", [[Say("streaming"), Wait(model.gate())]])
    prompt = agent.prompt(agent.new_session(work), f"stream {work}")
    agent.chunk("streaming")
    return prompt


def asking(agent: AgentProcess, model: ScriptedModel, work: Path) -> int | None:
    """A permission is asked for, and nobody answers."""
    agent.choose = None
    step = UseTool("Write", {"file_path": str(work / "a"), "content": "x"})
    model.on(f"ask {work}", [[step], [Say("no")]])
    prompt = agent.prompt(agent.new_session(work), f"ask {work}")
    agent.permission()
    return prompt


def running_a_command(agent: AgentProcess, model: ScriptedModel, work: Path) -> int | None:
    """A command runs."""
    model.on(f"run {work}", [[UseTool("Bash", {"command": "touch up && tail -f /dev/null"})], [Say("no")]])
    prompt = agent.prompt(agent.new_session(work), f"run {work}")
    agent.permission()
    wait_for_file(work / "up")
    return prompt


STATES: list[State] = [starting, idle, streaming, asking, running_a_command]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_end_of_input(state: State, model: ScriptedModel, tmp_path: Path) -> None:
    """When its stdin is closed the program exits with 0 and nothing that it started is left."""
    agent = AgentProcess(model, tmp_path / "home")
    agent.initialize()
    state(agent, model, tmp_path / "work")
    assert agent.close() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", None)])
def test_signal(number: signal.Signals, model: ScriptedModel, tmp_path: Path) -> None:
    """A signal ends it as the end of its input does: the prompt is answered `cancelled`, then it exits with 0."""
    agent = AgentProcess(model, tmp_path / "home")
    agent.initialize()
    prompt = streaming(agent, model, tmp_path / "work")
    children = agent.claude_processes()
    assert children
    assert prompt is not None
    agent.process.send_signal(number)
    assert agent.process.wait(TIMEOUT) == 0
    agent.finish()
    assert agent.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert psutil.wait_procs(children, timeout=TIMEOUT)[1] == []


def test_killed(model: ScriptedModel, tmp_path: Path) -> None:
    """A program that is killed takes its Claude Code with it: that one reads the end of its stdin."""
    agent = AgentProcess(model, tmp_path / "home")
    agent.initialize()
    streaming(agent, model, tmp_path / "work")
    children = agent.claude_processes()
    assert children
    agent.process.kill()
    agent.process.wait(TIMEOUT)
    agent.finish()
    assert psutil.wait_procs(children, timeout=TIMEOUT)[1] == []


def test_claude_code_dies(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """When Claude Code dies in a turn its prompt is an error that says how, its call is closed, the next prompt starts
    it anew, and another session works."""
    prompt = asking(agent, model, tmp_path / "work")
    assert prompt is not None
    for child in agent.claude_processes():
        child.kill()
    error = agent.answer(prompt)["error"]
    assert error["code"] == -32603
    assert "ended unexpectedly" in error["message"]
    assert agent.open_calls() == []
    session: str = agent.permission()["params"]["sessionId"]
    assert agent.answer(agent.prompt(session, "still there?"))["result"]["stopReason"] == "end_turn"
    assert agent.text() == "echo: still there?"
    assert agent.answer(agent.prompt(agent.new_session(tmp_path / "other"), "hello"))["result"]
    assert agent.text() == "echo: still there?echo: hello"


def test_close_in_a_turn(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A session that is closed in a turn answers its prompt `cancelled`, then the close; later prompts are -32002."""
    model.on("close me", [[Say("talking"), Wait(model.gate())]])
    session = agent.new_session(tmp_path / "work")
    prompt = agent.prompt(session, "close me")
    agent.chunk("talking")
    close = agent.request("session/close", {"sessionId": session})
    assert agent.answer(close)["result"] == {}
    assert agent.answer(prompt)["result"]["stopReason"] == "cancelled"
    order = [item.message.get("id") for item in agent.seen if "method" not in item.message]
    assert order.index(prompt) < order.index(close)
    assert agent.answer(agent.prompt(session, "again"))["error"]["code"] == -32002
    assert agent.claude_processes() == []


def test_a_missing_claude_code(model: ScriptedModel, tmp_path: Path) -> None:
    """A Claude Code that cannot be started is an error of `session/new` that says so."""
    missing = {"CLAUDE_CODE_EXECUTABLE": str(tmp_path / "no-claude")}
    with AgentProcess(model, tmp_path / "home", environment=missing) as agent:
        agent.initialize()
        (tmp_path / "work").mkdir()
        answer = agent.answer(agent.request("session/new", {"cwd": str(tmp_path / "work"), "mcpServers": []}))
        assert answer["error"]["code"] == -32603
        assert "could not be started" in answer["error"]["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no executable there")
def test_why_claude_code_did_not_start_is_told(model: ScriptedModel, tmp_path: Path) -> None:
    """What a Claude Code that ends at once wrote to stderr stands in the error of `session/new`."""
    executable = tmp_path / "claude"
    executable.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('the real reason')\n")
    executable.chmod(0o755)
    with AgentProcess(model, tmp_path / "home", environment={"CLAUDE_CODE_EXECUTABLE": str(executable)}) as agent:
        agent.initialize()
        (tmp_path / "work").mkdir()
        answer = agent.answer(agent.request("session/new", {"cwd": str(tmp_path / "work"), "mcpServers": []}))
    assert "the real reason" in answer["error"]["message"]
