"""From steps to the events of the Messages API."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acpbridge.testing import Cut, Fail, FailInStream, Gate, Pause, Reply, Say, Stop, Think, Usage, UseTool, Wait
from acpbridge.testing.sse import SIGNATURE, MessageBuilder, Move, encode, play


def moves(*reply: Any) -> list[Move]:
    ids = (f"t{number}" for number in itertools.count(1))
    return list(play(reply, message_id="m1", model="claude-x", new_tool_id=lambda: next(ids)))


def message(reply: Reply) -> dict[str, Any]:
    builder = MessageBuilder()
    for move in moves(*reply):
        if isinstance(move, dict):
            builder.add(move)
    return builder.message


def test_a_reply_is_the_events_of_the_api_in_order() -> None:
    """message_start, ping, each block from its start to its stop, message_delta, message_stop."""
    numbers = {"input_tokens": 9, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 1}
    reply = [
        Usage(9, 33, cache_read=1, cache_creation=2),
        Think("hm, so", each=4),
        Say("hello", each=3),
        UseTool("Bash", {"a": 1}, pieces=2),
    ]
    started: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**numbers, "output_tokens": 1, "service_tier": "standard"},
    }
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}

    def delta(index: int, sort: str, key: str, value: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": sort, key: value}}

    assert moves(*reply) == [
        {"type": "message_start", "message": started},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        delta(0, "thinking_delta", "thinking", "hm, "),
        delta(0, "thinking_delta", "thinking", "so"),
        delta(0, "signature_delta", "signature", SIGNATURE),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        delta(1, "text_delta", "text", "hel"),
        delta(1, "text_delta", "text", "lo"),
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": tool},
        delta(2, "input_json_delta", "partial_json", ""),
        delta(2, "input_json_delta", "partial_json", '{"a'),
        delta(2, "input_json_delta", "partial_json", '":1}'),
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {**numbers, "output_tokens": 33},
        },
        {"type": "message_stop"},
    ]


def test_an_event_is_two_lines_and_an_empty_one() -> None:
    """The name of an SSE event is its type, its data one line of JSON in UTF-8."""
    event = {"type": "ping", "x": "a\nü"}
    assert encode(event) == b'event: ping\ndata: {"type":"ping","x":"a\\n\xc3\xbc"}\n\n'


def test_text_goes_on_in_its_block() -> None:
    """Steps of one sort make one block, also across a gate."""
    gate = Gate("g")
    played = moves(Say("a"), Wait(gate), Say("b"))
    assert [move["type"] if isinstance(move, dict) else move for move in played][2:7] == [
        "content_block_start",
        "content_block_delta",
        Wait(gate),
        "content_block_delta",
        "content_block_stop",
    ]


def test_standing_still_first_comes_before_everything() -> None:
    """A pause or a gate before the first content comes before message_start."""
    gate = Gate("g")
    played = moves(Pause(1), Wait(gate), Say(""))
    assert played[:2] == [Pause(1), Wait(gate)]
    assert [move["type"] for move in played[2:] if isinstance(move, dict)] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_pauses_stand_between_deltas() -> None:
    """`pause` is between two deltas, neither before the first nor after the last; for a tool, between its pieces."""
    for step in (Say("abc", each=1, pause=0.5), Think("abc", each=1, pause=0.5), UseTool("x", {}, pieces=2, pause=0.5)):
        played = moves(step)
        assert played.count(Pause(0.5)) == (1 if isinstance(step, UseTool) else 2)
        for position, move in enumerate(played):
            if move == Pause(0.5):
                for neighbour in (played[position - 1], played[position + 1]):
                    assert isinstance(neighbour, dict)
                    assert neighbour["type"] == "content_block_delta"


def test_nothing_follows_a_failure() -> None:
    """A failure is the last move of a reply, without the end of the message."""
    for failure in (FailInStream(), Cut()):
        assert moves(Say("a"), failure, Say("b"))[-1] == failure
    assert moves(Fail(529), Say("b")) == [Fail(529)]


def test_the_stop_reason_can_be_set() -> None:
    """`Stop` overrides what the content implies."""
    assert message([Say("a")])["stop_reason"] == "end_turn"
    assert message([UseTool("x", {})])["stop_reason"] == "tool_use"
    assert message([Say("a"), Stop("max_tokens")])["stop_reason"] == "max_tokens"


def test_the_whole_message_has_every_block() -> None:
    """What a request that does not stream gets is what the stream says."""
    whole = message([Think("hm"), Say("text"), UseTool("Bash", {"command": "ls", "n": [1]}, id="mine"), Usage(5, 6)])
    assert whole["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": SIGNATURE},
        {"type": "text", "text": "text"},
        {"type": "tool_use", "id": "mine", "name": "Bash", "input": {"command": "ls", "n": [1]}},
    ]
    assert (whole["id"], whole["usage"]["input_tokens"], whole["usage"]["output_tokens"]) == ("m1", 5, 6)


@given(st.text(), st.integers(1, 9))
def test_split_text_is_the_text(text: str, each: int) -> None:
    """However it is split, the deltas joined are the text, and none is longer than asked."""
    deltas = [
        m["delta"]["text"] for m in moves(Say(text, each=each)) if isinstance(m, dict) and "index" in m and "delta" in m
    ]
    assert "".join(deltas) == text
    assert all(1 <= len(delta) <= each for delta in deltas)


@given(st.dictionaries(st.text(), st.text()), st.none() | st.integers(1, 50))
def test_split_input_is_the_input(value: dict[str, str], pieces: int | None) -> None:
    """However it is split, the pieces joined are the input, as many as asked, but at most one a character."""
    played = moves(UseTool("x", value, pieces=pieces))
    parts = [m["delta"]["partial_json"] for m in played if isinstance(m, dict) and m["type"] == "content_block_delta"]
    assert parts[0] == ""
    assert json.loads("".join(parts)) == value
    assert all(parts[1:])
    if pieces is not None:
        assert len(parts) - 1 == min(pieces, len("".join(parts)))
