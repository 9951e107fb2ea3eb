"""What streams while the model answers: the rows of `events` for the pieces of a message, thousands in a turn.

Pieces of the main thread and of subagents alike; which of them repeat what a complete message says is a stage's
business (`StreamedText`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from middleware.messages import (
    CompactionSummary,
    Message,
    MessageStarted,
    MessageUsage,
    Text,
    Thought,
    ToolInput,
    ToolUse,
)

from .members import Frame, count_in, object_in, text_in, text_or_none, tokens_of

TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
"""The kinds of blocks that use a tool."""


def _message_start(session: str, frame: Frame) -> Iterable[Message]:
    message = object_in(object_in(frame, "event"), "message")
    cached = object_in(object_in(message, "usage"), "cache_creation")
    yield MessageStarted(
        session=session,
        message=text_in(message, "id"),
        parent=text_or_none(frame, "parent_tool_use_id"),
        model=text_or_none(message, "model"),
        usage=tokens_of(object_in(message, "usage")),
        hour_cache=(count_in(cached, "ephemeral_1h_input_tokens") or 0) > 0,
    )


def _block_start(session: str, frame: Frame) -> Iterable[Message]:
    event = object_in(frame, "event")
    block = object_in(event, "content_block")
    if text_in(block, "type") in TOOL_USES and text_in(block, "id"):
        yield ToolUse(
            session=session,
            tool_use=text_in(block, "id"),
            name=text_in(block, "name"),
            message=text_or_none(frame, "api_message_id"),
            parent=text_or_none(frame, "parent_tool_use_id"),
            block=count_in(event, "index"),
            whole=False,
        )


def _block_delta(session: str, frame: Frame) -> Iterable[Message]:
    event = object_in(frame, "event")
    delta = object_in(event, "delta")
    parent = text_or_none(frame, "parent_tool_use_id")
    message = text_or_none(frame, "api_message_id")
    match delta.get("type"):
        case "text_delta":
            yield Text(session=session, text=text_in(delta, "text"), message=message, parent=parent)
        case "thinking_delta":
            yield Thought(session=session, text=text_in(delta, "thinking"), message=message, parent=parent)
        case "input_json_delta":
            piece = text_in(delta, "partial_json")
            block = count_in(event, "index")
            if piece and block is not None:
                yield ToolInput(session=session, block=block, json=piece, parent=parent)
        case "compaction_delta" if parent is None and text_in(delta, "content"):
            yield CompactionSummary(session=session, text=text_in(delta, "content"))


def _message_delta(session: str, frame: Frame) -> Iterable[Message]:
    usage = object_in(object_in(frame, "event"), "usage")
    yield MessageUsage(
        session=session,
        output=count_in(usage, "output_tokens"),
        input=count_in(usage, "input_tokens"),
        cache_read=count_in(usage, "cache_read_input_tokens"),
        cache_write=count_in(usage, "cache_creation_input_tokens"),
        parent=text_or_none(frame, "parent_tool_use_id"),
    )


STREAM_EVENTS: Mapping[str, Callable[[str, Frame], Iterable[Message]]] = {
    "content_block_delta": _block_delta,
    "content_block_start": _block_start,
    "message_delta": _message_delta,
    "message_start": _message_start,
}
"""By the type of the event."""
