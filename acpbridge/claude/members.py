"""Reading the members of Claude Code's frames: each gives what is there in the right type, or nothing.

A frame is whatever another program wrote: a member may be missing, null or something else, and nothing here raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from middleware.messages import TokenCount

Frame = Mapping[str, Any]


def object_in(source: Frame, key: str) -> Frame:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def text_in(source: Frame, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def text_or_none(source: Frame, key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) and value else None


def count_in(source: Frame, key: str) -> int | None:
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def names_in(source: Frame, key: str) -> tuple[str, ...]:
    value = source.get(key)
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def blocks_of(message: Frame) -> Iterator[Frame]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block


def tokens_of(usage: Frame) -> TokenCount:
    return TokenCount(
        input=count_in(usage, "input_tokens") or 0,
        output=count_in(usage, "output_tokens") or 0,
        cache_read=count_in(usage, "cache_read_input_tokens") or 0,
        cache_write=count_in(usage, "cache_creation_input_tokens") or 0,
    )


def served_by(frame: Frame) -> tuple[str, ...]:
    """The prompts that a frame names: the list where there is one, else the single uuid."""
    several = names_in(frame, "user_message_uuids")
    single = text_or_none(frame, "user_message_uuid")
    return several or ((single,) if single else ())
