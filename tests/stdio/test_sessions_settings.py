"""What is set in a session, in the real program with the real Claude Code: modes, models, settings, commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Fail, Say, ScriptedModel, UseTool
from tests.stdio.agent_process import AgentProcess, Message

NOTICES: dict[str, Any] = {"session": {"notices": {}, "compaction": {}}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@pytest.fixture(scope="module")
def agent(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    with AgentProcess(model, home / "home") as agent:
        agent.initialize(NOTICES)
        yield agent


def test_answer_of_new(agent: AgentProcess, home: Path) -> None:
    """session/new says the modes, with Claude Code's labels, and the options, all of them."""
    answer = agent.answer(agent.request("session/new", {"cwd": str(home), "mcpServers": []}))["result"]
    names = [mode["name"] for mode in answer["modes"]["availableModes"]]
    assert names == ["Manual", "Accept edits", "Plan", "Auto", "Bypass permissions"]
    assert answer["modes"]["currentModeId"] == "default"
    options = {option["id"]: option for option in answer["configOptions"]}
    assert list(options) == ["mode", "model", "effort", "fast", "ultracode"]
    assert options["model"]["category"] == "model"
    assert "Sonnet 5.5" in [choice["name"] for choice in options["model"]["options"]]


def test_mode_and_model_reach_the_model(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """What is chosen is in the model's next request, and the client is told of it once, before the answer."""
    session = agent.new_session(home / "chosen")
    agent.wait_for(lambda seen: seen[-1].update.get("sessionUpdate") == "available_commands_update", "the commands")
    begun = len(agent.seen)
    agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"}))
    assert _kinds(agent, begun) == ["current_mode_update", "config_option_update", "answer"]
    _set(agent, session, "model", "sonnet")
    _set(agent, session, "effort", "low")
    agent.answer(agent.prompt(session, "with all that"))
    request = model.wait_for_request(lambda request: "with all that" in request.prompt and request.kind == "main")
    assert request.body["model"] == "claude-sonnet-5-5"
    assert request.body["output_config"]["effort"] == "low"
    assert "Plan mode is active" in str(request.body["messages"])


def test_older_set_model(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """session/set_model of older clients changes the model, also by another of its names."""
    session = agent.new_session(home / "older")
    request = {"jsonrpc": "2.0", "id": "older", "method": "session/set_model"}  # the schema has no such method any more
    agent.expect("older")
    agent.write(
        json.dumps({**request, "params": {"sessionId": session, "modelId": "claude-haiku-5-5"}}).encode() + b"\n"
    )
    assert "error" not in agent.answer("older")
    agent.answer(agent.prompt(session, "older client"))
    asked = model.wait_for_request(lambda request: "older client" in request.prompt and request.kind == "main")
    assert asked.body["model"] == "claude-haiku-5-5"
    assert "Set model" not in agent.text()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/set_mode", {"modeId": "bananas"}, -32602),
        ("session/set_mode", {"modeId": "dontAsk"}, -32602),
        ("session/set_config_option", {"configId": "nothing", "value": "x"}, -32602),
        ("session/set_config_option", {"configId": "model", "value": "gpt"}, -32602),
        ("session/set_config_option", {"configId": "fast", "value": "perhaps"}, -32602),
        ("session/set_mode", {"sessionId": "nobody", "modeId": "plan"}, -32002),
        ("session/set_config_option", {"sessionId": "nobody", "configId": "model", "value": "haiku"}, -32002),
    ],
)
def test_wrong_choice(agent: AgentProcess, home: Path, method: str, params: Mapping[str, Any], code: int) -> None:
    """A choice that there is not is refused in words, and changes nothing."""
    session = _shared(agent, home)
    begun = len(agent.seen)
    assert agent.answer(agent.request(method, {"sessionId": session, **params}))["error"]["code"] == code
    assert _kinds(agent, begun) == ["answer"]


def test_change_by_a_command(agent: AgentProcess, home: Path) -> None:
    """A model that is changed by a command of Claude Code is told to the client too."""
    session = agent.new_session(home / "command")
    begun = len(agent.seen)
    agent.answer(agent.prompt(session, "/model haiku"))
    told = agent.wait_for(
        lambda seen: [
            item.update for item in seen[begun:] if item.update.get("sessionUpdate") == "config_option_update"
        ],
        "the option",
    )
    assert _current(told[-1], "model") == "haiku"


def test_change_by_a_plan(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """Leaving plan mode with an approved plan is told to the client."""
    session = agent.new_session(home / "plan")
    model.on("make a plan", [[UseTool("ExitPlanMode", {"plan": "1. do it"})], [Say("I did.")]])
    agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"}))
    begun = len(agent.seen)
    agent.choose = lambda request: next(o["optionId"] for o in request["params"]["options"] if "allow" in o["kind"])
    agent.answer(agent.prompt(session, "make a plan"))
    agent.choose = lambda request: "allow-once"
    modes = [seen.update["currentModeId"] for seen in agent.seen[begun:] if "currentModeId" in seen.update]
    assert modes
    assert modes[-1] != "plan"


def test_choices_survive(agent: AgentProcess, home: Path) -> None:
    """Mode, model and effort of a session are there when it is taken up again."""
    work = home / "survive"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "something"))
    agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "acceptEdits"}))
    for name, value in (("model", "sonnet"), ("effort", "high"), ("ultracode", "on")):
        _set(agent, session, name, value)
    agent.answer(agent.request("session/close", {"sessionId": session}))
    params = {"sessionId": session, "cwd": str(work), "mcpServers": []}
    begun = len(agent.seen)
    answer = agent.answer(agent.request("session/resume", params))["result"]
    assert answer["modes"]["currentModeId"] == "acceptEdits"
    assert [_current(answer, name) for name in ("model", "effort", "ultracode")] == ["sonnet", "high", "on"]
    assert "config_option_update" not in _kinds(agent, begun)


def test_settings_are_watched(agent: AgentProcess, home: Path) -> None:
    """A settings file that changes is seen: what it forbids is no longer offered. A broken one is told once."""
    work = home / "watched"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "hello"))
    begun = len(agent.seen)
    place = work / ".claude" / "settings.local.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps({"permissions": {"disableBypassPermissionsMode": "disable"}}))
    told = agent.wait_for(lambda seen: [i.update for i in seen[begun:] if "configOptions" in i.update], "the options")
    mode = next(option for option in told[-1]["configOptions"] if option["id"] == "mode")
    assert "bypassPermissions" not in [choice["value"] for choice in mode["options"]]
    refused = agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "bypassPermissions"}))
    assert refused["error"]["code"] == -32602
    place.write_text("{ broken")
    notices = agent.wait_for(lambda seen: _notices(agent, begun), "the notice")
    agent.answer(agent.prompt(session, "and again"))
    agent.answer(agent.prompt(session, "and once more"))
    assert len(_notices(agent, begun)) == 1
    assert "settings.local.json" in notices[0]["description"]


def test_mode_of_the_settings(model: ScriptedModel, tmp_path: Path) -> None:
    """A default mode that Claude Code does not know is Manual, and one that policy forbids too; the person is told,
    after the session is answered."""
    settings = {"permissions": {"defaultMode": "bananas"}}
    with AgentProcess(model, tmp_path / "home", settings=settings) as agent:
        agent.initialize(NOTICES)
        assert _mode_of_new(agent, tmp_path / "unknown") == "default"
        assert (
            "permissions.defaultMode" in agent.wait_for(lambda seen: _notices(agent, 0), "the notice")[0]["description"]
        )
        kinds = _kinds(agent, 1)
        assert kinds.index("answer") < kinds.index("notice")
        forbidden = {"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}
        model.write_settings(tmp_path / "home", {"permissions": forbidden})
        begun = len(agent.seen)
        assert _mode_of_new(agent, tmp_path / "forbidden") == "default"
        notice = agent.wait_for(lambda seen: _notices(agent, begun), "the notice")[0]
        assert "bypassPermissions" in notice["description"]


def test_root_never_bypasses(model: ScriptedModel, tmp_path: Path) -> None:
    """Outside a sandbox root is not offered to bypass permissions, and gets Manual where the settings want it."""
    settings = {"permissions": {"defaultMode": "bypassPermissions"}}
    with AgentProcess(model, tmp_path / "home", settings=settings, environment={"IS_SANDBOX": ""}) as agent:
        agent.initialize(NOTICES)
        params = {"cwd": str(tmp_path), "mcpServers": []}
        answer = agent.answer(agent.request("session/new", params))["result"]
        offered = [mode["id"] for mode in answer["modes"]["availableModes"]]
        if _is_root():
            assert answer["modes"]["currentModeId"] == "default"
            assert "bypassPermissions" not in offered
        else:
            assert "bypassPermissions" in offered


@pytest.mark.parametrize("command", ["/usage", "/context", "/compact", "/init", "/model", "/clear"])
def test_commands_have_output(agent: AgentProcess, home: Path, command: str) -> None:
    """A command of Claude Code says something, never nothing."""
    session = _shared(agent, home)
    begun = len(agent.seen)
    assert agent.answer(agent.prompt(session, command))["result"]["stopReason"] == "end_turn"
    assert agent.text(agent.seen[begun:]).strip()


def test_compaction(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A compaction is told as it begins and ends, with its summary; what Claude Code repeats behind it is not, and the
    context is as full as what is left."""
    session = agent.new_session(home / "compaction")
    agent.answer(agent.prompt(session, "something to forget"))
    agent.answer(agent.prompt(session, "/context"))
    begun = len(agent.seen)
    agent.answer(agent.prompt(session, "/compact"))
    told = [seen.update for seen in agent.seen[begun:] if seen.update.get("sessionUpdate") == "compaction_update"]
    assert [update["status"] for update in told] == ["in_progress", "completed"]
    assert len({update["compactionId"] for update in told}) == 1
    assert "A scripted conversation" in told[1]["summary"][0]["text"]
    assert "Context Usage" not in agent.text(agent.seen[begun:])
    assert "echo:" not in agent.text(agent.seen[begun:])


def test_retries_are_told(model: ScriptedModel, tmp_path: Path) -> None:
    """The model that is asked again is told about, to a client without notices in the text."""
    with AgentProcess(model, tmp_path / "home", max_retries=1) as agent:
        agent.initialize()
        session = agent.new_session(tmp_path / "work")
        model.on("try twice", [[Fail(529, "overloaded_error", "busy", times=1), Say("now")]])
        assert agent.answer(agent.prompt(session, "try twice"))["result"]["stopReason"] == "end_turn"
        assert "Retrying Claude, attempt 1 of 1" in agent.text()
        assert agent.text().endswith("now")


def test_available_commands(agent: AgentProcess, home: Path) -> None:
    """The commands come after the answer of new, load, resume and fork, never before; no terminal-only one is in it."""
    work = home / "commands"
    (work / ".claude" / "commands").mkdir(parents=True)
    (work / ".claude" / "commands" / "greet.md").write_text("Say hello to $ARGUMENTS\n")
    begun = len(agent.seen)
    session = agent.new_session(work)
    listed = _commands(agent, begun)
    assert _kinds(agent, begun)[0] == "answer"
    names = [command["name"] for command in listed[0]["availableCommands"]]
    assert {"greet", "compact", "init", "context", "mcp"} <= set(names)
    assert not {"doctor", "color", "clear", "login", "logout"} & set(names)
    assert len(names) == len(set(names))
    params = {"sessionId": session, "cwd": str(work), "mcpServers": []}
    agent.answer(agent.prompt(session, "something"))
    for method in ("session/load", "session/resume", "session/fork"):
        begun = len(agent.seen)
        agent.answer(agent.request(method, params))
        _commands(agent, begun)
        kinds = _kinds(agent, begun)
        assert kinds.index("answer") < kinds.index("available_commands_update")


def _commands(agent: AgentProcess, begin: int) -> list[Message]:
    """The lists of commands that were told since, once there is one."""
    found: list[Message] = agent.wait_for(
        lambda seen: [item.update for item in seen[begin:] if "availableCommands" in item.update], "commands"
    )
    return found


def _shared(agent: AgentProcess, home: Path) -> str:
    """One session for tests that leave nothing behind."""
    known: str | None = getattr(agent, "shared_session", None)
    if known is None:
        known = agent.new_session(home / "shared")
        agent.answer(agent.prompt(known, "something to begin with"))
        setattr(agent, "shared_session", known)  # noqa: B010
    return known


def _set(agent: AgentProcess, session: str, name: str, value: str) -> Message:
    params = {"sessionId": session, "configId": name, "value": value}
    answer = agent.answer(agent.request("session/set_config_option", params))
    assert _current(answer["result"], name) == value
    return answer


def _current(holder: Mapping[str, Any], name: str) -> Any:
    return next(option["currentValue"] for option in holder["configOptions"] if option["id"] == name)


def _kinds(agent: AgentProcess, begun: int) -> list[str]:
    """What was seen, in order: kinds of updates, and answers."""
    kinds = [
        seen.update.get("sessionUpdate") or ("answer" if "id" in seen.message else "") for seen in agent.seen[begun:]
    ]
    return [kind for kind in kinds if kind]


def _notices(agent: AgentProcess, begun: int) -> list[Message]:
    return [seen.update for seen in agent.seen[begun:] if seen.update.get("sessionUpdate") == "notice"]


def _mode_of_new(agent: AgentProcess, work: Path) -> str:
    work.mkdir()
    answer = agent.answer(agent.request("session/new", {"cwd": str(work), "mcpServers": []}))
    mode: str = answer["result"]["modes"]["currentModeId"]
    return mode


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
