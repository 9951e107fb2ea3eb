"""Logging in and out, and where requests go, in the real program with the real Claude Code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Fail, ScriptedModel
from tests.stdio.agent_process import AgentProcess

CLIENT = {"auth": {"terminal": True, "_meta": {"gateway": True}}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auth")


@pytest.fixture(scope="module")
def agent(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    with AgentProcess(
        model, home / "home", environment={"SSH_TTY": "", "SSH_CONNECTION": "", "SSH_CLIENT": ""}
    ) as agent:
        result = agent.initialize(CLIENT)["result"]
        methods = [method["id"] for method in result["authMethods"]]
        assert methods == ["claude-ai-login", "console-login", "gateway", "gateway-bedrock"]
        yield agent


@pytest.fixture(scope="module")
def other() -> Iterator[ScriptedModel]:
    """Another model's API."""
    with ScriptedModel() as other:
        yield other


def test_provider(agent: AgentProcess, other: ScriptedModel, home: Path) -> None:
    """A provider takes hold in the session that is open, in the same conversation, with its headers; disabled it is as
    before. The headers are told to nobody."""
    session = agent.new_session(home / "provider")
    agent.answer(agent.prompt(session, "at home"))
    params: dict[str, Any] = {"providerId": "main", "apiType": "anthropic", "baseUrl": other.url}
    begun = len(agent.seen)
    assert agent.answer(agent.request("providers/set", {**params, "headers": {"x-key": "secret-7"}}))["result"] == {}
    agent.answer(agent.prompt(session, "abroad now"))
    request = other.wait_for_request(lambda request: "abroad now" in request.prompt and request.kind == "main")
    assert "at home" in str(request.body["messages"])
    [provider] = agent.answer(agent.request("providers/list", {}))["result"]["providers"]
    assert provider["current"] == {"apiType": "anthropic", "baseUrl": other.url}
    assert "secret-7" not in str(agent.seen[begun:])
    assert "secret-7" not in agent.log()
    assert agent.answer(agent.request("providers/disable", {"providerId": "main"}))["result"] == {}
    agent.answer(agent.prompt(session, "home again"))
    assert not [request for request in other.requests if "home again" in request.prompt]


@pytest.mark.parametrize(
    "wrong",
    [
        {"providerId": "second"},
        {"apiType": "openai"},
        {"baseUrl": "somewhere"},
        {"apiType": "vertex"},
        {"headers": {"x": "a\r\nb: c"}},
    ],
)
def test_wrong_provider(agent: AgentProcess, wrong: dict[str, Any]) -> None:
    """A provider that cannot be is -32602 in words, and changes nothing."""
    params = {"providerId": "main", "apiType": "anthropic", "baseUrl": "http://127.0.0.1:9", "headers": {}, **wrong}
    before = agent.answer(agent.request("providers/list", {}))["result"]
    assert agent.answer(agent.request("providers/set", params))["error"]["code"] == -32602
    assert agent.answer(agent.request("providers/list", {}))["result"] == before


def test_who_is_signed_in(model: ScriptedModel, tmp_path: Path) -> None:
    """The client is told who is signed in, behind the answer of `initialize`, once, and again when it is another: a
    gateway, and behind a logout what is left. No key is in it."""
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize(CLIENT)
        told = agent.wait_for(lambda seen: _identities(agent), "who is signed in")
        assert told == [{"kind": "api_key", "label": "Anthropic API key", "detail": "ANTHROPIC_API_KEY"}]
        agent.answer(agent.prompt(agent.new_session(tmp_path / "work"), "hello"))
        assert _identities(agent) == told
        gateway = {"methodId": "gateway", "_meta": {"gateway": {"baseUrl": f"{model.url}/v1"}}}
        agent.answer(agent.request("authenticate", gateway))
        told = agent.wait_for(lambda seen: _identities(agent)[1:], "the gateway")
        assert told == [{"kind": "gateway", "label": "Custom model gateway", "detail": "127.0.0.1"}]
        agent.answer(agent.request("logout", {}))
        [left] = agent.wait_for(lambda seen: _identities(agent)[2:], "who is left")
        assert left["kind"] == "api_key"
        assert agent.seen[0].message.get("id") is not None


def test_nobody_is_signed_in(model: ScriptedModel, tmp_path: Path) -> None:
    """Without a key the client is told that nobody is signed in, and a prompt fails as -32000."""
    with AgentProcess(model, tmp_path / "home", environment={"ANTHROPIC_API_KEY": ""}) as agent:
        agent.initialize(CLIENT)
        told = agent.wait_for(lambda seen: _identities(agent), "who is signed in")
        assert told == [{"kind": "none", "label": "Not logged in"}]
        error = agent.answer(agent.prompt(agent.new_session(tmp_path / "work"), "hello"))["error"]
        assert error["code"] == -32000


def test_no_subscription(model: ScriptedModel, tmp_path: Path) -> None:
    """An integration that may not use subscriptions offers none, works with a key, and without one says what to do."""
    hide = ["--hide-claude-auth"]
    variables = {"SSH_TTY": "", "SSH_CONNECTION": "", "SSH_CLIENT": ""}
    with AgentProcess(model, tmp_path / "home", environment=variables, arguments=hide) as agent:
        result = agent.initialize(CLIENT)["result"]
        assert [method["id"] for method in result["authMethods"]] == ["console-login", "gateway", "gateway-bedrock"]
        answer = agent.answer(agent.prompt(agent.new_session(tmp_path / "work"), "with a key"))
        assert answer["result"]["stopReason"] == "end_turn"
    with AgentProcess(model, tmp_path / "home", environment={"ANTHROPIC_API_KEY": ""}, arguments=hide) as agent:
        agent.initialize(CLIENT)
        error = agent.answer(agent.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["error"]
        assert error["code"] == -32000
        assert "Sign in with an API key or a Console account" in error["message"]
        gateway = {"methodId": "gateway", "_meta": {"gateway": {"baseUrl": model.url}}}
        assert "result" in agent.answer(agent.request("authenticate", gateway))
        answer = agent.answer(agent.prompt(agent.new_session(tmp_path / "other"), "by the gateway"))
        assert answer["result"]["stopReason"] == "end_turn"


def _identities(agent: AgentProcess) -> list[Any]:
    messages = (seen.message for seen in agent.seen)
    return [m["params"]["authStatus"] for m in messages if m.get("method") == "_auth/status_update"]


def test_login_is_asked_for(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A key that is not accepted fails the prompt as -32000, with what to do."""
    session = agent.new_session(home / "refused")
    model.on("who am I", [[Fail(401, "authentication_error", "invalid x-api-key")]])
    error = agent.answer(agent.prompt(session, "who am I"))["error"]
    assert error["code"] == -32000, error
    assert "log in" in error["message"].lower()


def test_gateway(agent: AgentProcess, other: ScriptedModel, home: Path) -> None:
    """A gateway is for the sessions that come after it; a wrong one is refused, and so is another method. Logging out
    forgets it."""
    assert agent.answer(agent.request("authenticate", {"methodId": "magic"}))["error"]["code"] == -32602
    wrong = {"methodId": "gateway", "_meta": {"gateway": {"baseUrl": "nowhere"}}}
    assert agent.answer(agent.request("authenticate", wrong))["error"]["code"] == -32602
    gateway = {"methodId": "gateway", "_meta": {"gateway": {"baseUrl": other.url, "headers": {"x-key": "secret-8"}}}}
    assert "result" in agent.answer(agent.request("authenticate", gateway))
    session = agent.new_session(home / "gateway")
    agent.answer(agent.prompt(session, "through the gateway"))
    other.wait_for_request(lambda request: "through the gateway" in request.prompt and request.kind == "main")
    assert "result" in agent.answer(agent.request("logout", {}))
    agent.answer(agent.prompt(agent.new_session(home / "out"), "without the gateway"))
    assert not [request for request in other.requests if "without the gateway" in request.prompt]
    assert "secret-8" not in agent.log()
