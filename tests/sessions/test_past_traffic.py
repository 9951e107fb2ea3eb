"""What passed between a session and its subagents in the past: messages, ends, models, and who is missing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpbridge.sessions.past_subagents import subagents_of
from acpbridge.sessions.past_traffic import Traffic, read
from middleware.messages import SubagentMessage
from tests.claude.recorded import JSON
from tests.sessions.writing import SESSION, SubagentTranscript, Transcript, notification


def _read(main: Transcript) -> Traffic:
    return read(SESSION, main.path, subagents_of(main.path))


def _launched(config: Path, **about: Any) -> tuple[Transcript, SubagentTranscript]:
    main = Transcript(config)
    main.user("go")
    main.use("L", "Agent", prompt="do it")
    return main, SubagentTranscript(main, "c", toolUseId="L", **about)


def _send(call: str, text: str, to: str = "c") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "SendMessage", "input": {"to": to, "message": text}}


def _sends(sender: Transcript, call: str, text: str, to: str = "c", **structured: Any) -> None:
    sender.answer(_send(call, text, to))
    sender.result(call, "sent", toolUseResult={"success": True, **structured})


@pytest.mark.parametrize("how", ["hears", "hears_at_work"])
@pytest.mark.parametrize("to", ["c", "agent-c", "Bo"])
def test_message_that_arrived(config: Path, how: str, to: str) -> None:
    """A message is known by the call that sent it where it arrived, and stands for that call where it was sent."""
    main, child = _launched(config, name="Bo", description="The work")
    _sends(main, "M", " go on ", to)
    record = getattr(child, how)("go on")
    child.answer("I do")
    message = SubagentMessage(session=SESSION, message="M", text="go on", recipient="c", sender=SESSION)
    traffic = _read(main)
    assert traffic.arrived == {record: message}
    assert {call: (sent.message, sent.seen_by) for call, sent in traffic.sent.items()} == {"M": ("M", "sender")}


def test_the_first_that_fits(config: Path) -> None:
    """Of several messages each arrives once, in the order in which they were sent, by whomever."""
    main, child = _launched(config)
    other = SubagentTranscript(main, "d", toolUseId="N")
    main.answer(_send("M2", "go"), timestamp="2026-01-01T00:00:02.000Z")
    other.answer(_send("M1", "go"), timestamp="2026-01-01T00:00:01.000Z")
    first, second, third = child.hears("go"), child.hears("go"), child.hears("go")
    child.answer("I do")
    arrived = _read(main).arrived
    assert [arrived[record].message for record in (first, second, third)] == ["M1", "M2", third]
    assert [arrived[record].sender for record in (first, second, third)] == ["d", SESSION, None]


def test_message_of_nobody(config: Path) -> None:
    """A message that nobody is known to have sent is what it says, under the id of its record."""
    main, child = _launched(config)
    record = child.hears("go on\n\nreally")
    child.answer("I do")
    assert _read(main).arrived == {
        record: SubagentMessage(session=SESSION, message=record, text="go on\n\nreally", recipient="c")
    }


@pytest.mark.parametrize(
    ("to", "structured", "arrives"),
    [
        ("Bo", {"resumedAgentId": "c"}, True),
        ("Bo", {"pin": {"id": "c"}}, True),
        ("c", {"pin": {"id": "other"}}, False),
        ("c", {"success": False}, False),
        ("nobody", {}, False),
    ],
)
def test_whom_a_message_reached(config: Path, to: str, structured: dict[str, Any], arrives: bool) -> None:
    """Whom a message reached says its result, before the name that it was sent to; a refused one reached nobody."""
    main, child = _launched(config)
    _sends(main, "M", "go on", to, **structured)
    record = child.hears("go on")
    child.answer("I do")
    assert _read(main).arrived[record].message == ("M" if arrives else record)


def test_what_the_person_says_is_no_message(config: Path) -> None:
    """Only what Claude Code marks as a message to a subagent is one, and only in a subagent's transcript."""
    main, child = _launched(config)
    child.user("do it")
    child.said("[Request interrupted by user]")
    main.said("a coordinator's", origin={"kind": "coordinator"})
    assert _read(main) == Traffic(ends=_read(main).ends)


# ------------------------------------------------------------------------------------------ ends


def _end(main: Transcript) -> tuple[str | None, str | None]:
    end = _read(main).ends["c"]
    return end.status, end.error or end.summary


def test_end_by_the_last_notification(config: Path) -> None:
    """The last word of Claude Code about a task says how it ended, wherever it stands, before all else."""
    main, child = _launched(config, stoppedByUser=True)
    main.said(**notification("c", "completed"))
    attachment = {"type": "queued_command", "commandMode": "task-notification"}
    main.record("attachment", attachment={**attachment, "prompt": notification("c", "failed", "It broke")["content"]})
    main.said(**notification("d", "completed"))
    assert _end(main) == ("failed", "It broke")
    child.said(**notification("c", "killed"))
    assert _end(main)[0] == "killed"


def test_a_notification_that_is_none(config: Path) -> None:
    """What a person or a tool says in the same words ends nothing."""
    main, _ = _launched(config)
    words = notification("c", "failed")["content"]
    main.user(words)
    main.result("X", words)
    assert _end(main) == (None, None)


def test_end_by_the_person(config: Path) -> None:
    """One that the person stopped was cancelled, whatever the launch gave."""
    main, _ = _launched(config, stoppedByUser=True)
    main.user([{"type": "tool_result", "tool_use_id": "L", "content": "It broke", "is_error": True}])
    assert _end(main) == ("stopped", None)


@pytest.mark.parametrize(
    ("text", "members", "end"),
    [
        ("API Error: overloaded", {}, ("failed", "API Error: overloaded")),
        ("The agent was Cancelled.", {}, ("cancelled", None)),
        ("It was killed", {}, ("cancelled", None)),
        ("unstoppable", {}, ("failed", "unstoppable")),
        ("STOP what you are doing", {"toolDenialKind": "user-rejected"}, ("cancelled", None)),
        ("[Request]", {"toolDenialKind": "interrupted"}, ("cancelled", None)),
    ],
)
def test_end_by_the_launch(config: Path, text: str, members: dict[str, Any], end: tuple[str, str | None]) -> None:
    """A launch that was waited for and failed says how its subagent ended: it was stopped, or it broke."""
    main, _ = _launched(config)
    main.user([{"type": "tool_result", "tool_use_id": "L", "content": text, "is_error": True}], **members)
    assert _end(main) == end


def test_end_that_nobody_tells(config: Path) -> None:
    """Of one whose launch gave its report nothing else is known."""
    main, child = _launched(config)
    main.result("L", "the report")
    child.answer("the report", model="claude-haiku-5-5")
    child.answer("API Error", model="<synthetic>")
    assert _end(main) == (None, None)
    assert _read(main).models == {"c": "claude-haiku-5-5"}


# ------------------------------------------------------------------------------------------ missing


def test_missing(config: Path) -> None:
    """A launch that gave something, and whose subagent has no file, has lost its history; one that failed had none."""
    main, _ = _launched(config)
    main.result("L", "the report")
    assert _read(main).missing == 0
    main.use("lost", "Agent", prompt="x", message="msg_2")
    main.result("lost", "the report")
    main.use("failed", "Agent", prompt="x", message="msg_3")
    main.user([{"type": "tool_result", "tool_use_id": "failed", "content": "No such agent", "is_error": True}])
    main.use("open", "Task", prompt="x", message="msg_4")
    assert _read(main).missing == 1


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_broken_records(data: st.DataObject) -> None:
    """Records whose members are anything at all say what they can, and stop nothing."""
    blocks = st.fixed_dictionaries(
        {"type": st.sampled_from(["tool_use", "tool_result", "text"])},
        optional={
            "id": JSON,
            "tool_use_id": JSON,
            "content": JSON,
            "is_error": JSON,
            "name": st.sampled_from(["Agent", "SendMessage", ["Agent"]]) | JSON,
            "input": st.fixed_dictionaries({"to": JSON, "message": JSON}) | JSON,
        },
    )
    message = st.fixed_dictionaries({"content": st.lists(blocks | JSON) | JSON}, optional={"model": JSON}) | JSON
    origin = st.fixed_dictionaries({"kind": st.sampled_from(["coordinator", "task-notification"]) | JSON}) | JSON
    members = st.fixed_dictionaries(
        {"message": message},
        optional={"origin": origin, "toolUseResult": JSON, "toolDenialKind": JSON, "attachment": origin, "uuid": JSON},
    )
    with tempfile.TemporaryDirectory() as place:
        main, child = _launched(Path(place))
        for transcript in (main, child):
            for kind in ("assistant", "user", "attachment"):
                drawn: dict[str, Any] = data.draw(members)
                transcript.record(kind, **drawn)
            transcript.answer("well")
        assert _read(main).ends.keys() == {"c"}


def test_structured_messages(config: Path) -> None:
    """A message that is no text is none that could be shown."""
    main, _ = _launched(config)
    main.answer({"type": "tool_use", "id": "M", "name": "SendMessage", "input": {"to": "c", "message": {"a": 1}}})
    main.use("N", "SendMessage")
    assert _read(main).sent == {}
