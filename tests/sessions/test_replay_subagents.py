"""The past of child sessions, told again: each in its own session, as it was, and how it ended (reference 7.9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acpbridge import flow, wire
from acpbridge.sessions.replay import Replay
from middleware import acp
from middleware.profile import ClientProfile
from tests.acp.judge import Judge
from tests.sessions.writing import SubagentTranscript, Transcript, notification

CHILDREN: dict[str, Any] = {"subagents": {}}
NAMES = {"claude-opus-5-5": acp.SessionConfigSelectOption(value="opus", name="Opus 5.5")}


class Past:
    """A replay, and the lines that a client gets of it."""

    def __init__(self, transcript: Transcript, *, running: bool = False, **capabilities: Any) -> None:
        profile = ClientProfile(capabilities=capabilities or CHILDREN)
        self.replay = Replay("s", "/repo", transcript.path, flow.past(), profile, running=running, names=NAMES)
        self.updates = [wire.session_update(each.message) for piece in self.replay.pieces(3) for each in piece]
        judge = Judge()
        for update in self.updates:
            judge.from_agent({"jsonrpc": "2.0", "method": "session/update", "params": update})

    @property
    def lines(self) -> list[str]:
        return [line for update in self.updates if (line := _line(update["sessionId"], update["update"]))]


def _line(session: str, update: dict[str, Any]) -> str:
    match update["sessionUpdate"]:
        case "subagent_update":
            state = update.get("state", {})
            words = [update.get("title"), update.get("cwd"), state.get("state"), state.get("stopReason")]
            words += ["can be cancelled"] if update.get("capabilities") else []
            return f"{session}: child {update['sessionId']} {' '.join(word for word in words if word)}"
        case "session_message":
            said = " ".join(block["text"] for block in update["content"])
            ends = f"{update.get('senderSessionId')} to {update['recipientSessionId']}"
            return f"{session}: {update['messageId']} {ends}: {said}"
        case "tool_call" | "tool_call_update":
            return f"{session}: {update['toolCallId']} {update.get('status')}"
        case "config_option_update":
            return f"{session}: {' '.join(option['currentValue'] for option in update['configOptions'])}"
    return f"{session}: {update['sessionUpdate'].split('_')[0]} {update['content']['text']}"


def _launch(main: Transcript, call: str = "L", message: str = "msg_1", **given: Any) -> None:
    main.use(call, "Agent", message=message, **{"prompt": "do it", "description": "The work", **given})


def _about(call: str = "L", **about: Any) -> dict[str, Any]:
    return {"toolUseId": call, "description": "The work", "agentType": "Explore", **about}


def _send(call: str, text: str, to: str = "c") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "SendMessage", "input": {"to": to, "message": text}}


BEGINS = ["s: child c The work running", "s: L s to c: do it", "c: L s to c: do it"]


def test_all_of_a_child(config: Path) -> None:
    """A child is told behind its launch: announced without a way to stop it, what it was told, its model, all that it
    did with the messages that it got where it got them, and its report; and at the end how it ended."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    child = SubagentTranscript(main, "c", **_about())
    child.said("do it")
    child.answer("I look")
    child.use("read", "Read", file_path="/x", message="msg_2")
    child.result("read", "x")
    child.hears("go on")
    child.answer("more", message="msg_3")
    main.result("L", "the report")
    main.answer("well", message="msg_4")
    main.answer(_send("M", "go on"), message="msg_5")
    main.result("M", "sent", toolUseResult={"success": True})
    main.said(**notification("c", "completed"))
    past = Past(main)
    assert past.lines == [
        "s: user go",
        *BEGINS,
        "c: opus",
        "c: agent I look",
        "c: read pending",
        "c: read completed",
        "c: M s to c: go on",
        "c: agent more",
        "s: L:reply c to s: the report",
        "s: agent well",
        "s: M s to c: go on",
        "s: child c idle end_turn",
    ]
    assert past.replay.told == ["c"]
    arrived, sent = (update["update"] for update in past.updates if update["update"].get("messageId") == "M")
    assert (arrived["senderMessageId"], sent["recipientMessageId"]) == ("M", "M")


def test_message_that_did_not_arrive(config: Path) -> None:
    """A message that the child's transcript does not have stays the call that it was."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    SubagentTranscript(main, "c", **_about()).said("do it")
    main.result("L", "report")
    main.answer(_send("M", "go on"), message="msg_5")
    main.result("M", "queued", toolUseResult={"success": True, "pin": {"id": "c"}})
    assert [line for line in Past(main).lines if "M" in line] == ["s: M completed"]


@pytest.mark.parametrize("raw", [{"run_in_background": True}, {}])
def test_child_in_the_background(config: Path, raw: dict[str, Any]) -> None:
    """A launch that nobody waited for gave no report."""
    main = Transcript(config)
    main.user("go")
    _launch(main, **raw)
    SubagentTranscript(main, "c", **_about(requestShape="background")).said("do it")
    main.result("L", "Async agent launched", toolUseResult={"status": "async_launched"})
    assert Past(main).lines == ["s: user go", *BEGINS, "s: child c idle"]


@pytest.mark.parametrize("raw", [{"run_in_background": True}, {}])
def test_launch_without_files(config: Path, raw: dict[str, Any]) -> None:
    """A launch whose subagent has left nothing stays a call, and is counted."""
    main = Transcript(config)
    main.user("go")
    _launch(main, **raw)
    SubagentTranscript(main, "c").said("do it")
    main.result("L", "Async agent launched" if raw else "report")
    past = Past(main)
    assert past.lines == ["s: user go", "s: L completed"]
    assert (past.replay.told, past.replay.traffic.missing) == ([], 1)


def test_children_end_in_reverse(config: Path) -> None:
    """A child of a child is told on its parent's session; at the end the last one is at rest first."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    middle = SubagentTranscript(main, "c", **_about(stoppedByUser=True))
    middle.said("do it")
    _launch(middle, "M", prompt="deeper", description="Inner")
    deep = SubagentTranscript(main, "d", **_about("M", description="Inner", worktreePath="/tree"))
    deep.said("deeper", cwd="/tree")
    deep.use("open", "Bash", command="sleep 9")
    assert Past(main).lines == [
        "s: user go",
        *BEGINS,
        "c: opus",
        "c: child d Inner /tree running",
        "c: M c to d: deeper",
        "d: M c to d: deeper",
        "d: opus",
        "d: open pending",
        "d: open failed",
        "c: child d idle",
        "s: child c idle cancelled",
    ]


def test_hand_back(config: Path) -> None:
    """What a child has handed back is a message in both sessions, and stands for its report."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    child = SubagentTranscript(main, "c", **_about())
    child.said("do it")
    hand_back = {"type": "tool_use", "id": "H", "name": "SubagentHandback", "input": {"message": "here"}}
    child.answer(hand_back)
    child.result("H", "delivered")
    main.result("L", "the report")
    lines = Past(main).lines
    assert lines == ["s: user go", *BEGINS, "c: opus", "c: H c to s: here", "s: H c to s: here", "s: child c idle"]


def test_what_nobody_said_to_a_child(config: Path) -> None:
    """Notes in the person's place are not shown; neither in the child's session, nor in its parent's."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    child = SubagentTranscript(main, "c", **_about())
    child.said("do it")
    child.use("open", "Bash", command="sleep 9")
    child.user([{"type": "tool_result", "tool_use_id": "open", "content": "x"}, {"type": "text", "text": "a note"}])
    child.said("[Request interrupted by user]")
    child.said("another note")
    child.answer("well", message="msg_2")
    for past in (Past(main), Past(main, none={})):
        assert not any("note" in line or "interrupted" in line for line in past.lines)


def test_compaction_of_a_child(config: Path) -> None:
    """A child whose context was compacted is told as far as its transcript goes; the session's was not compacted."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    child = SubagentTranscript(main, "c", **_about())
    child.said("do it")
    child.answer("early")
    child.record("system", parent=None, subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    child.said("This session goes on", isCompactSummary=True)
    child.answer("late", message="msg_2")
    for capabilities in (CHILDREN, {**CHILDREN, "session": {"compaction": {}}}):
        assert Past(main, **capabilities).lines == [
            "s: user go",
            *BEGINS,
            "c: opus",
            "c: agent late",
            "s: child c idle",
        ]


def test_fork(config: Path) -> None:
    """Of a fork its parent's conversation is not told again."""
    main = Transcript(config)
    main.user("go")
    _launch(main, subagent_type="fork")
    fork = SubagentTranscript(main, "c", **_about(agentType="fork"))
    _launch(fork, subagent_type="fork")
    fork.user(
        [
            {"type": "tool_result", "tool_use_id": "L", "content": "Fork started"},
            {"type": "text", "text": "<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\nYour directive: do it"},
        ]
    )
    fork.answer("forked", message="msg_2")
    assert Past(main).lines == ["s: user go", *BEGINS, "c: opus", "c: agent forked", "s: child c idle"]
    assert Past(main, none={}).lines == ["s: user go", "s: L pending", "s: L failed"]


def test_only_what_was_told(config: Path) -> None:
    """A child whose launch is not in the conversation any more is not told of."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    SubagentTranscript(main, "c", **_about()).said("do it")
    main.result("L", "report")
    main.record("system", parent=None, subtype="compact_boundary", compactMetadata={"trigger": "manual"})
    main.said("This session goes on", isCompactSummary=True)
    main.user("after")
    past = Past(main)
    assert past.replay.told == []
    assert not any("child" in line for line in past.lines)


def test_flat(config: Path) -> None:
    """For a client without child sessions a message to a subagent is a call, and nothing of it is counted."""
    main = Transcript(config)
    main.user("go")
    _launch(main)
    child = SubagentTranscript(main, "c", **_about())
    child.said("do it")
    child.hears("go on")
    child.answer("more")
    main.result("L", "report")
    main.answer(_send("M", "go on"), message="msg_5")
    main.result("M", "sent", toolUseResult={"success": True})
    _launch(main, "lost", message="msg_6")
    main.result("lost", "report")
    past = Past(main, none={})
    assert [line for line in past.lines if line.startswith("s: M")] == ["s: M pending", "s: M completed"]
    assert past.replay.traffic.missing == 0
    assert {update["sessionId"] for update in past.updates} == {"s"}
