"""Asks of Claude Code and their answers on its wire: control requests in, control responses out. Pure functions.

A request that the bridge does not serve is refused at once, so that Claude Code never waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from loguru import logger

from middleware.messages import (
    Answer,
    Ask,
    AskWithdrawn,
    DialogAnswer,
    Elicitation,
    ElicitationAnswer,
    Message,
    PermissionAnswer,
    PermissionAsk,
    RefusalAsk,
    SubagentPlace,
    SubagentSettings,
    TodoChanged,
    ToolGate,
    ToolGateAnswer,
    ToolResponse,
)

Frame = Mapping[str, Any]

GATE = "acpbridge_tool_gate"
"""The id of our PreToolUse hook."""

RESPONSE = "acpbridge_tool_response"
"""The id of our PostToolUse hook."""

TODOS = "acpbridge_todos"
"""The id of our hooks on Claude's task list."""

SUBAGENT = "acpbridge_subagent"
"""The id of our hooks on a subagent's start and stop: like every hook in one they say where and with what it works."""

NEWS = "acpbridge_news"
"""The id of our hooks on what changes beside the turns; `sessions.news` reads them."""

REFUSAL = "refusal_fallback_prompt"
"""The dialog that can be shown to a client with forms; Claude Code shows none that was not declared."""

INITIALIZE: Mapping[str, Any] = {
    "hooks": {
        event: [{"matcher": None, "hookCallbackIds": [hook]}]
        for event, hook in (
            ("PreToolUse", GATE),
            ("PostToolUse", RESPONSE),
            ("TaskCreated", TODOS),
            ("TaskCompleted", TODOS),
            ("SubagentStart", SUBAGENT),
            ("SubagentStop", SUBAGENT),
            ("ConfigChange", NEWS),
            ("PostModelSwitch", NEWS),
        )
    }
}
"""Members of `initialize` that these asks need."""

_ASK_MEMBERS = frozenset(
    {
        "subtype",
        "tool_name",
        "input",
        "tool_use_id",
        "agent_id",
        "permission_suggestions",
        "display_name",
        "decision_reason",
        "blocked_path",
        "matched_ask_rule",
        "suppress_always_allow_rule",
        "default_to_no",
        "mcp_server",
    }
)


def ask_of(session: str, frame: Frame) -> Message | Frame:
    """The ask that a control request stands for, or the refusal to write back."""
    number = str(frame.get("request_id"))
    request = frame.get("request")
    request = request if isinstance(request, dict) else {}
    if request.get("subtype") == "can_use_tool":
        return _permission(session, number, request)
    if request.get("subtype") == "hook_callback" and request.get("callback_id") == GATE:
        return _gate(session, number, request)
    if request.get("subtype") == "elicitation":
        return _elicitation(session, number, request)
    if request.get("subtype") == "request_user_dialog":
        return _dialog(session, number, request)
    logger.debug("session {}: the control request {} is not served", session, request.get("subtype"))
    return _error(number, f"Unsupported control request subtype: {request.get('subtype')}")


def notices_of(session: str, frame: Frame) -> tuple[Message, ...] | None:
    """What a hook tells that wants no decision, to be answered with `noted` at once; None for any other request."""
    request = frame.get("request")
    request = request if isinstance(request, dict) else {}
    if request.get("subtype") != "hook_callback":
        return None
    hook = request.get("input")
    hook = hook if isinstance(hook, dict) else {}
    match request.get("callback_id"):
        case "acpbridge_tool_response":
            return tuple(_response(session, request, hook))
        case "acpbridge_todos":
            return tuple(_todo(session, hook))
        case "acpbridge_subagent" | "acpbridge_news":
            return ()
    return None


def subagent_of(session: str, frame: Frame) -> tuple[Message, ...]:
    """What any hook that runs for a subagent says of it: where it works, and with what (reference 7.3, D1 and D2)."""
    request = frame.get("request")
    hook = request.get("input") if isinstance(request, dict) and request.get("subtype") == "hook_callback" else None
    agent = _text(hook, "agent_id") if isinstance(hook, dict) else None
    if not isinstance(hook, dict) or agent is None:
        return ()
    cwd, effort = _text(hook, "cwd"), hook.get("effort")
    settings = SubagentSettings(
        session=session,
        agent=agent,
        mode=_text(hook, "permission_mode"),
        effort=_text(effort, "level") if isinstance(effort, dict) else None,
        kind=_text(hook, "agent_type"),
    )
    place = (SubagentPlace(session=session, agent=agent, cwd=cwd),) if cwd is not None else ()
    return (*place, settings)


def noted(frame: Frame) -> Frame:
    """The answer of a hook that wants no decision."""
    return _success(str(frame.get("request_id")), {})


def withdrawal_of(session: str, frame: Frame) -> AskWithdrawn:
    return AskWithdrawn(session=session, ask=str(frame.get("request_id")))


def response_to(answer: Answer) -> Frame:
    """The control response that an answer is."""
    match answer:
        case PermissionAnswer(decision="abort"):
            # Claude Code itself puts "Error: " before it (examples/facts 17).
            return _error(answer.ask, answer.message)
        case PermissionAnswer():
            return _success(answer.ask, _permission_response(answer))
        case ElicitationAnswer():
            content = {"content": dict(answer.content)} if answer.content is not None else {}
            return _success(answer.ask, {"action": answer.action, **content})
        case DialogAnswer(result=None):
            return _success(answer.ask, {"behavior": "cancelled"})
        case DialogAnswer():
            return _success(answer.ask, {"behavior": "completed", "result": answer.result})
        case ToolGateAnswer(deny=None):
            return _success(answer.ask, {})
        case ToolGateAnswer():
            return _success(
                answer.ask,
                {
                    "hookSpecificOutput": {
                        "hookEventName": "PreToolUse",
                        "permissionDecision": "deny",
                        "permissionDecisionReason": answer.deny,
                    }
                },
            )
    return _error(answer.ask, f"{type(answer).__name__} cannot be answered")


def _permission(session: str, number: str, request: Frame) -> PermissionAsk:
    asked, server = request.get("input"), request.get("mcp_server")
    return PermissionAsk(
        session=session,
        ask=number,
        tool_use=_text(request, "tool_use_id"),
        agent=_text(request, "agent_id"),
        name=_text(request, "tool_name") or "",
        input=asked if isinstance(asked, dict) else {},
        suggestions=request.get("permission_suggestions"),
        display_name=_text(request, "display_name"),
        decision_reason=_text(request, "decision_reason"),
        blocked_path=_text(request, "blocked_path"),
        ask_rule=request.get("matched_ask_rule"),
        no_lasting=request.get("suppress_always_allow_rule") is True,
        default_to_no=request.get("default_to_no") is True,
        mcp_server=server if isinstance(server, dict) else None,
        details={key: value for key, value in request.items() if key not in _ASK_MEMBERS},
    )


def _elicitation(session: str, number: str, request: Frame) -> Elicitation | Frame:
    """An MCP server asks the person (reference 10.2). What is neither a form nor a URL is cancelled."""
    schema, url = request.get("requested_schema"), _text(request, "url")
    if request.get("mode") == "url" and url is None:
        return _success(number, {"action": "cancel"})
    return Elicitation(
        session=session,
        ask=number,
        message=_text(request, "message") or "",
        mode="url" if request.get("mode") == "url" else "form",
        schema=schema if isinstance(schema, dict) else {},
        url=url,
        elicitation=_text(request, "elicitation_id"),
        server=_text(request, "mcp_server_name"),
    )


def _dialog(session: str, number: str, request: Frame) -> RefusalAsk | Frame:
    """The dialog about a request that the model has declined; another kind, or one without its models, is cancelled."""
    payload = request.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    original, fallback = _text(payload, "originalModel"), _text(payload, "fallbackModel")
    if request.get("dialog_kind") != REFUSAL or original is None or fallback is None:
        logger.info("session {}: the dialog {} is not served", session, ascii(str(request.get("dialog_kind"))[:80]))
        return _success(number, {"behavior": "cancelled"})
    return RefusalAsk(
        session=session,
        ask=number,
        original_model=original,
        fallback_model=fallback,
        category=_text(payload, "apiRefusalCategory"),
        guidance=_text(payload, "guidanceText"),
    )


def _gate(session: str, number: str, request: Frame) -> Ask:
    hook = request.get("input")
    hook = hook if isinstance(hook, dict) else {}
    asked = hook.get("tool_input")
    return ToolGate(
        session=session,
        ask=number,
        tool_use=_text(request, "tool_use_id") or _text(hook, "tool_use_id"),
        agent=_text(hook, "agent_id"),
        name=_text(hook, "tool_name") or "",
        input=asked if isinstance(asked, dict) else {},
    )


def _response(session: str, request: Frame, hook: Frame) -> Iterator[ToolResponse]:
    tool_use = _text(request, "tool_use_id") or _text(hook, "tool_use_id")
    if tool_use is not None:
        yield ToolResponse(
            session=session,
            tool_use=tool_use,
            name=_text(hook, "tool_name") or "",
            response=hook.get("tool_response"),
            agent=_text(hook, "agent_id"),
        )


def _todo(session: str, hook: Frame) -> Iterator[TodoChanged]:
    todo = _text(hook, "task_id")
    if todo is not None:
        yield TodoChanged(
            session=session,
            todo=todo,
            subject=_text(hook, "task_subject") or "",
            description=_text(hook, "task_description"),
            done=hook.get("hook_event_name") == "TaskCompleted",
        )


def _permission_response(answer: PermissionAnswer) -> Frame:
    response: dict[str, Any] = {"behavior": answer.decision}
    if answer.decision == "allow":
        response["updatedInput"] = dict(answer.updated_input or {})
        if answer.updated_permissions is not None:
            response["updatedPermissions"] = [dict(update) for update in answer.updated_permissions]
    else:
        response["message"] = answer.message
        if answer.interrupt:
            response["interrupt"] = True
    if answer.tool_use is not None:
        response["toolUseID"] = answer.tool_use
    if answer.classification is not None:
        response["decisionClassification"] = answer.classification
    return response


def _text(source: Frame, key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) and value else None


def _success(number: str, response: Frame) -> Frame:
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": number, "response": response},
    }


def _error(number: str, error: str) -> Frame:
    return {"type": "control_response", "response": {"subtype": "error", "request_id": number, "error": error}}
