"""Where requests go, with the real Claude Code: the clouds, what a provider offers, and who goes which way.

Seen with Claude Code 2.1.332: with Bedrock it asks for /inference-profiles first (without the client's headers, and
goes on without an answer), then tries some models with a request of one token; both clouds stream, Bedrock in AWS's
framing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Fail, Say, ScriptedModel, UseTool
from tests.stdio.agent_process import AgentProcess, Message

VERTEX = {"claudeCode": {"vertex": {"projectId": "whales", "region": "us-east5"}}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("providers")


@pytest.fixture(scope="module")
def agent(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    with AgentProcess(model, home / "home", environment={"ACPBRIDGE_LOG": "debug"}) as agent:
        agent.initialize({"auth": {"_meta": {"gateway": True}}})
        yield agent


@pytest.fixture(scope="module")
def other() -> Iterator[ScriptedModel]:
    """Another model's API."""
    with ScriptedModel() as other:
        yield other


@pytest.fixture(autouse=True)
def at_home(agent: AgentProcess) -> Iterator[None]:
    """Each test begins and ends without a provider."""
    yield
    assert agent.answer(agent.request("providers/disable", {"providerId": "main"}))["result"] == {}


@pytest.mark.parametrize(
    ("api_type", "meta", "path"),
    [
        ("bedrock", {}, "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream"),
        (
            "vertex",
            {"_meta": VERTEX},
            "/projects/whales/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:streamRawPredict",
        ),
    ],
)
def test_cloud(
    agent: AgentProcess, other: ScriptedModel, home: Path, api_type: str, meta: dict[str, Any], path: str
) -> None:
    """The session that is open goes to the cloud, with its conversation, its tools, and the client's headers, which
    stand on no command line and in no log; what the cloud refuses is told in its words."""
    session = agent.new_session(home / api_type)
    agent.answer(agent.prompt(session, f"before {api_type}"))
    other.on(f"now with {api_type}", [[UseTool("Bash", {"command": "echo all well"})], [Say(f"Done by {api_type}.")]])
    other.on(f"refuse it {api_type}", [[Fail(400, "invalid_request_error", "too many whales")]])
    begun = len(agent.seen)
    _set(agent, other, api_type, headers={"x-key": "secret-7"}, **meta)
    assert agent.answer(agent.prompt(session, f"now with {api_type}"))["result"]["stopReason"] == "end_turn"
    assert f"Done by {api_type}." in agent.text(agent.seen[begun:])
    asked = [
        request
        for request in other.requests
        if f"now with {api_type}" in str(request.body.get("messages")) and request.kind == "main"
    ]
    assert [request.path for request in asked] == [path, path]
    assert all("x-key" in request.header_names for request in asked)
    assert f"before {api_type}" in str(asked[0].body["messages"])
    assert "all well" in str(asked[1].body["messages"])
    error = agent.answer(agent.prompt(session, f"refuse it {api_type}"))["error"]
    assert error["code"] == -32603
    assert "too many whales" in error["message"]
    shown = [str(agent.seen[begun:]), agent.log(), *(str(process.cmdline()) for process in agent.claude_processes())]
    assert not [text for text in shown if "secret-7" in text]


def test_models_of_the_provider(agent: AgentProcess, other: ScriptedModel, home: Path) -> None:
    """What the provider has is offered, in the session that is open and in new ones, and nothing else; without the
    provider it is as it was."""
    session = agent.new_session(home / "narrow")
    begun = len(agent.seen)
    _set(agent, other, "anthropic")
    options = agent.wait_for(lambda seen: _options(agent, session, begun), "the options")
    assert _models(options[-1]) == ["default", "opus"]  # the provider has no Sonnet 5.5
    answer = agent.answer(agent.request("session/new", {"cwd": str(home), "mcpServers": []}))["result"]
    assert _models(answer["configOptions"]) == ["default", "opus"]
    agent.answer(agent.prompt(session, "whose model is this"))
    other.wait_for_request(lambda request: "whose model is this" in request.prompt and request.kind == "main")
    agent.answer(agent.request("providers/disable", {"providerId": "main"}))
    assert {"default", "opus", "sonnet"} <= set(_models(_options(agent, session, begun)[-1]))


def test_a_provider_that_cannot_be_asked(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A provider that cannot be asked for its models is not taken, and nothing else is changed."""
    session = agent.new_session(home / "nobody")
    before = agent.answer(agent.request("providers/list", {}))["result"]
    params = {"providerId": "main", "apiType": "anthropic", "baseUrl": "http://127.0.0.1:1/x", "headers": {"k": "s"}}
    error = agent.answer(agent.request("providers/set", params))["error"]
    assert error["code"] == -32603
    assert error["message"].endswith(
        'Model discovery for provider "main" failed: Model listing GET /v1/models?limit=1000 failed: '
        "Connection refused."
    )
    assert agent.answer(agent.request("providers/list", {}))["result"] == before
    agent.answer(agent.prompt(session, "still at home"))
    model.wait_for_request(lambda request: "still at home" in request.prompt and request.kind == "main")


def test_logout_forgets_the_provider(agent: AgentProcess, model: ScriptedModel, other: ScriptedModel) -> None:
    """Who logs out has no provider any more, in the sessions that are open too."""
    _set(agent, other, "anthropic")
    session = agent.new_session(Path(agent.stderr_path.parent) / "work")
    agent.answer(agent.prompt(session, "where am I"))
    other.wait_for_request(lambda request: "where am I" in request.prompt and request.kind == "main")
    assert "result" in agent.answer(agent.request("logout", {}))
    [provider] = agent.answer(agent.request("providers/list", {}))["result"]["providers"]
    assert provider["current"]["baseUrl"] == model.url
    agent.answer(agent.prompt(session, "where am I now"))
    model.wait_for_request(lambda request: "where am I now" in request.prompt and request.kind == "main")


def test_a_gateway_is_for_new_sessions(agent: AgentProcess, model: ScriptedModel, other: ScriptedModel) -> None:
    """A session that was open when the client named its gateway goes its own way, also with another Claude Code; a new
    one goes the gateway's until the client logs out."""
    work = Path(agent.stderr_path.parent) / "gateways"
    old = agent.new_session(work)
    agent.answer(agent.prompt(old, "before the gateway"))
    gateway = {"methodId": "gateway", "_meta": {"gateway": {"baseUrl": other.url}}}
    assert "result" in agent.answer(agent.request("authenticate", gateway))
    for process in agent.claude_processes():
        process.kill()
        process.wait(10)
    agent.answer(agent.prompt(old, "in spite of the gateway"))
    model.wait_for_request(lambda request: "in spite of the gateway" in request.prompt and request.kind == "main")
    new = agent.new_session(work)
    agent.answer(agent.prompt(new, "through the gateway"))
    other.wait_for_request(lambda request: "through the gateway" in request.prompt and request.kind == "main")
    assert "result" in agent.answer(agent.request("logout", {}))
    agent.answer(agent.prompt(new, "past the gateway"))
    model.wait_for_request(lambda request: "past the gateway" in request.prompt and request.kind == "main")


def _set(agent: AgentProcess, other: ScriptedModel, api_type: str, **members: Any) -> None:
    params = {"providerId": "main", "apiType": api_type, "baseUrl": other.url, "headers": {}, **members}
    assert agent.answer(agent.request("providers/set", params))["result"] == {}


def _options(agent: AgentProcess, session: str, begun: int) -> list[list[Message]]:
    """What a session was told of its options."""
    of_it = [item for item in agent.seen[begun:] if item.message.get("params", {}).get("sessionId") == session]
    return [item.update["configOptions"] for item in of_it if "configOptions" in item.update]


def _models(options: list[Message]) -> list[str]:
    return [choice["value"] for option in options if option["id"] == "model" for choice in option["options"]]
