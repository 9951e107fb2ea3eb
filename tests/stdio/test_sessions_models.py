"""What settings and environment make of modes and models, with the real Claude Code, seen in the model's requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import ScriptedModel
from tests.stdio.agent_process import AgentProcess, Message

NOTICES: dict[str, Any] = {"session": {"notices": {}}}
OLD = "claude-haiku-4-5"
"""A model that has no Auto mode."""

AUTO = {"permissions": {"defaultMode": "auto"}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def agent(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    """Its settings are those that a test writes before it opens a session."""
    with AgentProcess(model, home / "home") as agent:
        agent.initialize(NOTICES)
        yield agent


@pytest.mark.parametrize(
    ("settings", "options", "mode"),
    [
        ({}, {"permissionMode": "bypass"}, "bypassPermissions"),
        ({}, {"permissionMode": "bypass", "allowDangerouslySkipPermissions": False}, "default"),
        (
            {"permissions": {"defaultMode": "bypassPermissions"}},
            {"allowDangerouslySkipPermissions": False},
            "default",
        ),
        (
            {"permissions": {"disableBypassPermissionsMode": "disable"}},
            {"permissionMode": "bypassPermissions"},
            "default",
        ),
        ({"disableAutoMode": "disable"}, {"permissionMode": "auto"}, "default"),
        ({}, {"permissionMode": "dontAsk"}, "dontAsk"),
        ({**AUTO, "model": OLD}, {}, "acceptEdits"),
        ({"model": OLD}, {"permissionMode": "auto"}, "acceptEdits"),
        ({**AUTO, "model": OLD, "disableAutoMode": "disable"}, {}, "default"),
    ],
)
def test_mode_to_begin_in(
    agent: AgentProcess, model: ScriptedModel, home: Path, settings: dict[str, Any], options: dict[str, Any], mode: str
) -> None:
    """The session begins in the mode that is asked for, and never in a freer one than client, settings, and model have;
    one that is not to be had is not offered either."""
    model.write_settings(home / "home", settings)
    answer = _new(agent, home, _meta={"claudeCode": {"options": options}})
    assert answer["modes"]["currentModeId"] == mode
    offered = [each["id"] for each in answer["modes"]["availableModes"]]
    assert mode in offered
    may_bypass = options.get("allowDangerouslySkipPermissions") is not False and "disable" not in str(settings)
    assert ("bypassPermissions" in offered) == (may_bypass or "disableAutoMode" in settings)
    agent.answer(agent.request("session/close", {"sessionId": answer["sessionId"]}))


def test_a_repository_does_not_decide(agent: AgentProcess, model: ScriptedModel, tmp_path: Path, home: Path) -> None:
    """What stands in a repository's own settings does not put a session into a freer mode."""
    model.write_settings(home / "home", {})
    place = tmp_path / ".claude" / "settings.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"permissions": {"defaultMode": "bypassPermissions"}}))
    assert _new(agent, tmp_path)["modes"]["currentModeId"] == "default"


def test_a_command_leaves_auto(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A model without Auto, set by a command of Claude Code, takes the session to Accept edits, which is told."""
    model.write_settings(home / "home", {**AUTO, "availableModels": ["opus", OLD]})
    answer = _new(agent, home)
    session = answer["sessionId"]
    assert answer["modes"]["currentModeId"] == "auto"
    agent.answer(agent.prompt(session, f"/model {OLD}"))
    [notice] = agent.wait_for(lambda seen: _updates(agent, session, "notice"), "the notice")
    assert notice["title"] == "Auto mode unavailable"
    assert [update["currentModeId"] for update in _updates(agent, session, "current_mode_update")] == ["acceptEdits"]
    last = _updates(agent, session, "config_option_update")[-1]
    assert [_current(last, name) for name in ("mode", "model")] == ["acceptEdits", OLD]
    agent.answer(agent.request("session/close", {"sessionId": session}))


@pytest.mark.parametrize(
    ("settings", "variables", "listed", "chosen", "asked"),
    [
        ({"availableModels": ["sonnet", OLD]}, {}, ["default", "sonnet", OLD], "sonnet", "claude-sonnet-5-5"),
        ({"modelOverrides": {"claude-sonnet-5-5": "mine"}}, {}, ["sonnet"], "sonnet", "mine"),
        ({}, {"ANTHROPIC_CUSTOM_MODEL_OPTION": "own-model"}, ["own-model"], "own-model", "own-model"),
        (
            {},
            {"CLAUDE_MODEL_CONFIG": json.dumps({"availableModels": ["haiku"], "modelOverrides": {}})},
            ["default", "haiku"],
            "haiku",
            "claude-haiku-5-5",
        ),
    ],
)
def test_models_on_offer(
    model: ScriptedModel,
    tmp_path: Path,
    settings: dict[str, Any],
    variables: dict[str, str],
    listed: list[str],
    chosen: str,
    asked: str,
) -> None:
    """Settings and environment say which models there are and what they are really called; the one that is chosen is
    the one that is asked."""
    with AgentProcess(model, tmp_path / "home", settings=settings, environment=variables) as agent:
        agent.initialize(NOTICES)
        answer = _new(agent, tmp_path)
        [option] = [option for option in answer["configOptions"] if option["id"] == "model"]
        values = [choice["value"] for choice in option["options"]]
        assert values == listed if "default" in listed else set(listed) < set(values)
        assert len({choice["name"] for choice in option["options"]}) == len(values)
        session = answer["sessionId"]
        params = {"sessionId": session, "configId": "model", "value": chosen}
        assert _current(agent.answer(agent.request("session/set_config_option", params))["result"], "model") == chosen
        assert _asked(agent, model, session, f"which are you, {chosen}")["model"] == asked


def test_whose_model_counts(model: ScriptedModel, tmp_path: Path) -> None:
    """The environment's model comes before that of the settings. In a session that is taken up again both come before
    the one that answered last, which nobody had chosen; one that the client chose is kept."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    with AgentProcess(model, home, settings={"model": "haiku"}, environment={"ANTHROPIC_MODEL": "sonnet"}) as agent:
        agent.initialize(NOTICES)
        used, chosen = (_new(agent, work)["sessionId"] for _ in range(2))
        assert _asked(agent, model, used, "one by the environment")["model"] == "claude-sonnet-5-5"
        agent.answer(
            agent.request("session/set_config_option", {"sessionId": chosen, "configId": "model", "value": "opus"})
        )
        assert _asked(agent, model, chosen, "one by the client")["model"] == "claude-opus-5-5"
    with AgentProcess(model, home, settings={"model": "haiku"}) as agent:
        agent.initialize(NOTICES)
        for session, value, asked in ((used, "haiku", "claude-haiku-5-5"), (chosen, "opus", "claude-opus-5-5")):
            params = {"sessionId": session, "cwd": str(work), "mcpServers": []}
            assert _current(agent.answer(agent.request("session/resume", params))["result"], "model") == value
            assert _asked(agent, model, session, f"taken up as {value}")["model"] == asked
    with AgentProcess(model, home) as agent:
        agent.initialize(NOTICES)
        params = {"sessionId": used, "cwd": str(work), "mcpServers": []}
        assert _current(agent.answer(agent.request("session/resume", params))["result"], "model") == "haiku"


def test_effort_of_the_settings(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """The effort that the settings have for the model is shown, and asked for, until another one is chosen."""
    model.write_settings(home / "home", {"modelSettings": {"claude-opus-5-5": {"effortLevel": "low"}}})
    answer = _new(agent, home)
    session = answer["sessionId"]
    assert _current(answer, "effort") == "low"
    assert _asked(agent, model, session, "by the settings")["output_config"]["effort"] == "low"
    params = {"sessionId": session, "configId": "effort", "value": "high"}
    assert _current(agent.answer(agent.request("session/set_config_option", params))["result"], "effort") == "high"
    assert _asked(agent, model, session, "by the client")["output_config"]["effort"] == "high"


def _new(agent: AgentProcess, work: Path, **params: Any) -> Message:
    answer = agent.answer(agent.request("session/new", {"cwd": str(work), "mcpServers": [], **params}))
    result: Message = answer["result"]
    return result


def _updates(agent: AgentProcess, session: str, kind: str) -> list[Message]:
    of_it = [item for item in agent.seen if item.message.get("params", {}).get("sessionId") == session]
    return [item.update for item in of_it if item.update.get("sessionUpdate") == kind]


def _asked(agent: AgentProcess, model: ScriptedModel, session: str, prompt: str) -> Message:
    """The body of the request that a prompt makes."""
    assert agent.answer(agent.prompt(session, prompt))["result"]["stopReason"] == "end_turn"
    return model.wait_for_request(lambda request: prompt in request.prompt and request.session_id == session).body


def _current(holder: Mapping[str, Any], name: str) -> Any:
    return next(option["currentValue"] for option in holder["configOptions"] if option["id"] == name)
