"""`Compactions` alone: how a compaction is shown, and how one ends that is interrupted (reference 10.12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpbridge.wire import session_update
from middleware import Message, Pipeline, StepRunner, acp
from middleware.messages import (
    AgentGone,
    Cancel,
    CancelRequest,
    Compaction,
    CompactionSummary,
    Initialized,
    Prompt,
    PromptEchoed,
    PromptState,
    SessionClosed,
    SessionRestarted,
    Text,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
)
from middleware.profile import ClientProfile
from middleware.stages import Compactions
from middleware.stages.compactions import INTERRUPTED
from middleware.testing import check_stage

S = "s"
UPDATES: dict[str, Any] = {"session": {"compaction": {}}}
BEGUN = Compaction(session=S, state="in_progress", compaction="c")
DONE = Compaction(
    session=S,
    state="completed",
    compaction="b",
    summary="short",
    trigger="automatic",
    tokens_before=900,
    tokens=7,
    milliseconds=50,
)
FAILED = Compaction(session=S, state="failed", compaction="f", error="no room")
FACTS = {"trigger": "automatic", "preTokens": 900, "postTokens": 7, "durationMs": 50}
PROMPT = Prompt(session=S, request=1, prompt="p", content=(acp.TextContent(text="/compact"),))
STARTED = PromptState(session=S, prompt="p", state="started")
ENDED = TurnEnded(session=S, request=1, prompt="p")
ERROR = Text(session=S, text="  no room\n", whole=True, synthetic=True)


def runner(**capabilities: Any) -> StepRunner:
    run = StepRunner(Pipeline([Compactions()]))
    return run.feed(Initialized(profile=ClientProfile(capabilities=capabilities))).run()


def play(run: StepRunner, *messages: Message) -> list[dict[str, Any]]:
    """What the client is shown of these messages, as it stands on the wire."""
    before = len(run.client)
    for message in messages:
        run.feed(message).run()
    return [wire(message) for message in run.client[before:] if wire(message)]


def wire(message: Message) -> dict[str, Any]:
    if isinstance(message, Text):
        return {"text": message.text}
    if not isinstance(message, ToolCall | ToolCallUpdate | Update):
        return {}
    update: dict[str, Any] = json.loads(json.dumps(session_update(message)))["update"]
    return update


def content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


# ------------------------------------------------------------------------------------------ its course


def test_as_a_tool_call() -> None:
    """Without the capability it is a call that runs and ends, with its summary and what is known of it."""
    begun, done = play(runner(), STARTED, BEGUN, DONE)
    assert begun == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "Compact conversation",
        "kind": "think",
        "status": "in_progress",
        "_meta": {"claudeCode": {"toolName": "compact"}},
    }
    assert done == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "status": "completed",
        "content": content("short"),
        "rawOutput": FACTS,
    }


def test_as_an_update() -> None:
    """With the capability it is a `compaction_update` that runs and ends."""
    begun, done = play(runner(**UPDATES), STARTED, BEGUN, DONE)
    assert begun == {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}
    assert done == {
        "sessionUpdate": "compaction_update",
        "compactionId": "c",
        "status": "completed",
        "summary": [{"type": "text", "text": "short"}],
    }


def test_failed_call() -> None:
    """A call of one that fails says why."""
    _, failed = play(runner(), BEGUN, FAILED)
    assert (failed["toolCallId"], failed["status"]) == ("c", "failed")
    assert failed["content"] == content("Compaction failed: no room")
    assert "rawOutput" not in failed


def test_failed_update() -> None:
    """An update of one that fails says why."""
    _, failed = play(runner(**UPDATES), BEGUN, FAILED)
    assert (failed["compactionId"], failed["status"], failed["error"]) == ("c", "failed", "no room")


@pytest.mark.parametrize("end", [DONE, FAILED])
def test_an_end_without_a_beginning(end: Compaction) -> None:
    """An end whose beginning was never told is a call that is over at once, or one update."""
    [call] = play(runner(), end)
    assert (call["sessionUpdate"], call["status"], call["toolCallId"]) == ("tool_call", end.state, end.compaction)
    assert call["title"] == "Compact conversation"
    assert call["content"]
    [update] = play(runner(**UPDATES), end)
    assert (update["sessionUpdate"], update["status"]) == ("compaction_update", end.state)


def test_without_a_name() -> None:
    """What has no name and belongs to nothing is not shown."""
    assert play(runner(), Compaction(session=S, state="completed"), Compaction(session=S, state="in_progress")) == []


def test_a_second_one() -> None:
    """A session is compacted again: that is another call."""
    shown = play(runner(), BEGUN, DONE, Compaction(session=S, state="in_progress", compaction="d"))
    assert [change["toolCallId"] for change in shown] == ["c", "c", "d"]


# ------------------------------------------------------------------------------------------ while it runs


def test_sign_of_life() -> None:
    """While the summary is written a call is told once that it runs, be it by pieces of it or by the state again."""
    piece = CompactionSummary(session=S, text="x")
    for signs in ([piece, piece, BEGUN], [BEGUN, piece, BEGUN]):
        shown = play(runner(), BEGUN, *signs, DONE)
        assert [change["status"] for change in shown] == ["in_progress", "in_progress", "completed"]
        assert shown[1] == {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"}


def test_the_summary_is_streamed() -> None:
    """A client of updates reads the summary as it is written; it is not said again, unless it came out otherwise."""
    pieces = [CompactionSummary(session=S, text=text) for text in ("sh", "ort")]
    shown = play(runner(**UPDATES), BEGUN, BEGUN, *pieces, DONE)
    assert [change["sessionUpdate"] for change in shown[1:3]] == ["compaction_summary_chunk"] * 2
    assert [change["content"]["text"] for change in shown[1:3]] == ["sh", "ort"]
    assert {change["compactionId"] for change in shown} == {"c"}
    assert "summary" not in shown[3]
    shown = play(runner(**UPDATES), BEGUN, *pieces[:1], DONE)
    assert shown[-1]["summary"] == [{"type": "text", "text": "short"}]


def test_pieces_of_none() -> None:
    """Pieces of a summary that nobody waits for are not shown."""
    assert play(runner(**UPDATES), CompactionSummary(session=S, text="x"), STARTED) == []


# ------------------------------------------------------------------------------------------ what Claude Code says


def test_a_failure_is_said_once() -> None:
    """The same error as the text of the answer is not shown, once; another text is."""
    run = runner()
    assert play(run, BEGUN, FAILED)
    assert play(run, ERROR, ERROR) == [{"text": ERROR.text}]
    assert play(run, BEGUN, FAILED, Text(session=S, text="something else"))[-1] == {"text": "something else"}


def test_a_failure_of_another_turn() -> None:
    """With the turn the error is forgotten, and a success leaves none behind; a subagent's text is its own."""
    assert play(runner(), BEGUN, FAILED, ENDED, ERROR)[-1] == {"text": ERROR.text}
    assert play(runner(), BEGUN, FAILED, BEGUN, DONE, ERROR)[-1] == {"text": ERROR.text}
    below = Text(session=S, text="no room", parent="t")
    assert play(runner(), BEGUN, FAILED, below)[-1] == {"text": "no room"}


# ------------------------------------------------------------------------------------------ its interruption


@pytest.mark.parametrize("end", [ENDED, AgentGone(session=S), SessionRestarted(session=S), SessionClosed(session=S)])
def test_cut_short(end: Message) -> None:
    """One that is open when its turn ends, or Claude Code does, is closed before that is told."""
    run = runner()
    play(run, BEGUN, end)
    assert isinstance(run.client[-2], ToolCallUpdate)
    assert run.client[-1] is end
    assert wire(run.client[-2])["status"] == "failed"
    assert wire(run.client[-2])["content"] == content(INTERRUPTED)
    assert play(runner(**UPDATES), BEGUN, end)[-1]["status"] == "cancelled"


@pytest.mark.parametrize("cancel", [Cancel(session=S), CancelRequest(request=1)])
def test_cancelled(cancel: Message) -> None:
    """That one fails because the person cancelled is no failure, and what Claude Code says of it is not shown."""
    aborted = Compaction(session=S, state="failed", compaction="x", error="API Error: Request was aborted.")
    words = Text(session=S, text="Compaction canceled.", whole=True, synthetic=True)
    shown = play(runner(**UPDATES), PROMPT, STARTED, BEGUN, cancel, aborted, words, ENDED)
    assert [change["status"] for change in shown] == ["in_progress", "cancelled"]
    shown = play(runner(), PROMPT, STARTED, BEGUN, cancel, aborted, words, ENDED)
    assert [change["status"] for change in shown] == ["in_progress", "failed"]
    assert shown[-1]["content"] == content(INTERRUPTED)


def test_done_all_the_same() -> None:
    """One that is done although the person cancelled is done."""
    assert play(runner(**UPDATES), PROMPT, BEGUN, Cancel(session=S), DONE, ENDED)[-1]["status"] == "completed"


def test_a_cancel_of_something_else() -> None:
    """A cancel when none is open, or of another session's prompt, makes no later failure an interruption."""
    other = Prompt(session="other", request=2, prompt="q", content=())
    for cancel in (Cancel(session="other"), CancelRequest(request=2), CancelRequest(request=9)):
        assert play(runner(**UPDATES), PROMPT, other, BEGUN, cancel, FAILED)[-1]["status"] == "failed"
    assert play(runner(**UPDATES), Cancel(session=S), BEGUN, FAILED)[-1]["status"] == "failed"


@pytest.mark.parametrize("begins", [STARTED, PromptEchoed(session=S, prompt="p")])
def test_late(begins: Message) -> None:
    """What comes of an interrupted one is not shown, until the next prompt begins."""
    run = runner()
    play(run, BEGUN, ENDED)
    late = [
        FAILED,
        DONE,
        CompactionSummary(session=S, text="x"),
        BEGUN,
        PromptState(session=S, prompt="p", state="queued"),
    ]
    assert play(run, *late) == []
    assert [change["status"] for change in play(run, begins, BEGUN, DONE)] == ["in_progress", "completed"]


def test_sessions_do_not_meet() -> None:
    """One session's turn ends, and another's compaction goes on."""
    shown = play(runner(), BEGUN, TurnEnded(session="other", request=2, prompt="q"), DONE)
    assert [change["status"] for change in shown] == ["in_progress", "completed"]


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(Compactions, [PROMPT, STARTED, BEGUN, DONE, BEGUN, FAILED, ERROR, ENDED])
