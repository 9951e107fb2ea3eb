"""Control responses: every form of answer as Claude Code reads it; and requests that nobody serves."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpbridge.claude import control
from middleware.messages import (
    Answer,
    AskWithdrawn,
    Message,
    PermissionAnswer,
    PermissionAsk,
    ToolGate,
    ToolGateAnswer,
)
from tests.claude.recorded import ALL, JSON


def success(response: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "a", "response": response},
    }


def error(text: str) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "error", "request_id": "a", "error": text}}


def permission(**members: Any) -> PermissionAnswer:
    return PermissionAnswer(session="s", ask="a", **members)


DENIAL = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "The user cancelled this prompt.",
    }
}


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        (permission(decision="allow"), success({"behavior": "allow", "updatedInput": {}})),
        (
            permission(
                decision="allow", updated_input={"command": "ls"}, tool_use="t", classification="user_temporary"
            ),
            success(
                {
                    "behavior": "allow",
                    "updatedInput": {"command": "ls"},
                    "toolUseID": "t",
                    "decisionClassification": "user_temporary",
                }
            ),
        ),
        (
            permission(
                decision="allow",
                updated_permissions=({"type": "setMode", "mode": "acceptEdits"},),
                classification="user_permanent",
            ),
            success(
                {
                    "behavior": "allow",
                    "updatedInput": {},
                    "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits"}],
                    "decisionClassification": "user_permanent",
                }
            ),
        ),
        (
            permission(decision="allow", updated_permissions=()),
            success({"behavior": "allow", "updatedInput": {}, "updatedPermissions": []}),
        ),
        (
            permission(decision="deny", message="User refused permission to run tool", classification="user_reject"),
            success(
                {
                    "behavior": "deny",
                    "message": "User refused permission to run tool",
                    "decisionClassification": "user_reject",
                }
            ),
        ),
        (
            permission(decision="deny", message="no", interrupt=True, tool_use="t"),
            success({"behavior": "deny", "message": "no", "interrupt": True, "toolUseID": "t"}),
        ),
        (permission(decision="abort", message="Tool use aborted"), error("Tool use aborted")),
        (ToolGateAnswer(session="s", ask="a"), success({})),
        (ToolGateAnswer(session="s", ask="a", deny="The user cancelled this prompt."), success(DENIAL)),
    ],
)
def test_answers(answer: Answer, response: dict[str, Any]) -> None:
    """Each answer is the control response that Claude Code reads it in, the words of an abort too (facts 17), and it is
    JSON."""
    assert control.response_to(answer) == response
    assert json.loads(json.dumps(response)) == response


@attrs.frozen(kw_only=True)
class _Unknown(Answer):
    """An answer that this wire has no form for."""


def test_an_answer_without_a_form() -> None:
    """Claude Code is not left waiting for an answer that cannot be written."""
    assert control.response_to(_Unknown(session="s", ask="a"))["response"]["subtype"] == "error"


def test_recorded_permissions() -> None:
    """Every recorded `can_use_tool` is an ask with its tool, its input and its tool use; a withdrawal names it."""
    asks = [frame for frame in ALL if frame["type"] == "control_request"]
    assert len(asks) > 5
    for frame in asks:
        ask = control.ask_of("s", frame)
        assert isinstance(ask, PermissionAsk)
        request = frame["request"]
        assert (ask.session, ask.ask) == ("s", frame["request_id"])
        assert (ask.name, ask.input) == (request["tool_name"], request["input"])
        assert (ask.tool_use, ask.agent) == (request["tool_use_id"], request.get("agent_id"))
        assert ask.suggestions == request.get("permission_suggestions")
    [withdrawn] = [frame for frame in ALL if frame["type"] == "control_cancel_request"]
    assert control.withdrawal_of("s", withdrawn) == AskWithdrawn(session="s", ask=withdrawn["request_id"])
    assert withdrawn["request_id"] in [frame["request_id"] for frame in asks]


def requested(**request: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "a", "request": request}


def test_the_gate() -> None:
    """Our PreToolUse hook is an ask about its tool use; another's hook is refused."""
    hook = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t", "agent_id": "g"}
    frame = requested(subtype="hook_callback", callback_id=control.GATE, input=hook, tool_use_id="t")
    assert control.notices_of("s", frame) is None
    assert control.ask_of("s", frame) == ToolGate(
        session="s", ask="a", tool_use="t", agent="g", name="Bash", input={"command": "ls"}
    )
    stranger = requested(subtype="hook_callback", callback_id="hook_0", input=hook, tool_use_id="t")
    refusal = control.ask_of("s", stranger)
    assert not isinstance(refusal, Message)
    assert refusal["response"]["subtype"] == "error"


@pytest.mark.parametrize("subtype", ["oauth_token_refresh", "something_new", None, 5])
def test_requests_that_nobody_serves(subtype: Any) -> None:
    """What is not served is refused at once under its own id, so that Claude Code never waits."""
    refusal = control.ask_of("s", requested(subtype=subtype))
    assert refusal == error(f"Unsupported control request subtype: {subtype}")


def test_initialize_registers_our_hooks() -> None:
    """What is added to `initialize` names our hooks by the ids that come back with them, and it is JSON."""
    hooks = json.loads(json.dumps(control.INITIALIZE))["hooks"]
    assert hooks["PreToolUse"] == [{"matcher": None, "hookCallbackIds": [control.GATE]}]
    assert hooks["PostToolUse"] == [{"matcher": None, "hookCallbackIds": [control.RESPONSE]}]


SUBTYPES = st.sampled_from(["can_use_tool", "hook_callback", "elicitation", "mcp_message"])
MEMBERS = st.sampled_from(
    ["tool_name", "input", "tool_use_id", "agent_id", "permission_suggestions", "mcp_server", "message", "mode", "url"]
)
CALLBACKS = st.sampled_from([control.GATE, control.RESPONSE, control.TODOS])


@given(
    st.dictionaries(MEMBERS, JSON, max_size=5), SUBTYPES | JSON, CALLBACKS | JSON, st.dictionaries(MEMBERS, JSON) | JSON
)
@settings(max_examples=300, deadline=None)
def test_no_request_breaks_it(members: dict[str, Any], subtype: Any, callback: Any, hook: Any) -> None:
    """Whatever a request holds, it is an ask, a notice or a refusal under its id."""
    frame = requested(**members, subtype=subtype, callback_id=callback, hook_input=hook)
    frame["request"]["input"] = hook
    if control.notices_of("s", frame) is not None:
        assert control.noted(frame)["response"]["request_id"] == "a"
        return
    ask = control.ask_of("s", frame)
    if isinstance(ask, Message):
        assert ask.opens == ("ask", "a")
    else:
        assert ask["response"]["request_id"] == "a"


@given(JSON, JSON)
@settings(max_examples=100, deadline=None)
def test_no_frame_breaks_it(request: Any, number: Any) -> None:
    """A request without a usable body is refused like any other."""
    frame = {"type": "control_request", "request_id": number, "request": request}
    assert control.notices_of("s", frame) is None
    assert not isinstance(control.ask_of("s", frame), Message)
