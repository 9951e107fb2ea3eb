"""From the steps of a reply to the events of Anthropic's Messages API, and to the message they make. Pure: no socket,
no clock.

Source: the streaming section of Anthropic's Messages API: message_start, ping, then for each content block
content_block_start, its deltas and content_block_stop, then message_delta with the stop reason and the usage, and
message_stop.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import attrs

from acpbridge.testing.script import (
    JSON_CHARACTERS_EACH,
    Cut,
    Fail,
    FailInStream,
    Pause,
    Reply,
    Say,
    Step,
    Stop,
    Think,
    Usage,
    UseTool,
    Wait,
)

Event: TypeAlias = dict[str, Any]
Move: TypeAlias = Event | Pause | Wait | Fail | FailInStream | Cut
"""What the server does next: send an event, stand still, or fail."""

SIGNATURE = "c2NyaXB0ZWQgc2lnbmF0dXJl"
"""What stands for the signature of a thinking block."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@attrs.frozen
class Wire:
    """How the events of a stream are written, and the type of what that is."""

    encode: Callable[[Event], bytes]
    content: str


def encode(event: Event) -> bytes:
    """One SSE event: its name is its type."""
    return f"event: {event['type']}\ndata: {_ENCODER.encode(event)}\n\n".encode()


SSE = Wire(encode, "text/event-stream; charset=utf-8")
"""As Anthropic's own API writes them."""


def play(
    steps: Iterator[Step] | Reply, *, message_id: str, model: str, new_tool_id: Callable[[], str]
) -> Iterator[Move]:
    """The moves of a reply, in order.

    Pauses and gates before the first content come before message_start, so that nothing of the answer, not even its
    head, has been sent when the reply stands there. After a failure nothing follows.
    """
    reply = tuple(steps)
    usage = next((step for step in reply if isinstance(step, Usage)), Usage())
    stop = next((step.reason for step in reply if isinstance(step, Stop)), None)
    if stop is None:
        stop = "tool_use" if any(isinstance(step, UseTool) for step in reply) else "end_turn"
    numbers: dict[str, Any] = {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read,
    }
    if usage.cache_hour:
        numbers["cache_creation"] = {
            "ephemeral_5m_input_tokens": usage.cache_creation - usage.cache_hour,
            "ephemeral_1h_input_tokens": usage.cache_hour,
        }
    begun = False
    block: type[Say] | type[Think] | None = None
    index = -1
    characters = 0

    for step in reply:
        if isinstance(step, Usage | Stop):
            continue
        if isinstance(step, Pause | Wait):
            yield step
            continue
        if isinstance(step, Fail | FailInStream | Cut):
            yield step
            return
        if not begun:
            begun = True
            yield from _beginning(message_id, model, numbers)
        if block is not None and type(step) is not block:
            yield from _block_end(block, index)
            block = None
        if isinstance(step, UseTool):
            index += 1
            text = _ENCODER.encode(step.input)
            characters += len(text)
            yield from _tool_block(step, index, text, step.id or new_tool_id())
            continue
        if block is None:
            block = type(step)
            index += 1
            yield _block_start(index, {"type": "text", "text": ""} if block is Say else _EMPTY_THINKING)
        characters += len(step.text)
        yield from _deltas(step, index)

    if not begun:
        yield from _beginning(message_id, model, numbers)
    if block is not None:
        yield from _block_end(block, index)
    output = max(1, characters // 4) if usage.output is None else usage.output
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {**numbers, "output_tokens": output},
    }
    yield {"type": "message_stop"}


_EMPTY_THINKING = {"type": "thinking", "thinking": "", "signature": ""}


def _beginning(message_id: str, model: str, numbers: dict[str, Any]) -> Iterator[Event]:
    message: dict[str, Any] = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**numbers, "output_tokens": 1, "service_tier": "standard"},
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}


def _block_start(index: int, block: dict[str, Any]) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: dict[str, Any]) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _block_end(block: type[Say] | type[Think], index: int) -> Iterator[Event]:
    if block is Think:
        yield _delta(index, {"type": "signature_delta", "signature": SIGNATURE})
    yield {"type": "content_block_stop", "index": index}


def _deltas(step: Say | Think, index: int) -> Iterator[Move]:
    text = step.text
    chunks = step.chunks
    if chunks is None:
        chunks = tuple(text[start : start + step.each] for start in range(0, len(text), step.each))
    sort, key = ("text_delta", "text") if isinstance(step, Say) else ("thinking_delta", "thinking")
    for number, chunk in enumerate(chunks):
        if number and step.pause:
            yield Pause(step.pause)
        yield _delta(index, {"type": sort, key: chunk})


def _tool_block(step: UseTool, index: int, text: str, tool_id: str) -> Iterator[Move]:
    yield _block_start(index, {"type": "tool_use", "id": tool_id, "name": step.name, "input": {}})
    yield _delta(index, {"type": "input_json_delta", "partial_json": ""})
    for number, piece in enumerate(_json_pieces(text, step.pieces)):
        if number and step.pause:
            yield Pause(step.pause)
        yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
    yield {"type": "content_block_stop", "index": index}


def _json_pieces(text: str, pieces: int | None) -> list[str]:
    """The text in so many pieces of nearly the same length (no empty ones: at most one piece for each character)."""
    if pieces is None:
        return [text[start : start + JSON_CHARACTERS_EACH] for start in range(0, len(text), JSON_CHARACTERS_EACH)]
    count = min(pieces, len(text))
    ends = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


class MessageBuilder:
    """Puts the events of a reply together to the whole message, for a request that does not stream."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self._json = ""

    def add(self, event: Event) -> None:
        """Take the next event of `play`."""
        match event["type"]:
            case "message_start":
                self.message = {**event["message"], "content": []}
            case "content_block_start":
                self.message["content"].append(dict(event["content_block"]))
                self._json = ""
            case "content_block_delta":
                self._add_delta(self.message["content"][-1], event["delta"])
            case "content_block_stop" if self._json:
                self.message["content"][-1]["input"] = json.loads(self._json)
            case "message_delta":
                self.message.update(event["delta"])
                self.message["usage"] = {**self.message["usage"], **event["usage"]}

    def _add_delta(self, block: dict[str, Any], delta: dict[str, Any]) -> None:
        match delta["type"]:
            case "input_json_delta":
                self._json += delta["partial_json"]
            case "text_delta":
                block["text"] += delta["text"]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
