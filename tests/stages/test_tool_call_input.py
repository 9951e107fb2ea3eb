"""`ToolCalls` while an input streams, and how often a long text is sent."""

from __future__ import annotations

import json

from middleware.messages import MessageStarted
from middleware.stages import Permissions, ToolCalls
from middleware.stages.tool_calls import REFINED
from middleware.tools.text import REPEATED
from tests.stages.tool_call_words import EDIT, FILE, ask, piece, response, start
from tests.tools.play import HOME, SESSION, Json, merged, played, result, runner, use, wire

# ------------------------------------------------------------------------------------------------- streaming


def test_lanes_are_apart() -> None:
    """Blocks are counted by message and by lane: a subagent's first block is not the main thread's."""
    calls = played(
        ToolCalls(),
        start("Bash", "main"),
        start("Bash", "inner", parent="p"),
        piece('{"command": "inner", ', parent="p"),
        piece('{"command": "main", '),
    )
    assert [(call["toolCallId"], call["title"]) for call in calls[2:]] == [("inner", "inner"), ("main", "main")]


def test_next_message_begins_anew() -> None:
    """When the next message starts, pieces for its first block are not the last message's."""
    calls = played(
        ToolCalls(), start("Bash"), MessageStarted(session=SESSION, message="m2"), piece('{"command": "x", ')
    )
    assert len(calls) == 1


def test_content_waits_for_the_whole_input() -> None:
    """A partial input gives title, place and raw input, never content (reference 4.2); its end gives nothing."""
    calls = played(
        ToolCalls(), start("Edit"), piece(json.dumps({**EDIT, "replace_all": False})[:-1] + ", "), piece('"x": 1}')
    )
    assert [sorted(call.keys() - {"sessionUpdate", "_meta", "toolCallId"}) for call in calls[1:]] == [
        ["locations", "rawInput", "title"]
    ]


def test_refinements_are_bounded() -> None:
    """An input of very many members does not become as many updates; the whole input comes with the message."""
    input = {f"key {number}": number for number in range(200)}
    pieces = [piece(text) for text in json.dumps(input).replace(", ", ", \0").split("\0")]
    calls = played(ToolCalls(), start("FutureTool"), *pieces, use("FutureTool", input))
    assert len(calls) == 1 + REFINED + 1
    assert calls[-1]["rawInput"] == input


def test_long_members_are_not_sent_again_and_again() -> None:
    """While an input streams, a long member is left out of the raw input; the whole input brings it, once."""
    input = {"long": "x" * (REPEATED + 1), "a": 1, "b": 2}
    pieces = [piece(text) for text in json.dumps(input).replace(", ", ", \0").split("\0")]
    calls = played(ToolCalls(), start("mcp__x__y"), *pieces, use("mcp__x__y", input))
    assert sum(str(call).count("x" * REPEATED) for call in calls) == 1
    assert calls[-1]["rawInput"] == input


def test_same_text_is_not_sent_three_times() -> None:
    """A long file text is in the diff of the call and of its request, and in no raw input (examples/clients 2)."""
    text = "x" * (REPEATED + 1)
    input = {"file_path": FILE, "content": text}
    made = runner(ToolCalls(), Permissions(home=HOME))
    pieces = [piece(part) for part in json.dumps(input).replace(", ", ", \0").split("\0")]
    created: Json = {"type": "create", "filePath": FILE, "content": text, "structuredPatch": [], "originalFile": None}
    made.feed(start("Write"), *pieces, use("Write", input), ask("Write", input)).run()
    made.feed(response("Write", created), result("created", structured=created)).run()
    lines = wire(made.client)
    assert sum(str(line).count(text) for line in lines) == 2
    assert max(str(line).count(text) for line in lines) == 1
    assert merged(lines[:2])["rawInput"] == {"file_path": FILE}


def test_short_texts_stay_in_the_raw_input() -> None:
    """Clients that read the raw input find short texts there; the request's leaves out what its own diff shows."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    made.feed(use("Edit", EDIT), ask("Edit", EDIT)).run()
    announced, request = wire(made.client)
    assert announced["rawInput"] == EDIT
    assert request["toolCall"]["rawInput"] == {"file_path": FILE}
