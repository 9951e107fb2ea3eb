"""How messages are worded in ACP version 1: pure functions, messages of `middleware` -> ACP types.

A second version of the protocol would be a second module like this one.
"""

from __future__ import annotations

from typing import Any

from middleware import acp
from middleware.errors import Failure
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

from .handshake import PROTOCOL_VERSION, version_asked

UNSUPPORTED_PROTOCOL_VERSION = -32022


def unsupported_version(requested: int) -> Failure:
    return Failure(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"Unsupported protocol version: {requested}",
        {"requested": requested, "supported": [PROTOCOL_VERSION]},
    )


def lenient_params(method: str, params: Any) -> Any:
    """What real clients send in place of what ACP says (examples/clients 13): a version as a text, a prompt too."""
    if not isinstance(params, dict):
        return params
    if method == "initialize":
        return {**params, "protocolVersion": version_asked(params)} if "protocolVersion" in params else params
    if method == "session/prompt" and isinstance(params.get("prompt"), str):
        return {**params, "prompt": [{"type": "text", "text": params["prompt"]}]}
    return params


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


def session_update(message: Text | Usage | ToolCall | ToolCallUpdate | Update) -> dict[str, Any]:
    """The params of `session/update`, as JSON values."""
    return {"sessionId": message.session, "update": acp.unstructure(_update(message), acp.SessionUpdate)}


def _update(message: Text | Usage | ToolCall | ToolCallUpdate | Update) -> acp.SessionUpdate:
    match message:
        case Text():
            chunk = acp.AgentThoughtChunk if isinstance(message, Thought) else acp.AgentMessageChunk
            return chunk(
                content=acp.TextContent(text=message.text),
                message_id=message.message,
                meta={"claudeCode": {"parentToolUseId": message.parent}} if message.parent is not None else None,
            )
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
