"""A session's past, told again: what is shown, what is not, and that each call ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acpbridge import flow
from tests.sessions.replaying import told
from tests.sessions.writing import Transcript

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def _texts(updates: list[dict[str, Any]]) -> list[str]:
    return [
        f"{u['sessionUpdate'][:5]} {u['content'].get('text')}" for u in updates if u["sessionUpdate"].endswith("chunk")
    ]


def test_stages_of_the_past_are_the_live_ones() -> None:
    """What is past goes through the live stages, in their order; none is another class."""
    live = [type(stage) for stage in flow.pipeline().stages]
    past = [type(stage) for stage in flow.past().stages]
    assert past == [kind for kind in live if kind in past]
    assert len(past) >= 4


def test_text_thought_and_image(config: Path) -> None:
    """Text, thoughts and images come in their order, under the ids of their messages."""
    t = Transcript(config)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    asked = t.user([{"type": "text", "text": "look"}, image])
    t.answer({"type": "thinking", "thinking": "hm"}, "I see", message="msg_7")
    updates = told(t)
    assert [update["sessionUpdate"] for update in updates] == [
        "user_message_chunk",
        "user_message_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
    ]
    assert updates[1]["content"]["data"] == PIXEL
    assert [update["messageId"] for update in updates] == [asked, asked, "msg_7", "msg_7"]


def test_calls_end(config: Path) -> None:
    """A call with a result is completed; one that never got any is failed before the next prompt, and at the end."""
    t = Transcript(config)
    t.user("go")
    t.use("a", "Bash", command="echo a")
    t.result("a", "a", toolUseResult={"stdout": "a", "stderr": ""})
    t.use("b", "Bash", command="echo b", message="msg_2")
    t.user("what now")
    t.use("c", "Write", file_path="/home/me/c", content="c", message="msg_3")
    updates = told(t)
    ends = {u["toolCallId"]: u.get("status") for u in updates if u["sessionUpdate"] == "tool_call_update"}
    assert ends == {"a": "completed", "b": "failed", "c": "failed"}
    order = [u.get("toolCallId") or u["content"].get("text") for u in updates]
    assert order.index("what now") > max(index for index, name in enumerate(order) if name == "b")
    diff = next(u for u in updates if u["sessionUpdate"] == "tool_call" and u["toolCallId"] == "c")["content"][0]
    assert (diff["type"], diff["newText"]) == ("diff", "c")


def test_a_running_session_keeps_its_last_calls(config: Path) -> None:
    """Of a session that works at this moment the last call is not over."""
    t = Transcript(config)
    t.user("go")
    t.use("a", "Bash", command="sleep 9")
    assert [update["sessionUpdate"] for update in told(t, running=True)] == ["user_message_chunk", "tool_call"]


@pytest.mark.parametrize(
    "record",
    [
        {"content": "<local-command-caveat>The command below ...</local-command-caveat>", "isMeta": True},
        {"content": "<command-name>/model</command-name>\n<command-message>model</command-message>"},
        {"content": "<local-command-stdout>Set model to x</local-command-stdout>"},
        {"content": "[Request interrupted by user]"},
        {"content": "[Request interrupted by user for tool use]"},
        {"content": "<system-reminder>be good</system-reminder>"},
        {"content": "a peer's words", "origin": {"kind": "peer"}},
        {"content": "a task ended", "origin": {"kind": "task-notification"}},
        {"content": "a team's words", "teamName": "team"},
    ],
)
def test_what_the_person_never_said(config: Path, record: dict[str, Any]) -> None:
    """Reminders, commands' outputs, interruptions and the words of others are not shown as the person's."""
    t = Transcript(config)
    t.user("one")
    t.said(record.pop("content"), **record)
    t.answer("two")
    assert _texts(told(t)) == ["user_ one", "agent two"]


def test_steered_prompt(config: Path) -> None:
    """A prompt that was taken into a running turn is the person's; a notification that was is not."""
    t = Transcript(config)
    t.user("one")
    prompt = {"type": "queued_command", "prompt": [{"type": "text", "text": "and this"}], "commandMode": "prompt"}
    t.record("attachment", attachment={**prompt, "origin": {"kind": "human"}, "source_uuid": "u"})
    t.record("attachment", attachment={**prompt, "commandMode": "task-notification"})
    t.record("attachment", attachment={"type": "environment"})
    t.answer("two")
    assert _texts(told(t)) == ["user_ one", "user_ and this", "agent two"]


def test_claude_codes_own_words(config: Path) -> None:
    """What stands in place of an answer that nobody asked for, and that somebody must log in, is not replayed; an error
    that the live turn showed is, and so is a limit that names a login as one way on."""
    t = Transcript(config)
    t.user("one")
    t.answer("No response requested.", model="<synthetic>")
    t.answer("Not logged in · Please run /login", model="<synthetic>")
    t.answer("API Error: overloaded", model="<synthetic>")
    t.answer("You've hit your limit · /upgrade or run /login", model="<synthetic>", message="msg_2")
    assert _texts(told(t)) == [
        "user_ one",
        "agent API Error: overloaded",
        "agent You've hit your limit · /upgrade or run /login",
    ]


def test_compaction(config: Path) -> None:
    """A compaction is shown with its summary: as an update to clients that have it, as a call to the others."""
    t = Transcript(config)
    t.record(
        "system",
        parent=None,
        subtype="compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 9, "postTokens": 3},
    )
    t.said("This session goes on", isCompactSummary=True, uuid="sum")
    t.user("after")
    [call] = [update for update in told(t) if update["sessionUpdate"].startswith("tool_call")]
    assert call["status"] == "completed"
    assert "This session goes on" in json.dumps(call)
    assert call["rawOutput"] == {"trigger": "automatic", "preTokens": 9, "postTokens": 3}
    [update] = [u for u in told(t, {"session": {"compaction": {}}}) if u["sessionUpdate"] == "compaction_update"]
    assert (update["compactionId"], update["status"]) == ("sum", "completed")
    assert "user_ This session goes on" not in _texts(told(t))


def test_subagent_is_nested(config: Path) -> None:
    """What a subagent did is told behind its call, as its children; its words are told to clients that want them."""
    t = Transcript(config)
    t.user("go")
    t.use("agent", "Agent", description="look", prompt="look there")
    t.result("agent", "found")
    place = t.path.with_suffix("") / "subagents"
    place.mkdir(parents=True)
    inner = Transcript(config, session="0b0b0b0b-0000-4000-8000-000000000009", project="-other")
    inner.user("look there", isSidechain=True)
    inner.answer(
        "I look", {"type": "tool_use", "id": "read", "name": "Read", "input": {"file_path": "/x"}}, isSidechain=True
    )
    inner.result("read", "x", isSidechain=True)
    (place / "agent-1.jsonl").write_text(inner.path.read_text())
    (place / "agent-1.meta.json").write_text(json.dumps({"toolUseId": "agent"}))
    (place / "agent-2.jsonl").write_text("{")
    updates = told(t)
    child = next(u for u in updates if u["sessionUpdate"] == "tool_call" and u["toolCallId"] == "read")
    assert child["_meta"]["claudeCode"]["parentToolUseId"] == "agent"
    assert _texts(updates) == ["user_ go"]
    assert [u["toolCallId"] for u in updates if u["sessionUpdate"] == "tool_call"] == ["agent", "read"]


def test_broken_records(config: Path) -> None:
    """A record without what it should have says nothing, and stops nothing."""
    t = Transcript(config)
    t.user("one")
    broken: tuple[Any, ...] = (
        None,
        [],
        "x",
        {},
        {"content": None},
        {"content": [None, 3, {"type": "text"}, {"type": "tool_use"}]},
    )
    for message in broken:
        t.record("assistant", message=message)
        t.record("user", message=message)
    t.answer("two")
    assert _texts(told(t)) == ["user_ one", "agent two"]
