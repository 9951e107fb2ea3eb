"""Recorded frames of Claude Code as messages: text, thoughts, tools, turns; and frames that are broken or unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from acpbridge.claude.events import messages_of
from middleware.messages import (
    CompactionSummary,
    Message,
    MessageCompleted,
    MessageStarted,
    PromptEchoed,
    PromptState,
    Result,
    Text,
    Thought,
    ToClient,
    ToolInput,
    ToolResult,
    ToolUse,
    WorkState,
)
from tests.claude.recorded import ALL, NAMES, Frame, broken, each_broken, frames
from tests.core import logged


def story(name: str) -> list[Message]:
    return [message for frame in frames(name) for message in messages_of("s", frame)]


def picked(messages: list[Message], *kinds: type[Message]) -> list[Any]:
    return [message for message in messages if isinstance(message, kinds)]


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_read(name: str) -> None:
    """Each message of a recording is of its session and goes to the client; every turn has its start and its end."""
    messages = story(name)
    assert all(isinstance(message, ToClient) and message.session == "s" for message in messages)  # type: ignore[attr-defined]
    assert picked(messages, Result)
    assert picked(messages, MessageStarted)
    assert [message.state for message in picked(messages, WorkState)][-1] in ("idle", "running")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_streamed_is_what_is_whole(name: str) -> None:
    """The pieces of a text or thought, joined, are the whole of it that follows, message by message."""
    streamed: dict[tuple[type, str | None], str] = {}
    whole: dict[tuple[type, str | None], str] = {}
    for message in picked(story(name), Text):
        if not message.synthetic and message.parent is None:
            told = whole if message.whole else streamed
            key = (type(message), message.message)
            told[key] = told.get(key, "") + message.text
    assert all(whole[key] == text for key, text in streamed.items() if key in whole)
    assert streamed


def test_text_and_thought() -> None:
    """A thought and a text, streamed and then whole, in one message, and the result of the turn."""
    messages = picked(story("text_only"), MessageStarted, Text, MessageCompleted, Result)
    name = messages[0].message
    assert messages[0].model == "claude-opus-5-5"
    assert messages[0].usage.input == 100
    assert [(type(message), message.text, message.message, message.whole) for message in picked(messages, Text)] == [
        (Thought, "hm", name, False),
        (Thought, "hm", name, True),
        (Text, "hello fr", name, False),
        (Text, "om fake", name, False),
        (Text, "hello from fake", name, True),
    ]
    result = messages[-1]
    assert isinstance(result, Result)
    assert (result.subtype, result.is_error, result.stop_reason) == ("success", False, "end_turn")
    assert (result.usage.input, result.usage.output, result.cost) == (100, 7, 0.00054)
    assert result.text == "hello from fake"
    assert result.model_usage["claude-opus-5-5"]["contextWindow"] == 1000000


def test_a_tool_use() -> None:
    """A tool use begins without input, its input comes in pieces that make the whole, its result names it."""
    messages = story("write_permission")
    streamed = [message for message in picked(messages, ToolUse) if not message.whole]
    whole = [message for message in picked(messages, ToolUse) if message.whole]
    assert [message.tool_use for message in streamed] == [message.tool_use for message in whole]
    assert {message.name for message in whole} == {"Write"}
    assert all(message.block is not None and not message.input for message in streamed)
    assert [message.input["file_path"] for message in whole] == ["$TMP/cwd/a.txt", "$TMP/cwd/b.txt", "$TMP/cwd/c.txt"]
    first = messages.index(streamed[0]), messages.index(whole[0])
    pieces = picked(messages[first[0] : first[1]], ToolInput)
    assert {piece.block for piece in pieces} == {streamed[0].block}
    assert '"file_path"' in "".join(piece.json for piece in pieces)
    results = picked(messages, ToolResult)
    assert [result.tool_use for result in results] == [message.tool_use for message in whole]
    assert [result.is_error for result in results] == [False, True, True]
    assert [result.non_execution for result in results] == [None, "permission-rule", "user-rejected"]


def test_parallel_tools() -> None:
    """Several tool uses of one message are told apart by their blocks; each has one result."""
    messages = story("parallel_tools")
    streamed = [message for message in picked(messages, ToolUse) if not message.whole]
    assert len({message.message for message in streamed}) == 1
    assert len({message.block for message in streamed}) == len(streamed) == 3
    assert sorted(result.tool_use for result in picked(messages, ToolResult)) == sorted(
        message.tool_use for message in streamed
    )


def test_a_subagents_messages() -> None:
    """What a subagent does names the call that began it; the main thread's messages name none."""
    messages = story("subagent")
    [call] = [message for message in picked(messages, ToolUse) if message.whole and message.parent is None]
    inner = [message for message in picked(messages, ToolUse, ToolResult, Text) if message.parent is not None]
    assert inner
    assert {message.parent for message in inner} == {call.tool_use}


def test_the_life_of_a_prompt() -> None:
    """Where Claude Code is with a prompt is said by its uuid, and the result names the prompts that it ends."""
    messages = picked(story("queue_uuid_interrupt_cancel_queued"), PromptState, Result)
    states: dict[str, list[str]] = {}
    for message in picked(messages, PromptState):
        states.setdefault(message.prompt, []).append(message.state)
    running, queued, later = states
    assert states == {
        running: ["queued", "started", "cancelled"],
        queued: ["queued", "cancelled"],
        later: ["queued", "started", "completed"],
    }
    first, second = picked(messages, Result)
    assert first.prompts == (running,)
    assert (first.subtype, first.terminal_reason) == ("error_during_execution", "aborted_streaming")
    assert second.prompts == (later,)


def test_an_echo() -> None:
    """A prompt that Claude Code repeats is told by its uuid; its text is not the model's."""
    echoed = picked(story("write_permission"), PromptEchoed)
    replayed = [frame["uuid"] for frame in frames("write_permission") if frame.get("isReplay") and "uuid" in frame]
    assert [message.prompt for message in echoed] == replayed
    assert replayed


def test_errors_of_the_api() -> None:
    """What Claude Code says itself of an error is marked, and the result is an error."""
    messages = story("api_errors")
    assert any(message.synthetic for message in picked(messages, Text))
    assert any(message.error for message in picked(messages, MessageCompleted))
    assert any(result.is_error for result in picked(messages, Result))


def test_a_compaction_that_is_streamed() -> None:
    """Pieces of a compaction's summary are told, but not those of a subagent's, and none without a text."""

    def delta(parent: str | None = None, **members: Any) -> Frame:
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", **members}}
        return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}

    assert messages_of("s", delta(content="A part")) == (CompactionSummary(session="s", text="A part"),)
    assert messages_of("s", delta(content="A part", parent="t")) == ()
    assert messages_of("s", delta(content=None)) == messages_of("s", delta()) == ()


def test_a_frame_of_an_unknown_kind() -> None:
    """A kind of frame that nobody knows is skipped, with a log line that names it and says nothing of its content."""
    for frame in (
        {"type": "brand_new", "x": "secret"},
        {"type": "system", "subtype": "brand_new", "x": "secret"},
        {"type": "stream_event", "event": {"type": "brand_new", "x": "secret"}},
        {"x": "secret"},
    ):
        with logged() as log:
            assert messages_of("s", frame) == ()
        assert len(log) == 1
        assert "secret" not in log[0]


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "command_lifecycle", "command_uuid": "u", "state": "brand_new"},
        {"type": "command_lifecycle", "state": "queued"},
        {"type": "system", "subtype": "session_state_changed", "state": "brand_new"},
        {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "brand_new"}}},
        {"type": "stream_event", "event": {"type": "content_block_start", "content_block": {"type": "tool_use"}}},
    ],
)
def test_frames_that_say_nothing(frame: Frame) -> None:
    """A state that nobody knows, a delta of an unknown kind and a tool use without an id give no message."""
    assert messages_of("s", frame) == ()


CASES: dict[str, Callable[[list[Message]], Any]] = {
    "result": lambda messages: picked(messages, Result),
    "assistant": lambda messages: picked(messages, MessageCompleted),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_ends_something_ends_it_always(kind: str) -> None:
    """A result without any member still ends a turn, an answer without content a message."""
    [end] = CASES[kind](list(messages_of("s", {"type": kind})))
    assert end.session == "s"


def test_no_member_breaks_it() -> None:
    """Each member of each kind of frame may be missing or of another type; the log then says nothing of its content."""
    wrong = []
    for frame in each_broken():
        try:
            messages_of("s", frame)
        except Exception as error:
            wrong.append(f"{frame.get('type')} {frame.get('subtype')}: {error!r}")
    assert sorted(set(wrong)) == []


@given(broken())
@settings(max_examples=200, deadline=None)
def test_no_frame_breaks_it(frame: Frame) -> None:
    """Members that are missing or of a wrong type cost what they say, and nothing else."""
    for message in messages_of("s", frame):
        assert isinstance(message, ToClient)


def test_recordings_hold_what_these_tests_need() -> None:
    """The recordings have each of the kinds that are looked at here."""
    kinds = {str(frame["type"]) for frame in ALL}
    assert kinds >= {"assistant", "user", "stream_event", "result", "system", "command_lifecycle", "control_request"}
