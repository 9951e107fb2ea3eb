"""MCP servers through the real program and the real Claude Code, with real servers in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.oauth_server import OAuthServer, visit
from tests.stdio.agent_process import TIMEOUT, AgentProcess, Seen
from tests.stdio.mcp_client import PATIENT, Gate, answer, elicitation, over_http, server, texts

HINT = (
    "Run `/mcp reconnect <server>` to reconnect one server, or `/mcp reconnect` to reconnect every server that is not "
    "connected and not disabled."
)
CONNECTED = "**Connected**\n- `tiny`: 6 tools"
FAILED = "**Failed**\n- `broken`: Connection closed"
BOTH = f"**MCP servers:** 2 (1 failed, 1 connected)\n\n{FAILED}\n\n{CONNECTED}\n\n{HINT}"


@pytest.fixture(scope="module")
def shared(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with AgentProcess(model, tmp_path_factory.mktemp("mcp") / "home") as agent:
        agent.initialize()
        yield agent


@pytest.fixture(scope="module")
def session(shared: AgentProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A session with a server that works and one that does not start."""
    servers = [server("tiny"), server("broken", MCP_TEST_FAIL="1")]
    return shared.new_session(tmp_path_factory.mktemp("mcp"), mcpServers=servers, _meta=PATIENT)


def say(agent: AgentProcess, session: str, text: str) -> list[str]:
    """Prompt, and what was said in answer."""
    before = len(texts(agent, session))
    answer = agent.answer(agent.prompt(session, text))
    assert answer["result"]["stopReason"] == "end_turn"
    return texts(agent, session)[before:]


def offered(seen: list[Seen], session: str) -> list[str]:
    """The commands that a session has by now."""
    lists = [
        item.update["availableCommands"]
        for item in seen
        if item.update.get("sessionUpdate") == "available_commands_update"
        and item.message["params"]["sessionId"] == session
    ]
    return [command["name"] for command in lists[-1]] if lists else []


def test_what_is_missing_is_told_once(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """A server of the client's that does not start is told by its name, with the first prompt and never again."""
    told = '**MCP server "broken" failed to start:** Its tools are unavailable in this session. Run /mcp for the error.'
    assert say(shared, session, "first") == [f"{told}\n\n", "echo: first"]
    assert say(shared, session, "second") == ["echo: second"]


def test_commands_in_the_chat(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """Status, reconnect, disable and enable: one answer each in the reference's words, and none of it reaches the
    model."""
    say(shared, session, "are they there?")  # a prompt waits for the servers, a `/mcp` does not
    asked = len(model.requests)
    assert say(shared, session, "/mcp") == [BOTH]
    assert say(shared, session, "/mcp reconnect tiny") == [f"- Reconnected `tiny`\n\n{BOTH}"]
    assert say(shared, session, "/mcp disable tiny") == [
        f"- Disabled `tiny`\n\n**MCP servers:** 2 (1 failed, 1 disabled)\n\n{FAILED}\n\n**Disabled:** `tiny`\n\n{HINT}"
    ]
    assert say(shared, session, "/mcp enable tiny") == [f"- Enabled `tiny`\n\n{BOTH}"]
    assert say(shared, session, "/mcp reconnect broken") == [
        f"- Couldn't reconnect `broken`: Connection closed\n\n{BOTH}"
    ]
    assert say(shared, session, "/mcp enable nosuch") == [f"There's no MCP server named `nosuch`.\n\n{BOTH}"]
    assert say(shared, session, "/mcp disable") == [
        f"Name a server or `all`, for example `/mcp disable <server>`.\n\n{BOTH}"
    ]
    assert [request for request in model.requests[asked:] if request.kind == "main"] == []


def test_tools(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """A server's tools are tool calls: one that gives something, and one that fails."""
    echo = UseTool("mcp__tiny__echo", {"text": "hello"})
    model.on("use the server", [[echo], [UseTool("mcp__tiny__fails")], [Say("used")]])
    before = len(shared.seen)
    say(shared, session, "use the server")
    ended = [item.update for item in shared.seen[before:] if item.update.get("status") in ("completed", "failed")]
    assert [update["status"] for update in ended] == ["completed", "failed"]
    assert "echo: hello" in str(ended[0]["content"])
    assert "fails as it should" in str(ended[1]["content"])


def test_prompts(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """A server's prompts are offered as `/mcp:server:prompt` beside `/mcp`, and reach the model as what they expand
    to."""
    shared.wait_for(lambda seen: "mcp:tiny:greet" in offered(seen, session), "the server's prompt")
    assert offered(shared.seen, session).count("mcp") == 1
    say(shared, session, "/mcp:tiny:greet Bo")
    model.wait_for_request(lambda request: "Please greet Bo." in str(request.body.get("messages")))


def test_mcp_waits_its_turn(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """A `/mcp` behind a prompt that runs waits for it, a prompt behind it waits too; a cancel ends all three, and the
    next `/mcp` is answered."""
    gate = model.gate()
    model.on("stand here", [[Say("standing"), Wait(gate)]])
    running = shared.prompt(session, "stand here")
    shared.wait_for(lambda seen: "standing" in "".join(texts(shared, session)), "the text")
    waiting, behind = shared.prompt(session, "/mcp"), shared.prompt(session, "behind it")
    shared.cancel(session)
    for prompt in (running, waiting, behind):
        assert shared.answer(prompt)["result"]["stopReason"] == "cancelled"
    gate.open()
    assert say(shared, session, "/mcp") == [BOTH]
    assert "echo: behind it" not in "".join(texts(shared, session))


def test_mcp_between_prompts(shared: AgentProcess, session: str, model: ScriptedModel) -> None:
    """Prompts sent at once are answered in their order, the `/mcp` between them too."""
    gate = model.gate()
    model.on("go first", [[Wait(gate), Say("first is done")]])
    before = len(texts(shared, session))
    prompts = [shared.prompt(session, text) for text in ("go first", "/mcp", "go last")]
    gate.open()
    for prompt in prompts:
        assert shared.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert texts(shared, session)[before:] == ["first is done", BOTH, "echo: go last"]


def test_slow_tool_is_cancelled(shared: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A tool that does not come back is stopped by a cancel; its call has ended before the answer."""
    gate = Gate()
    model.on("use the slow one", [[UseTool("mcp__slow__slow")], [Say("never")]])
    session = shared.new_session(tmp_path, mcpServers=[server("slow", MCP_TEST_GATE=gate.port)], _meta=PATIENT)
    prompt = shared.prompt(session, "use the slow one")
    assert gate.reached.wait(30)
    shared.cancel(session)
    assert shared.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert shared.open_calls() == []
    gate.open()


def test_slow_server(shared: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A server that takes its time holds the first prompt for no longer than the bound, however long it may take to
    start; it is told by its name, once, and its tools are there when it is."""
    gate = Gate()
    a_day = {"claudeCode": {"options": {"env": {"MCP_TIMEOUT": "86400000"}}}}
    servers = [server("late", MCP_TEST_START=gate.port), server("tiny")]
    session = shared.new_session(tmp_path, mcpServers=servers, _meta=a_day)
    *told, answer = say(shared, session, "hello there")
    late = "Its tools are missing from this turn. Run /mcp to see whether it is."
    assert [text for text in told if '"late"' in text] == [f'**MCP server "late" is not connected yet:** {late}\n\n']
    assert answer == "echo: hello there"
    assert gate.reached.wait(TIMEOUT)
    gate.open()
    shared.wait_for(lambda seen: "mcp:late:greet" in offered(seen, session), "the late server's prompt")
    model.on("use the late one", [[UseTool("mcp__late__echo", {"text": "at last"})], [Say("used")]])
    assert say(shared, session, "use the late one") == ["used"]
    assert "echo: at last" in str(shared.updates("tool_call_update")[-1]["content"])


def secret(server: OAuthServer) -> dict[str, Any]:
    return {"type": "http", "name": "secret", "url": server.url, "headers": []}


def completed(seen: list[Seen]) -> list[Any]:
    return [item.message["params"] for item in seen if item.message.get("method") == "elicitation/complete"]


def sign_in(agent: AgentProcess, number: int) -> None:
    """Do what the `number`th elicitation asks, as a person with a browser does it; return when it is told as done."""
    asked = elicitation(agent, number)
    assert (asked["params"]["mode"], asked["params"]["message"]) == ("url", "Authenticate with MCP server secret")
    before = len(completed(agent.seen))
    answer(agent, asked, "accept")
    visit(asked["params"]["url"])
    agent.wait_for(lambda seen: len(completed(seen)) > before, "the end of the sign-in")
    assert completed(agent.seen)[-1] == {"elicitationId": asked["params"]["elicitationId"]}


def test_sign_in(model: ScriptedModel, tmp_path: Path) -> None:
    """A server that wants to be signed in to: the client is sent to its address, and told when it is connected; from
    then on its tools are there. Nothing is called missing."""
    model.on("open it", [[UseTool("mcp__secret__open")], [Say("opened")]])
    with OAuthServer() as server, AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize({"elicitation": {"url": {}}})
        session = agent.new_session(tmp_path / "work", mcpServers=[secret(server)], _meta=PATIENT)
        sign_in(agent, 1)
        assert len(completed(agent.seen)) == 1
        assert say(agent, session, "/mcp") == ["**MCP servers:** 1 (1 connected)\n\n**Connected**\n- `secret`: 1 tool"]
        assert say(agent, session, "open it") == ["opened"]
        assert "it is open" in str(agent.updates("tool_call_update")[-1]["content"])


def test_sign_in_after_a_reconnect(model: ScriptedModel, tmp_path: Path) -> None:
    """Who does not want to sign in is asked again by a reconnect, and by nothing else."""
    needs = f"**MCP servers:** 1 (1 needs authentication)\n\n**Needs authentication**\n- `secret`\n\n{HINT}"
    with OAuthServer() as server, AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize({"elicitation": {"url": {}}})
        session = agent.new_session(tmp_path / "work", mcpServers=[secret(server)], _meta=PATIENT)
        answer(agent, elicitation(agent, 1), "decline")
        assert say(agent, session, "hello") == ["echo: hello"]
        assert say(agent, session, "/mcp") == [needs]
        told = f"- Couldn't reconnect `secret`: Server status: needs-auth\n\n{needs}"
        assert say(agent, session, "/mcp reconnect secret") == [told]
        sign_in(agent, 2)
        assert say(agent, session, "/mcp")[0].startswith("**MCP servers:** 1 (1 connected)")


def test_needs_authentication(model: ScriptedModel, tmp_path: Path) -> None:
    """A client that cannot be sent to an address is told of the server by its name, once: as a notice where it takes
    notices, else in the chat."""
    title, description = (
        'MCP server "secret" needs authentication',
        "Its tools are unavailable until the server is authenticated.",
    )
    with OAuthServer() as server:
        with AgentProcess(model, tmp_path / "home") as agent:
            agent.initialize({"elicitation": {"form": {}}})
            session = agent.new_session(tmp_path / "work", mcpServers=[secret(server)], _meta=PATIENT)
            assert say(agent, session, "first") == [f"**{title}:** {description}\n\n", "echo: first"]
            assert say(agent, session, "second") == ["echo: second"]
        with AgentProcess(model, tmp_path / "other home") as agent:
            agent.initialize({"session": {"notices": {}}})
            session = agent.new_session(tmp_path / "work", mcpServers=[secret(server)], _meta=PATIENT)
            assert say(agent, session, "first") == ["echo: first"]
            assert say(agent, session, "second") == ["echo: second"]
            notice = {"sessionUpdate": "notice", "severity": "info", "title": title, "description": description}
            assert agent.updates("notice") == [notice]


def test_servers_over_http(shared: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A client's servers over HTTP and over SSE give their tools like one over stdio."""
    uses = [UseTool(f"mcp__{name}__echo", {"text": name}) for name in ("http", "sse")]
    model.on("use the far ones", [[*uses], [Say("both used")]])
    with over_http("streamable-http") as http, over_http("sse") as sse:
        headers = [{"name": "X-Test", "value": "1"}]
        servers = [
            {"type": "http", "name": "http", "url": http, "headers": headers},
            {"type": "sse", "name": "sse", "url": sse, "headers": []},
        ]
        session = shared.new_session(tmp_path, mcpServers=servers, _meta=PATIENT)
        before = len(shared.seen)
        assert say(shared, session, "use the far ones") == ["both used"]
        ended = [item.update for item in shared.seen[before:] if item.update.get("status") in ("completed", "failed")]
        assert ["echo: http" in str(ended[0]), "echo: sse" in str(ended[1])] == [True, True]
        shared.answer(shared.request("session/close", {"sessionId": session}))
