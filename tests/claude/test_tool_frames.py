"""Frames about tools: permission asks with all their members, hooks, denials, progress."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude import control
from acpbridge.claude.events import messages_of
from middleware.messages import (
    MemoryRecalled,
    Message,
    PermissionAsk,
    SessionRestarted,
    TodoChanged,
    ToolDenied,
    ToolProgress,
    ToolResponse,
)


def requested(request: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "r1", "request": request}


def test_every_member_of_an_ask() -> None:
    """A `can_use_tool` request is taken over whole; what has no name of its own is kept in the details."""
    frame = requested(
        {
            "subtype": "can_use_tool",
            "tool_name": "Bash",
            "input": {"command": "x"},
            "tool_use_id": "t",
            "agent_id": "a1",
            "permission_suggestions": [{"type": "setMode"}],
            "display_name": "Bash",
            "decision_reason": "why",
            "blocked_path": "/etc",
            "matched_ask_rule": {"source": "userSettings"},
            "suppress_always_allow_rule": True,
            "default_to_no": True,
            "mcp_server": {"name": "tiny"},
            "description": "x",
        }
    )
    assert control.ask_of("s", frame) == PermissionAsk(
        session="s",
        ask="r1",
        tool_use="t",
        agent="a1",
        name="Bash",
        input={"command": "x"},
        suggestions=[{"type": "setMode"}],
        display_name="Bash",
        decision_reason="why",
        blocked_path="/etc",
        ask_rule={"source": "userSettings"},
        no_lasting=True,
        default_to_no=True,
        mcp_server={"name": "tiny"},
        details={"description": "x"},
    )


HOOKS: list[tuple[str, dict[str, Any], tuple[Message, ...]]] = [
    (
        control.RESPONSE,
        {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_response": {"x": 1}, "agent_id": "a1"},
        (ToolResponse(session="s", tool_use="t", name="Edit", response={"x": 1}, agent="a1"),),
    ),
    (
        control.TODOS,
        {"hook_event_name": "TaskCreated", "task_id": "1", "task_subject": "one", "task_description": "d"},
        (TodoChanged(session="s", todo="1", subject="one", description="d"),),
    ),
    (
        control.TODOS,
        {"hook_event_name": "TaskCompleted", "task_id": "1", "task_subject": "one"},
        (TodoChanged(session="s", todo="1", subject="one", done=True),),
    ),
    (control.TODOS, {"hook_event_name": "TaskCreated"}, ()),
]


@pytest.mark.parametrize(("hook", "input", "expected"), HOOKS)
def test_hooks_that_only_tell(hook: str, input: dict[str, Any], expected: tuple[Message, ...]) -> None:
    """A hook that wants no decision is a message, and is answered at once with nothing."""
    frame = requested({"subtype": "hook_callback", "callback_id": hook, "tool_use_id": "t", "input": input})
    assert control.notices_of("s", frame) == expected
    assert control.noted(frame)["response"] == {"subtype": "success", "request_id": "r1", "response": {}}


@pytest.mark.parametrize(
    "request_",
    [{"subtype": "can_use_tool"}, {"subtype": "hook_callback", "callback_id": control.GATE}, {}],
    ids=["ask", "gate", "nothing"],
)
def test_requests_that_want_an_answer(request_: dict[str, Any]) -> None:
    """What wants a decision is no notice."""
    assert control.notices_of("s", requested(request_)) is None


def test_hooks_are_registered() -> None:
    """Each of our hooks is asked for at the handshake."""
    hooks = control.INITIALIZE["hooks"]
    ids = {event: entries[0]["hookCallbackIds"] for event, entries in hooks.items()}
    assert ids["PreToolUse"] == [control.GATE]
    assert ids["PostToolUse"] == [control.RESPONSE]
    assert ids["TaskCreated"] == ids["TaskCompleted"] == [control.TODOS]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            {
                "type": "system",
                "subtype": "permission_denied",
                "tool_use_id": "t",
                "message": "no",
                "decision_reason_type": "rule",
                "decision_reason": "Bash(rm:*)",
            },
            [ToolDenied(session="s", tool_use="t", message="no", reason_type="rule", reason="Bash(rm:*)")],
        ),
        ({"type": "system", "subtype": "permission_denied"}, []),
        (
            {
                "type": "tool_progress",
                "tool_use_id": "t",
                "parent_tool_use_id": "p",
                "elapsed_time_seconds": 3,
                "subagent_type": "general-purpose",
                "subagent_retry": {"attempt": 1},
            },
            [
                ToolProgress(
                    session="s",
                    tool_use="t",
                    parent="p",
                    elapsed=3.0,
                    subagent_type="general-purpose",
                    subagent_retry={"attempt": 1},
                )
            ],
        ),
        (
            {"type": "tool_progress", "tool_use_id": "t", "elapsed_time_seconds": True},
            [ToolProgress(session="s", tool_use="t")],
        ),
        (
            {
                "type": "system",
                "subtype": "memory_recall",
                "mode": "select",
                "uuid": "u",
                "memories": [{"path": "/m"}, 3],
            },
            [MemoryRecalled(session="s", recall="u", memories=({"path": "/m"},))],
        ),
        ({"type": "conversation_reset", "new_conversation_id": "x"}, [SessionRestarted(session="s")]),
    ],
)
def test_frames(frame: dict[str, Any], expected: list[Message]) -> None:
    """What a frame about tools means."""
    assert list(messages_of("s", frame)) == expected
