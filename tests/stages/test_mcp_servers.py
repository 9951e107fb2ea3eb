"""The client's MCP servers: told by name when one is missing, and signed in to by URL elicitation."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message, Pipeline, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    AskWithdrawn,
    ClaudeStarted,
    Closing,
    Elicitation,
    ElicitationAnswer,
    ElicitationCompleted,
    ElicitationReply,
    Initialized,
    McpReconnected,
    Request,
    Response,
    SessionClosed,
    Update,
)
from middleware.profile import ClientProfile
from middleware.stages import McpServers
from middleware.stages.mcp_servers import CALL_WITHIN, POLL, SIGN_IN_WITHIN, STARTS_WITHIN
from middleware.stepping import StepRunner
from middleware.testing import assert_one_answer, check_stage

S = "s"
URL: dict[str, Any] = {"elicitation": {"url": {}}}
NEEDS = {"mcpServers": [{"name": "a", "status": "needs-auth"}, {"name": "b", "status": "needs-auth"}]}
DONE = {"mcpServers": [{"name": "a", "status": "connected"}, {"name": "b", "status": "needs-auth"}]}
ADDRESS = {"requiresUserAction": True, "authUrl": "https://x.test"}


def setup(run: StepRunner, *names: str, meta: dict[str, Any] | None = None) -> None:
    """Open a session with these servers."""
    servers = [acp.McpServerStdio(name=name, command="c", args=[], env=[]) for name in names]
    params = acp.NewSessionRequest(cwd="/", mcp_servers=servers, meta=meta)
    run.feed(Request(request=1, method="session/new", params=params)).run()
    run.feed(Response(request=1, result=acp.NewSessionResponse(session_id=S))).run()


def runner(capabilities: dict[str, Any], *names: str) -> StepRunner:
    run = StepRunner(Pipeline([McpServers(new_uuid=lambda: "u")]))
    run.feed(Initialized(profile=ClientProfile(capabilities=capabilities))).run()
    setup(run, *names)
    run.client.clear()
    return run


def starts(**servers: str) -> ClaudeStarted:
    named = {name.replace("_", "-"): status.replace("_", "-") for name, status in servers.items()}
    return ClaudeStarted(session=S, mcp_servers=tuple(named.items()))


def told(run: StepRunner) -> list[Any]:
    return [message.update for message in run.client if isinstance(message, Update)]


def calls(run: StepRunner) -> list[str]:
    return [message.name for message in run.agent if isinstance(message, AgentCall)]


def reply(run: StepRunner, result: Any = None, failure: Failure | None = None) -> None:
    call = [message for message in run.agent if isinstance(message, AgentCall)][-1]
    run.feed(AgentReply(session=S, call=call.call, result=result, failure=failure)).run()


def asked(run: StepRunner) -> list[Elicitation]:
    return [message for message in run.client if isinstance(message, Elicitation)]


def completed(run: StepRunner) -> list[Message]:
    return [message for message in run.client if isinstance(message, ElicitationCompleted | AskWithdrawn)]


def person(run: StepRunner, action: Any) -> None:
    run.feed(ElicitationReply(session=S, ask=asked(run)[-1].ask, action=action)).run()


# ------------------------------------------------------------------------------------------ what is missing


def test_failed_is_told_once() -> None:
    """A server of the client's that failed is told by name, once a session; one that it did not send is not."""
    run = runner({}, "a")
    run.feed(starts(a="failed", other="failed"), starts(a="failed")).run()
    [update] = told(run)
    assert isinstance(update, acp.AgentMessageChunk)
    assert update.meta == {"claudeCode": {"kind": "mcpServerStatus", "server": "a", "status": "failed"}}
    text = 'MCP server "a" failed to start:** Its tools are unavailable in this session. Run /mcp for the error.'
    assert update.content == acp.TextContent(text=f"**{text}\n\n")


def test_notices() -> None:
    """A client that takes notices is given one."""
    run = runner({"session": {"notices": {}}}, "a", "b")
    run.feed(starts(a="failed", b="needs_auth")).run()
    first, second = told(run)
    assert (first.severity, first.title) == ("warning", 'MCP server "a" failed to start')
    assert (second.severity, second.title) == ("info", 'MCP server "b" needs authentication')
    assert second.description == "Its tools are unavailable until the server is authenticated."


def test_needs_authentication_with_a_way() -> None:
    """A server that can be signed in to is not called missing."""
    run = runner(URL, "a")
    run.feed(starts(a="needs_auth")).run()
    assert told(run) == []


def test_late() -> None:
    """A server that is not there yet is told once, and once more when it has failed; one that is there is not."""
    run = runner({"session": {"notices": {}}}, "a", "b")
    run.feed(starts(a="pending", b="connected"), starts(a="pending"), starts(a="failed"), starts(a="pending")).run()
    assert [update.title for update in told(run)] == [
        'MCP server "a" is not connected yet',
        'MCP server "a" failed to start',
    ]


def test_servers_of_the_options() -> None:
    """Servers that the client gave in `_meta` are its own, too."""
    run = StepRunner(Pipeline([McpServers()]))
    setup(run, meta={"claudeCode": {"options": {"mcpServers": {"m": {}}}}})
    run.feed(starts(m="failed")).run()
    assert len(told(run)) == 1


def test_what_is_not_seen_in_a_name() -> None:
    """A server's name is shown with what is not seen of it spelled, since a person types it; data keeps it."""
    name = "a\u202eb"
    run = runner(URL, name)
    run.feed(ClaudeStarted(session=S, mcp_servers=((name, "failed"),))).run()
    [update] = told(run)
    assert update.content.text.startswith('**MCP server "a<U+202E>b" failed to start:**')
    assert update.meta["claudeCode"]["server"] == name
    reply(run, {"mcpServers": [{"name": name, "status": "needs-auth"}]})
    assert run.agent[-1].arguments == {"serverName": name}  # type: ignore[attr-defined]
    reply(run, {**ADDRESS, "authUrl": "https://x.test/\u202ea"})
    assert asked(run)[0].message == "Authenticate with MCP server a<U+202E>b"
    assert asked(run)[0].url == "https://x.test/%E2%80%AEa"


# ------------------------------------------------------------------------------------------ signing in


def test_sign_in() -> None:
    """Status, address, the person's question, a look each second, and the end is told; then the next server."""
    run = runner(URL, "a", "b")
    assert calls(run) == ["mcp_status"]
    reply(run, NEEDS)
    assert run.agent[-1].arguments == {"serverName": "a"}  # type: ignore[attr-defined]
    reply(run, ADDRESS)
    [question] = asked(run)
    assert (question.mode, question.url, question.elicitation) == ("url", "https://x.test", "mcp-oauth-u")
    assert (question.message, question.server) == ("Authenticate with MCP server a", "a")
    assert calls(run) == ["mcp_status", "mcp_authenticate", "mcp_status"]
    reply(run, NEEDS)
    run.advance(POLL - 0.001)
    assert len(calls(run)) == 3
    run.advance(0.001)
    assert len(calls(run)) == 4
    person(run, "accept")
    reply(run, DONE)
    assert completed(run) == [ElicitationCompleted(session=S, elicitation="mcp-oauth-u")]
    assert run.agent[-1].arguments == {"serverName": "b"}  # type: ignore[attr-defined]
    reply(run, {"requiresUserAction": False})
    run.advance(SIGN_IN_WITHIN)
    assert len(asked(run)) == 1
    assert_one_answer(run)


def test_still_connecting() -> None:
    """A server that still connects is looked at again each second, for a while; then it is left be."""
    pending = {"mcpServers": [{"name": "a", "status": "pending"}, {"name": "other", "status": "pending"}]}
    run = runner(URL, "a")
    reply(run, pending)
    run.advance(POLL)
    reply(run, NEEDS)
    assert calls(run) == ["mcp_status", "mcp_status", "mcp_authenticate"]
    run = runner(URL, "a")
    for _ in range(int(STARTS_WITHIN / POLL) + 5):
        reply(run, pending)
        run.advance(POLL)
    assert len(calls(run)) == STARTS_WITHIN / POLL + 1
    assert asked(run) == []


def test_connected_before_the_person_answers() -> None:
    """The server is connected while the question is open: it is taken back, and told as done."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    reply(run, DONE)
    assert completed(run) == [
        AskWithdrawn(session=S, ask="mcp-oauth-u"),
        ElicitationCompleted(session=S, elicitation="mcp-oauth-u"),
    ]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_the_person_does_not_want(action: str) -> None:
    """Without an accept the sign-in ends at once: nothing is told as done, and nobody looks any more."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    reply(run, NEEDS)
    person(run, action)
    number = len(calls(run))
    run.advance(SIGN_IN_WITHIN)
    assert completed(run) == []
    assert len(calls(run)) == number


def test_denied_by_a_stage() -> None:
    """A stage that answers in the person's place, as in a cancel's window, ends it too."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    run.feed(ElicitationAnswer(session=S, ask="mcp-oauth-u", action="cancel")).run()
    run.advance(SIGN_IN_WITHIN)
    assert calls(run) == ["mcp_status", "mcp_authenticate", "mcp_status"]


@pytest.mark.parametrize("status", ["failed", "disabled"])
def test_server_goes_another_way(status: str) -> None:
    """A server that fails, is disabled or is gone ends its sign-in, which is told as over."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    reply(run, {"mcpServers": [{"name": "a", "status": status}]})
    assert len(completed(run)) == 2


def test_ten_minutes() -> None:
    """The person has ten minutes."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    for _ in range(int(SIGN_IN_WITHIN / POLL)):
        reply(run, NEEDS)
        run.advance(POLL)
    assert completed(run) == []
    reply(run, NEEDS)
    assert len(completed(run)) == 2


@pytest.mark.parametrize("answer", [{"requiresUserAction": True}, {"requiresUserAction": True, "authUrl": ""}])
def test_no_address(answer: dict[str, Any]) -> None:
    """An answer without an address ends this server's sign-in, not the session's other ones."""
    run = runner(URL, "a", "b")
    reply(run, NEEDS)
    reply(run, answer)
    assert asked(run) == []
    assert run.agent[-1].arguments == {"serverName": "b"}  # type: ignore[attr-defined]


def test_no_answer() -> None:
    """Claude Code fails, or does not answer in time: the next server's turn."""
    for late in (False, True):
        run = runner(URL, "a", "b")
        reply(run, NEEDS)
        if late:
            run.advance(CALL_WITHIN)
        else:
            reply(run, failure=Failure.internal())
        assert run.agent[-1].arguments == {"serverName": "b"}  # type: ignore[attr-defined]


def test_only_the_clients_servers() -> None:
    """Servers that the client did not send are not signed in to."""
    run = runner(URL, "b")
    reply(run, NEEDS)
    assert run.agent[-1].arguments == {"serverName": "b"}  # type: ignore[attr-defined]
    assert calls(runner(URL)) == []


def test_without_urls() -> None:
    """A client without URL elicitation is sent nowhere."""
    assert calls(runner({"elicitation": {"form": {}}}, "a")) == []


def test_after_a_reconnect() -> None:
    """A reconnect of a server that needs it begins a sign-in; one at a time."""
    run = runner(URL, "a")
    reply(run, DONE)
    run.feed(McpReconnected(session=S, servers=("a", "other"))).run()
    assert calls(run) == ["mcp_status", "mcp_status"]
    run.feed(McpReconnected(session=S, servers=("a",))).run()
    assert len(calls(run)) == 2
    assert not any(isinstance(message, McpReconnected) for message in run.client)


@pytest.mark.parametrize("end", [AgentGone(session=S), SessionClosed(session=S)])
def test_end_of_the_session(end: Message) -> None:
    """With its Claude Code the sign-in is over, and the question is taken back."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    run.feed(end).run()
    assert run.client[-2:] == [AskWithdrawn(session=S, ask="mcp-oauth-u"), end]
    run.advance(SIGN_IN_WITHIN)
    assert len(calls(run)) == 3


def test_closing() -> None:
    """A client that is gone is signed in nowhere."""
    run = runner(URL, "a")
    reply(run, NEEDS)
    reply(run, ADDRESS)
    run.feed(Closing()).run()
    run.advance(SIGN_IN_WITHIN)
    assert len(calls(run)) == 3


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(McpServers, [starts(a="failed"), AgentReply(session=S, call="another stage's", result=1)])
