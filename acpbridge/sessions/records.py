"""The members of a transcript's records: each function gives what is there in the right type, or nothing.

What a record means is the business of who asks (`replay`, `past_traffic`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .transcripts import Record


def content_of(record: Record) -> Any:
    """What a message says: a text, or blocks."""
    message = record.get("message")
    return message.get("content") if isinstance(message, dict) else None


def blocks_of(record: Record) -> Iterator[Mapping[str, Any]]:
    content = content_of(record)
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block


def has_results(record: Record) -> bool:
    return any(block.get("type") == "tool_result" for block in blocks_of(record))


def text_of(content: Any) -> str:
    """All text in a message's content, or in a result's."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict) and "text" in block)


def uuid_of(record: Record) -> str | None:
    value = record.get("uuid")
    return value if isinstance(value, str) else None


def origin_of(record: Mapping[str, Any]) -> str | None:
    """Who put a message into the person's place, in Claude Code's word; None where it does not say."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else None
    return kind if isinstance(kind, str) else None


def model_of(record: Record) -> str | None:
    """The model that gave an answer; None for Claude Code's own words in place of one."""
    message = record.get("message")
    model = message.get("model") if record.get("type") == "assistant" and isinstance(message, dict) else None
    return model if isinstance(model, str) and model and not model.startswith("<") else None
