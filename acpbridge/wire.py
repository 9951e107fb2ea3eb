"""How messages are worded in ACP version 1: pure functions, messages of `middleware` -> ACP types.

A second version of the protocol would be a second module like this one.
"""

from __future__ import annotations

from typing import Any

from middleware import acp
from middleware.errors import UNSUPPORTED_PROTOCOL_VERSION, Failure
from middleware.messages import (
    AuthStatus,
    Elicitation,
    ElicitationReply,
    PermissionRequest,
    Question,
    Text,
    Thought,
    TokenCount,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
    Usage,
    UserMessage,
)

from .handshake import PROTOCOL_VERSION, version_asked


def unsupported_version(requested: int) -> Failure:
    return Failure.of(
        UNSUPPORTED_PROTOCOL_VERSION, str(requested), {"requested": requested, "supported": [PROTOCOL_VERSION]}
    )


def lenient_params(method: str, params: Any) -> Any:
    """What real clients send in place of what ACP says (examples/clients 13): a version as a text, a prompt too; no
    params where all are optional, as JSON-RPC allows it."""
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    if method == "initialize":
        return {**params, "protocolVersion": version_asked(params)} if "protocolVersion" in params else params
    if method == "session/prompt" and isinstance(params.get("prompt"), str):
        return {**params, "prompt": [{"type": "text", "text": params["prompt"]}]}
    return params


def current(method: str, params: Any) -> tuple[str, Any]:
    """A request of older clients as this version has it: the model is a config option now (examples/clients 7)."""
    if method == "session/set_model" and isinstance(params, dict):
        kept = {name: value for name, value in params.items() if name != "modelId"}
        return "session/set_config_option", {**kept, "configId": "model", "value": params.get("modelId")}
    return method, params


def prompt_response(message: TurnEnded) -> acp.PromptResponse:
    """The answer of a prompt; one that never ran has no usage (reference 02.6)."""
    if message.usage is None:
        return acp.PromptResponse(stop_reason=message.stop_reason)
    models = [{"model": model, "token_count": _token_count(count)} for model, count in message.model_usage]
    return acp.PromptResponse(
        stop_reason=message.stop_reason,
        usage=acp.Usage(
            total_tokens=message.usage.total,
            input_tokens=message.usage.input,
            output_tokens=message.usage.output,
            cached_read_tokens=message.usage.cache_read,
            cached_write_tokens=message.usage.cache_write,
        ),
        meta={"quota": {"token_count": _token_count(message.usage), "model_usage": models}},
    )


def _token_count(count: TokenCount) -> dict[str, int]:
    return {
        "totalTokens": count.total,
        "inputTokens": count.input,
        "cachedInputTokens": count.cache_read,
        "cachedWriteTokens": count.cache_write,
        "outputTokens": count.output,
        "reasoningOutputTokens": 0,
    }


def session_update(message: Text | Usage | ToolCall | ToolCallUpdate | Update | UserMessage) -> dict[str, Any]:
    """The params of `session/update`, as JSON values."""
    if isinstance(message, Text):
        return {"sessionId": message.session, "update": _chunk(message)}
    return {"sessionId": message.session, "update": acp.unstructure(_update(message), acp.SessionUpdate)}


def _chunk(message: Text) -> dict[str, Any]:
    """A piece of text, written straight: thousands of them come in a turn, and the types would cost half of it."""
    chunk: dict[str, Any] = {
        "sessionUpdate": "agent_thought_chunk" if isinstance(message, Thought) else "agent_message_chunk",
        "content": {"type": "text", "text": message.text},
    }
    if message.message is not None:
        chunk["messageId"] = message.message
    if message.parent is not None:
        chunk["_meta"] = {"claudeCode": {"parentToolUseId": message.parent}}
    return chunk


def _update(message: Usage | ToolCall | ToolCallUpdate | Update | UserMessage) -> acp.SessionUpdate:
    match message:
        case UserMessage():
            return acp.UserMessageChunk(content=message.content, message_id=message.message)
        case Usage():
            return _usage_update(message)
        case ToolCall():
            return message.call
        case ToolCallUpdate():
            return message.change
        case Update():
            return message.update


def _usage_update(message: Usage) -> acp.UsageUpdate:
    meta: dict[str, Any] = {}
    if message.model is not None:
        meta["_claude/model"] = message.model
    if message.origin is not None:
        meta["_claude/origin"] = {"kind": message.origin}
    if message.rate_limit is not None:
        meta["_claude/rateLimit"] = dict(message.rate_limit)
    return acp.UsageUpdate(
        used=message.used,
        size=message.size,
        cost=acp.Cost(amount=message.cost, currency="USD") if message.cost is not None else None,
        meta=meta or None,
    )


def permission_request(message: PermissionRequest) -> acp.RequestPermissionRequest:
    return acp.RequestPermissionRequest(
        session_id=message.session,
        tool_call=message.call,
        options=list(message.options),
        meta=dict(message.meta) if message.meta is not None else None,
    )


def choice(message: Question) -> acp.RequestPermissionRequest:
    """A question for a client that has no forms: one option a choice."""
    call = message.call or acp.ToolCallUpdate(tool_call_id=message.tool_use or message.ask, title=message.message)
    return acp.RequestPermissionRequest(session_id=message.session, tool_call=call, options=list(message.options))


def elicitation(message: Elicitation) -> dict[str, Any]:
    """The params of `elicitation/create`, as JSON values. A schema goes out as it came."""
    params: dict[str, Any] = {"mode": message.mode, "sessionId": message.session, "message": message.message}
    if message.tool_use is not None:
        params["toolCallId"] = message.tool_use
    if message.mode == "url":
        params |= {"url": message.url, "elicitationId": message.elicitation}
    else:
        params["requestedSchema"] = dict(message.schema)
    return params


def auth_status(message: AuthStatus) -> dict[str, Any]:
    """The params of `_auth/status_update`."""
    status: dict[str, Any] = {"kind": message.kind, "label": message.label}
    if message.detail is not None:
        status["detail"] = message.detail
    if message.account:
        status["account"] = dict(message.account)
    return {"authStatus": status}


def elicitation_reply(ask: Elicitation, result: Any) -> ElicitationReply:
    """What the client's result says; one that is no legal answer is a failure."""
    kind = acp.RequestPermissionResponse if _is_choice(ask) else acp.CreateElicitationResponse
    try:
        reply: Any = acp.structure(result, kind)
    except acp.InvalidAcp as error:
        failure = Failure.invalid_params(f"the answer to a question: {error}")
        return ElicitationReply(session=ask.session, ask=ask.ask, failure=failure)
    match reply:
        case acp.RequestPermissionResponse(outcome=acp.SelectedPermissionOutcome() as chosen):
            return ElicitationReply(session=ask.session, ask=ask.ask, action="accept", option=chosen.option_id)
        case acp.ElicitationAcceptAction():
            content = dict(reply.content) if reply.content is not None else None
            return ElicitationReply(session=ask.session, ask=ask.ask, action="accept", content=content)
        case acp.ElicitationDeclineAction():
            return ElicitationReply(session=ask.session, ask=ask.ask, action="decline")
    return ElicitationReply(session=ask.session, ask=ask.ask)


def _is_choice(ask: Elicitation) -> bool:
    return isinstance(ask, Question) and bool(ask.options)
