"""Fast mode, ultracode and the agent, with the real Claude Code: seen in what the model is asked, also after a resume.

Seen with Claude Code 2.1.332: fast mode needs neither an account nor Anthropic's own address, a model that has it is
enough (`speed: fast` in the request); ultracode loads its reference into the conversation; an agent answers with its
own system prompt and tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Message, wait_for_file

POET = "---\nname: poet\ndescription: writes poems\n---\nYou answer in POETRY.\n"
COOK = "---\nname: cook\ndescription: cooks\ntools: Read\n---\nYou answer in RECIPES.\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("switches")


@pytest.fixture(scope="module")
def agent(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    with AgentProcess(model, home / "home") as agent:
        agent.initialize({"session": {"configOptions": {"boolean": {}}}})
        yield agent


def test_fast_mode(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Fast mode is in the model's next request and in those of the session that is taken up again, until it is off."""
    work = home / "fast"
    session = agent.new_session(work)
    assert "speed" not in _asked(agent, model, session, "as ever")
    _set(agent, session, "fast", True)
    assert _asked(agent, model, session, "quickly")["speed"] == "fast"
    assert _current(_resumed(agent, session, work), "fast") is True
    assert _asked(agent, model, session, "quickly again")["speed"] == "fast"
    _set(agent, session, "fast", False)
    assert "speed" not in _asked(agent, model, session, "slowly")
    assert _current(_resumed(agent, session, work), "fast") is False
    assert "speed" not in _asked(agent, model, session, "slowly again")


def test_fast_mode_of_a_model(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A model without fast mode offers none, and one that has it offers it again."""
    session = agent.new_session(home / "slow")
    answer = _set(agent, session, "model", "sonnet")
    assert "fast" not in [option["id"] for option in answer["configOptions"]]
    refused = agent.answer(agent.request("session/set_config_option", _params(session, "fast", True)))
    assert refused["error"]["code"] == -32602
    assert "fast" in [option["id"] for option in _set(agent, session, "model", "opus")["configOptions"]]


def test_fast_mode_is_forbidden(model: ScriptedModel, tmp_path: Path) -> None:
    """Where the environment forbids it, no model offers it."""
    with AgentProcess(model, tmp_path / "home", environment={"CLAUDE_CODE_DISABLE_FAST_MODE": "1"}) as agent:
        agent.initialize()
        answer = agent.answer(agent.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["result"]
        assert "fast" not in [option["id"] for option in answer["configOptions"]]


def test_ultracode(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Ultracode is in the model's next request, survives a resume, and is off again when it is put off."""
    work = home / "ultracode"
    session = agent.new_session(work)
    told = "# Workflow authoring reference"
    assert told not in str(_asked(agent, model, session, "by hand")["messages"])
    _set(agent, session, "ultracode", True)
    assert told in str(_asked(agent, model, session, "with workflows")["messages"])
    assert _current(_resumed(agent, session, work), "ultracode") is True
    _set(agent, session, "ultracode", False)
    assert _current(_resumed(agent, session, work), "ultracode") is False


def test_agent(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """The agent that is chosen answers, with its own prompt and tools, in a conversation that has begun too, and in one
    that is taken up again; "default" is as it was."""
    work = _with_agents(home / "agent")
    session = agent.new_session(work)
    before = _asked(agent, model, session, "who are you")
    for name, prompt in (("poet", "POETRY"), ("cook", "RECIPES")):
        _set(agent, session, "agent", name)
        asked = _asked(agent, model, session, f"and who is the {name}")
        assert prompt in str(asked["system"])
        assert "who are you" in str(asked["messages"])
        assert [tool["name"] for tool in asked["tools"]] == ["Read"] or name == "poet"
        assert _current(_resumed(agent, session, work), "agent") == name
        assert prompt in str(_asked(agent, model, session, f"still the {name}")["system"])
    _set(agent, session, "agent", "default")
    after = _asked(agent, model, session, "back again")
    assert _without_version(after) == _without_version(before)


def test_agent_before_the_first_prompt(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Chosen in a new session, the agent answers the first prompt already, without another Claude Code."""
    session = agent.new_session(_with_agents(home / "early"))
    before = {process.pid for process in agent.claude_processes()}
    _set(agent, session, "agent", "poet")
    assert "POETRY" in str(_asked(agent, model, session, "the first words")["system"])
    assert {process.pid for process in agent.claude_processes()} == before


def test_agent_while_a_turn_runs(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Chosen in mid-turn, the agent answers from the next turn on; the turn that runs ends as it began."""
    session = agent.new_session(_with_agents(home / "running"))
    gate = model.gate()
    model.on("take your time", [[UseTool("Bash", {"command": "true"})], [Say("I do"), Wait(gate), Say(" and did")]])
    prompt = agent.prompt(session, "take your time")
    agent.chunk("I do")
    _set(agent, session, "agent", "poet")
    gate.open()
    assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert "I do and did" in agent.text()
    assert "POETRY" in str(_asked(agent, model, session, "now you")["system"])


def test_agent_spares_the_background(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Work in the background goes on when an agent is chosen, also what the turn that runs begins. The person is told,
    and prompts are answered meanwhile."""
    work = _with_agents(home / "background")
    session = agent.new_session(work)
    gate, done = model.gate(), work / "done"
    wait = f"until [ -e {work / 'go'} ]; do sleep 0.05; done; touch {done}"
    start = UseTool("Bash", {"command": wait, "run_in_background": True})
    model.on("serve me", [[Say("I will"), Wait(gate), start], [Say("It runs.")]])
    prompt = agent.prompt(session, "serve me")
    agent.chunk("I will")
    _set(agent, session, "agent", "poet")
    gate.open()
    assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
    agent.chunk("once the work in the background has ended")
    assert "POETRY" not in str(_asked(agent, model, session, "do you run")["system"])
    (work / "go").touch()
    wait_for_file(done)
    # When Claude Code takes notice of it is its own affair, and a turn that has begun ends as it is.
    answers = (str(_asked(agent, model, session, f"and now you, {count}")["system"]) for count in range(50))
    assert any("POETRY" in answer for answer in answers)


@pytest.mark.parametrize("end", ["session/close", "session/delete", "load", "input"])
def test_agent_of_a_session_that_ends(end: str, model: ScriptedModel, tmp_path: Path) -> None:
    """An agent that was chosen while a turn runs keeps nobody waiting when its session ends before it can answer: the
    prompts are cancelled, the end is answered, and other sessions go on."""
    agent = AgentProcess(model, tmp_path / "home")
    agent.initialize()
    work = _with_agents(tmp_path / "work")
    session, other = agent.new_session(work), agent.new_session(tmp_path / "other")
    agent.answer(agent.prompt(session, "hello"))
    model.on("stand still", [[Say("standing"), Wait(model.gate())]])
    prompts = [agent.prompt(session, "stand still"), agent.prompt(session, "later")]
    agent.chunk("standing")
    _set(agent, session, "agent", "poet")
    if end == "load":
        params = {"cwd": str(work), "mcpServers": [], "_meta": {"claudeCode": {"options": {"model": "sonnet"}}}}
        assert "result" in agent.answer(agent.request("session/load", {"sessionId": session, **params}))
    elif end != "input":
        assert "result" in agent.answer(agent.request(end, {"sessionId": session}))
    if end != "input":
        assert agent.answer(agent.prompt(other, "still there?"))["result"]["stopReason"] == "end_turn"
    assert agent.close() == 0
    assert [agent.answer(prompt)["result"]["stopReason"] for prompt in prompts] == ["cancelled", "cancelled"]


def test_a_load_otherwise_in_the_first_turn(model: ScriptedModel, tmp_path: Path) -> None:
    """A session that is loaded with other options in its first turn is loaded: what Claude Code has written when it is
    closed counts, and the prompts are cancelled as by a close."""
    work = tmp_path / "work"
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize()
        session = agent.new_session(work)
        model.on("stand still", [[Say("standing"), Wait(model.gate())]])
        prompts = [agent.prompt(session, "stand still"), agent.prompt(session, "later")]
        agent.chunk("standing")
        params = {"cwd": str(work), "mcpServers": [], "_meta": {"claudeCode": {"options": {"model": "sonnet"}}}}
        assert "result" in agent.answer(agent.request("session/load", {"sessionId": session, **params}))
        assert [agent.answer(prompt)["result"]["stopReason"] for prompt in prompts] == ["cancelled", "cancelled"]
        assert agent.answer(agent.prompt(session, "go on"))["result"]["stopReason"] == "end_turn"


def _with_agents(work: Path) -> Path:
    place = work / ".claude" / "agents"
    place.mkdir(parents=True)
    (place / "poet.md").write_text(POET)
    (place / "cook.md").write_text(COOK)
    return work


def _asked(agent: AgentProcess, model: ScriptedModel, session: str, prompt: str) -> Message:
    """The body of the request that a prompt makes."""
    answer = agent.answer(agent.prompt(session, prompt))
    assert answer.get("result", answer).get("stopReason") == "end_turn", f"{answer}\n{agent.log()[-3000:]}"
    return model.wait_for_request(lambda request: prompt in request.prompt and request.session_id == session).body


def _without_version(body: Mapping[str, Any]) -> list[str]:
    """The system prompt, without the line that differs from process to process, and the tools."""
    return [block["text"] for block in body["system"][1:]] + [tool["name"] for tool in body["tools"]]


def _params(session: str, name: str, value: str | bool) -> Message:
    kind = {"type": "boolean"} if isinstance(value, bool) else {}
    return {"sessionId": session, "configId": name, "value": value, **kind}


def _set(agent: AgentProcess, session: str, name: str, value: str | bool) -> Message:
    answer = agent.answer(agent.request("session/set_config_option", _params(session, name, value)))
    assert _current(answer["result"], name) == value
    result: Message = answer["result"]
    return result


def _resumed(agent: AgentProcess, session: str, work: Path) -> Message:
    assert agent.answer(agent.request("session/close", {"sessionId": session}))["result"] == {}
    params = {"sessionId": session, "cwd": str(work), "mcpServers": []}
    result: Message = agent.answer(agent.request("session/resume", params))["result"]
    return result


def _current(holder: Mapping[str, Any], name: str) -> Any:
    return next(option["currentValue"] for option in holder["configOptions"] if option["id"] == name)
