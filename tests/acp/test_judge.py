"""The judge of conversations: what it lets pass, and that it objects to everything else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acp.judge import Judge


def rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def update(**members: Any) -> dict[str, Any]:
    return rpc(method="session/update", params={"sessionId": "s", "update": members})


PROMPT = rpc(id=7, method="session/prompt", params={"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]})
ASK = rpc(
    id=7,
    method="session/request_permission",
    params={
        "sessionId": "s",
        "toolCall": {"toolCallId": "t"},
        "options": [{"optionId": "a", "name": "A", "kind": "allow_once"}],
    },
)


def test_a_conversation_passes() -> None:
    """Requests of both ends with the same id, notifications, results, errors, extensions; then nothing is owed."""
    judge = Judge()
    judge.from_client(rpc(id="i", method="initialize", params={"protocolVersion": 1}))
    judge.from_agent(rpc(id="i", result={"protocolVersion": 1}))
    judge.from_client(PROMPT)
    judge.from_agent(update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "x"}))
    judge.from_agent(ASK)
    judge.from_client(rpc(method="session/cancel", params={"sessionId": "s"}))
    assert judge.unanswered() == [("agent", "session/request_permission"), ("client", "session/prompt")]
    judge.from_client(rpc(id=7, result={"outcome": {"outcome": "cancelled"}}))
    judge.from_agent(rpc(id=7, result={"stopReason": "cancelled"}))
    judge.from_client(rpc(id=8, method="logout"))
    judge.from_client(rpc(method="$/cancel_request", params={"requestId": 8}))
    judge.from_agent(rpc(id=8, error={"code": -32800, "message": "Request cancelled"}))
    judge.from_client(rpc(id=9, method="_session/goal", params={"x": 1}))
    judge.from_agent(rpc(id=9, result=["anything"]))
    judge.from_agent(rpc(method="_auth/status_update", params=[]))
    judge.from_agent(rpc(id=None, error={"code": -32700, "message": "Parse error"}))
    assert judge.unanswered() == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ([], "no JSON-RPC 2.0 message"),
        ({"id": 1, "method": "x"}, "no JSON-RPC 2.0 message"),
        (rpc(id=True, method="logout"), "neither a string nor an integer"),
        (rpc(id=1.5, method="logout"), "neither a string nor an integer"),
        (rpc(id=1, method=5), "the method 5 is no string"),
        (rpc(id=1), "neither a request nor a response"),
        (rpc(method="_x", params="p"), "_x: params are neither an object nor a list"),
        (rpc(id=1, method="logout", result={}), "request and response in one"),
        (rpc(id=1, method="session/prompt", params={}), "session/prompt is no request that the agent sends"),
        (rpc(method="session/unknown", params={}), "session/unknown is no notification"),
        (rpc(method="session/request_permission", params=ASK["params"]), "is no notification that the agent sends"),
        (rpc(id=1, method="session/update", params={}), "session/update is no request"),
        (update(sessionUpdate="subagent_spawned"), "params of session/update: "),
        (update(sessionUpdate="tool_call"), "$.update: 'toolCallId' is a required property; $.update: 'title' is a"),
        (update(sessionUpdate="tool_call", title="x"), "$.update: 'toolCallId' is a required property"),
        (
            update(sessionUpdate="tool_call", title="x", toolCallId="t", status="done"),
            "$.update.status: 'pending' was expected",
        ),
        (
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": 5}),
            "params of session/update: $.update.content.text: 5 is not of type 'string'",
        ),
        (rpc(method="session/update"), "'sessionId' is a required property"),
        (rpc(id=99, result={}), "answer to 99, which is no open request"),
        (rpc(id=None, result={}), "answer to None, which is no open request"),
        (rpc(id=7, result={}, error={"code": 1, "message": "x"}), "neither a request nor a response"),
        (rpc(id=7, result={"stopReason": "done"}), "result of session/prompt: $.stopReason"),
        (rpc(id=7, result=None), "result of session/prompt: $: None is not of type 'object'"),
        (rpc(id=7, error={"code": "x", "message": "m"}), "error of session/prompt: $.code"),
        (rpc(id=7, error={"code": 1}), "'message' is a required property"),
    ],
)
def test_what_the_agent_may_not_say(message: object, problem: str) -> None:
    """Each fault raises an AssertionError that names method, path and problem."""
    judge = Judge()
    judge.from_client(PROMPT)
    with pytest.raises(AssertionError) as caught:
        judge.from_agent(message)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("agent: ")


def test_the_client_is_judged_as_well() -> None:
    """The stand-in for an editor must not say what no editor may."""
    judge = Judge()
    judge.from_agent(ASK)
    with pytest.raises(AssertionError, match=r"client: result of session/request_permission: \$\.outcome"):
        judge.from_client(rpc(id=7, result={"outcome": {"outcome": "selected"}}))
    with pytest.raises(AssertionError, match="session/update is no notification that the client sends"):
        judge.from_client(update(sessionUpdate="plan", entries=[]))


def test_every_request_has_one_answer() -> None:
    """A second answer is an answer to nothing, and an id is not used again before its answer."""
    judge = Judge()
    judge.from_client(PROMPT)
    with pytest.raises(AssertionError, match="the id 7 is that of an open request"):
        judge.from_client(PROMPT)
    judge.from_agent(rpc(id=7, result={"stopReason": "end_turn"}))
    with pytest.raises(AssertionError, match="which is no open request"):
        judge.from_agent(rpc(id=7, result={"stopReason": "end_turn"}))
    judge.from_client(PROMPT)
