"""How messages are worded: each kind of update, of answer and of question, as JSON, judged against the schema."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge import wire
from middleware import acp
from middleware.messages import (
    PermissionRequest,
    Text,
    Thought,
    TokenCount,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
    Usage,
)
from tests.acp.official import problems
from tests.acp.sampler import Sampler

TEXT = {"type": "text", "text": "hello"}

UPDATES: list[tuple[Any, dict[str, Any]]] = [
    (
        Text(session="s", text="hello"),
        {"sessionUpdate": "agent_message_chunk", "content": TEXT},
    ),
    (
        Text(session="s", text="hello", message="m", whole=True, synthetic=True),
        {"sessionUpdate": "agent_message_chunk", "content": TEXT, "messageId": "m"},
    ),
    (
        Text(session="s", text="hello", parent="toolu_1"),
        {
            "sessionUpdate": "agent_message_chunk",
            "content": TEXT,
            "_meta": {"claudeCode": {"parentToolUseId": "toolu_1"}},
        },
    ),
    (
        Thought(session="s", text="hello", message="m"),
        {"sessionUpdate": "agent_thought_chunk", "content": TEXT, "messageId": "m"},
    ),
    (
        Usage(session="s", used=5, size=100),
        {"sessionUpdate": "usage_update", "used": 5, "size": 100},
    ),
    (
        Usage(session="s", used=0, size=0, cost=0.0, model="opus", origin="human"),
        {
            "sessionUpdate": "usage_update",
            "used": 0,
            "size": 0,
            "cost": {"amount": 0.0, "currency": "USD"},
            "_meta": {"_claude/model": "opus", "_claude/origin": {"kind": "human"}},
        },
    ),
    (
        ToolCall(
            session="s",
            call=acp.ToolCall(
                tool_call_id="t",
                title="Write a",
                kind="edit",
                status="pending",
                raw_input={"file_path": "/a"},
                locations=[acp.ToolCallLocation(path="/a", line=3)],
                content=[acp.Diff(path="/a", old_text=None, new_text="x")],
                meta={"claudeCode": {"toolName": "Write"}},
            ),
        ),
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Write a",
            "kind": "edit",
            "status": "pending",
            "rawInput": {"file_path": "/a"},
            "locations": [{"path": "/a", "line": 3}],
            "content": [{"type": "diff", "path": "/a", "newText": "x"}],
            "_meta": {"claudeCode": {"toolName": "Write"}},
        },
    ),
    (
        ToolCallUpdate(
            session="s",
            change=acp.ToolCallUpdate(
                tool_call_id="t",
                status="completed",
                content=[acp.Content(content=acp.TextContent(text="hello"))],
                raw_output={"output": "hello"},
            ),
        ),
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "completed",
            "content": [{"type": "content", "content": TEXT}],
            "rawOutput": {"output": "hello"},
        },
    ),
    (
        Update(session="s", update=acp.CurrentModeUpdate(current_mode_id="plan")),
        {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
    ),
    (
        Update(
            session="s",
            update=acp.Plan(entries=[acp.PlanEntry(content="do it", priority="medium", status="in_progress")]),
        ),
        {
            "sessionUpdate": "plan",
            "entries": [{"content": "do it", "priority": "medium", "status": "in_progress"}],
        },
    ),
]


@pytest.mark.parametrize(("message", "update"), UPDATES, ids=lambda value: type(value).__name__)
def test_updates(message: Any, update: dict[str, Any]) -> None:
    """Each kind of update has its words, and they are legal ACP."""
    params = wire.session_update(message)
    assert params == {"sessionId": "s", "update": update}
    assert problems("SessionNotification", params) == []


def test_ready_made_updates() -> None:
    """An update that a stage has made is written as that kind, whatever it is."""
    sampler = Sampler("wire")
    met = set()
    for _ in range(300):
        update = acp.structure(sampler.sample("SessionUpdate"), acp.SessionUpdate)
        params = wire.session_update(Update(session="s", update=update))
        assert problems("SessionNotification", params) == []
        assert acp.structure(params["update"], acp.SessionUpdate) == update
        met.add(params["update"]["sessionUpdate"])
    assert len(met) > 15


def test_a_prompt_that_never_ran_has_no_usage() -> None:
    """Only a turn that ran says what it used."""
    ended = TurnEnded(session="s", request=1, prompt="u", stop_reason="cancelled")
    assert acp.unstructure(wire.prompt_response(ended)) == {"stopReason": "cancelled"}


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
def test_stop_reasons(reason: Any) -> None:
    """Every stop reason is one of ACP's, with the tokens beside it."""
    ended = TurnEnded(session="s", request=1, prompt="u", stop_reason=reason, usage=TokenCount(input=1, cache_read=2))
    response = acp.unstructure(wire.prompt_response(ended))
    assert response["stopReason"] == reason
    assert response["usage"] == {
        "totalTokens": 3,
        "inputTokens": 1,
        "outputTokens": 0,
        "cachedReadTokens": 2,
        "cachedWriteTokens": 0,
    }
    assert problems("PromptResponse", response) == []


def test_a_permission_request() -> None:
    """A permission is asked with the call that it is about, its options in their order, and its `_meta`."""
    request = PermissionRequest(
        session="s",
        ask="a",
        name="Bash",
        call=acp.ToolCallUpdate(tool_call_id="t", title="ls", kind="execute"),
        options=(
            acp.PermissionOption(option_id="2", name="Always", kind="allow_always"),
            acp.PermissionOption(option_id="1", name="Once", kind="allow_once"),
        ),
    )
    params = acp.unstructure(wire.permission_request(request))
    assert params == {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": "ls", "kind": "execute"},
        "options": [
            {"optionId": "2", "name": "Always", "kind": "allow_always"},
            {"optionId": "1", "name": "Once", "kind": "allow_once"},
        ],
    }
    assert problems("RequestPermissionRequest", params) == []


def test_an_unsupported_version() -> None:
    """The refusal of a version says which one was asked for, and which there are."""
    failure = wire.unsupported_version(0)
    assert failure.code == -32022
    assert failure.message == "Unsupported protocol version: 0"
    assert failure.data == {"requested": 0, "supported": [1]}


@pytest.mark.parametrize(
    ("method", "params", "read"),
    [
        ("initialize", {"protocolVersion": "2", "x": 1}, {"protocolVersion": 2, "x": 1}),
        ("initialize", {"protocolVersion": "two"}, {"protocolVersion": "two"}),
        ("initialize", {"x": 1}, {"x": 1}),
        ("session/prompt", {"sessionId": "s", "prompt": "hi"}, {"sessionId": "s", "prompt": [{**TEXT, "text": "hi"}]}),
        ("session/prompt", {"prompt": [TEXT]}, {"prompt": [TEXT]}),
        ("session/new", {"protocolVersion": "1", "prompt": "x"}, {"protocolVersion": "1", "prompt": "x"}),
        ("session/list", None, {}),
        ("session/list", [1], [1]),
    ],
)
def test_what_clients_send_instead(method: str, params: Any, read: Any) -> None:
    """A version or a prompt that is a text, and missing params, are read as what was meant; all else stays."""
    given = dict(params) if isinstance(params, dict) else params
    assert wire.lenient_params(method, given) == read
    assert given == params
