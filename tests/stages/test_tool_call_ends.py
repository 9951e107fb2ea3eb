"""`ToolCalls`: how calls end, in the foreground and in the background, on terminals and without."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message
from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    MemoryRecalled,
    PastSubagent,
    Request,
    SessionClosed,
    SessionRestarted,
    SubagentHistory,
    Task,
    ToolDenied,
    TurnEnded,
    WorkStopped,
)
from middleware.stages import ToolCalls
from middleware.stages.tool_calls import NEVER_RAN, NO_RESULT, STOPPED
from tests.stages.tool_call_words import BASH, EDIT, ENDS, FILE, ask, ended, start
from tests.tools.play import SESSION, TERMINAL_DELTAS, TERMINALS, played, result, runner, shown_diffs, texts, use, wire

# ------------------------------------------------------------------------------------------------- how calls end


def test_denied_by_a_rule() -> None:
    """A call that Claude Code itself denied fails with the reason (reference 4.8)."""
    denied = ToolDenied(session=SESSION, tool_use="t", message="no", reason_type="rule", reason="Bash(rm:*)")
    (_, update) = played(ToolCalls(), use("Bash", BASH), denied)
    assert (update["status"], texts(update)) == ("failed", ["Permission denied: Bash(rm:*)"])
    assert update["_meta"]["claudeCode"]["toolResponse"] == {
        "decisionReasonType": "rule",
        "decisionReason": "Bash(rm:*)",
        "message": "no",
    }


@pytest.mark.parametrize(
    ("surface", "end", "expected"),
    [
        ([start("Bash")], WorkStopped(session=SESSION), NEVER_RAN),
        ([use("Bash", BASH)], WorkStopped(session=SESSION), STOPPED),
        ([start("Bash")], ended(), NEVER_RAN),
        ([use("Bash", BASH)], ended("max_tokens"), NO_RESULT),
        ([use("Bash", BASH)], SessionClosed(session=SESSION), STOPPED),
        ([use("Bash", BASH)], SessionRestarted(session=SESSION), STOPPED),
    ],
)
def test_what_is_left_open(surface: list[Message], end: Message, expected: str) -> None:
    """No call is left open: it is closed before the message that says that its work is over, and says why."""
    made = runner(ToolCalls()).feed(*surface, end).run()
    assert texts(wire(made.client)[-1]) == [expected]
    assert made.client[-1] == end


def test_diff_survives_a_failure() -> None:
    """A call that fails keeps the diff of what was to be changed, with the reason behind it."""
    (_, update) = played(ToolCalls(), use("Edit", EDIT), WorkStopped(session=SESSION))
    assert shown_diffs(update) == [("two", "TWO")]
    assert texts(update) == [STOPPED]


def test_call_without_result_fails_the_prompt() -> None:
    """A turn that ends by itself although a call that may have run has no result is an error (02.6); one that only
    streamed, or was only asked for, is not."""
    stuck = runner(ToolCalls()).feed(use("Bash", BASH), ended()).run().client[-1]
    assert isinstance(stuck, TurnEnded)
    assert stuck.failure is not None
    assert stuck.failure.data == {"errorKind": "incomplete_tool_call"}
    assert "t" in stuck.failure.message
    for surface in (start("Bash"), ask("SandboxNetworkAccess", {"host": "x"})):
        fine = runner(ToolCalls()).feed(surface, ended()).run().client[-1]
        assert fine == ended()


def test_cancelled_turn_is_closed_by_its_stop_only() -> None:
    """The answer of a cancelled prompt closes nothing: `WorkStopped` did, and what is open belongs to later work."""
    made = runner(ToolCalls()).feed(use("Bash", BASH), ended("cancelled")).run()
    assert made.client[-1] == ended("cancelled")
    assert len(wire(made.client)) == 1


def test_background_work_goes_on() -> None:
    """A stop closes neither a background subagent's launch nor its calls; the end of its session's Claude does."""
    task = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    made = runner(ToolCalls()).feed(use("Agent"), task, use("Bash", BASH, "inner", parent="t"))
    made.feed(WorkStopped(session=SESSION), ended()).run()
    assert [line["sessionUpdate"] for line in wire(made.client)] == ["tool_call", "tool_call"]
    made.feed(SessionRestarted(session=SESSION)).run()
    assert [line["status"] for line in wire(made.client)[2:]] == ["failed", "failed"]


def test_what_background_work_waits_for_goes_on() -> None:
    """What a subagent in the background has begun and waits for goes on with it, however deep."""
    task = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    inner = [use("Agent", {}, "u", parent="t"), use("Agent", {}, "v", parent="u"), use("Bash", BASH, "w", parent="v")]
    itself = use("Agent", {}, "x", parent="x")
    made = runner(ToolCalls()).feed(use("Agent"), task, *inner, itself, WorkStopped(session=SESSION)).run()
    assert [line["toolCallId"] for line in wire(made.client) if line.get("status") == "failed"] == ["x"]


@pytest.mark.parametrize("before", [True, False], ids=["from before", "of this connection"])
def test_resumed_work_in_the_background_goes_on(before: bool) -> None:
    """What a resumed subagent does names the call that began it, and goes on beside the turn."""

    def task(state: Any, tool_use: str) -> Task:
        return Task(session=SESSION, task="a1", state=state, tool_use=tool_use, subagent=True, background=True)

    past = SubagentHistory(session=SESSION, subagents=(PastSubagent(task="a1", call="t"), PastSubagent(task="a2")))
    first: list[Message] = [use("Agent"), task("running", "t"), result("report"), task("ended", "t")]
    began = [past] if before else first
    resumed = [use("SendMessage", {}, "u"), task("running", "u"), use("Bash", BASH, "inner", parent="t")]
    made = runner(ToolCalls()).feed(*began, *resumed, WorkStopped(session=SESSION)).run()
    assert not any(line.get("status") == "failed" for line in wire(made.client))
    made.feed(task("ended", "u"), WorkStopped(session=SESSION)).run()
    failed = [line["toolCallId"] for line in wire(made.client) if line.get("status") == "failed"]
    assert failed == ["u", "inner"]


def test_terminals_end_once() -> None:
    """The terminal of a command in the background ends with Claude Code, and not again with the session."""
    command = Task(session=SESSION, task="b1", state="running", tool_use="t", background=True)
    made = runner(ToolCalls(), profile=TERMINALS).feed(use("Bash", BASH), command, result("running in the background"))
    made.feed(AgentGone(session=SESSION)).run()
    told = [line for line in wire(made.client) if "terminal_exit" in line.get("_meta", {})]
    assert len(told) == 1
    made.feed(SessionClosed(session=SESSION)).run()
    assert [line for line in wire(made.client) if "terminal_exit" in line.get("_meta", {})] == told


@pytest.mark.parametrize("method", ["session/close", "session/delete", "session/set_mode"])
def test_nothing_goes_on_in_a_session_that_is_closed(method: str) -> None:
    """A session that is closed spares nothing: what works in the background is over before the prompt's answer."""
    task = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    made = runner(ToolCalls()).feed(use("Agent"), task, use("Bash", BASH, "inner", parent="t"))
    made.feed(Request(request=2, method=method, params=None, session=SESSION))
    made.feed(WorkStopped(session=SESSION), ended("cancelled")).run()
    failed = [line for line in wire(made.client) if line.get("status") == "failed"]
    assert len(failed) == (0 if method == "session/set_mode" else 2)


@pytest.mark.parametrize(
    ("failure", "text"), [(None, STOPPED), (Failure.internal("it died"), NO_RESULT)], ids=["closed", "died"]
)
def test_background_work_ends_with_claude_code(failure: Failure | None, text: str) -> None:
    """When Claude Code is gone nothing of it goes on: every call is over before it is told, and so before an answer."""
    task = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    made = runner(ToolCalls()).feed(use("Agent"), task, use("Bash", BASH, "inner", parent="t"), use("Read", {}, "main"))
    made.feed(AgentGone(session=SESSION, failure=failure), ended("cancelled")).run()
    assert [line.get("status") for line in wire(made.client)] == [*["pending"] * 3, *["failed"] * 3]
    assert texts(wire(made.client)[4]) == [text]
    assert [type(message) for message in made.client[-2:]] == [AgentGone, TurnEnded]


def test_background_work_that_ended_is_closed() -> None:
    """When a background subagent has ended, what it left open is closed with the next turn."""
    running = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    over = Task(session=SESSION, task="a1", state="ended")
    made = runner(ToolCalls()).feed(use("Agent"), running, use("Bash", BASH, "inner", parent="t"), over)
    made.feed(WorkStopped(session=SESSION)).run()
    assert [line["status"] for line in wire(made.client)] == ["pending", "pending", "failed", "failed"]


def test_memories() -> None:
    """Memories that were recalled are a call that is over at once: which files, or what was made of them."""
    one = MemoryRecalled(session=SESSION, recall="m", memories=({"path": "/m/a.md", "content": "A"},))
    two = MemoryRecalled(session=SESSION, recall="m", memories=({"path": "/m/a.md"}, {"path": "https://x.y"}))
    made = MemoryRecalled(session=SESSION, recall="m", memories=({"path": "<x>", "content": "A"},), synthesized=True)
    (call,) = played(ToolCalls(), one)
    assert call == {
        "sessionUpdate": "tool_call",
        "toolCallId": "m",
        "status": "completed",
        "title": "Recalled 1 memory",
        "kind": "read",
        "locations": [{"path": "/m/a.md"}],
        "_meta": {"claudeCode": {"toolName": "memory_recall", "toolResponse": {"mode": "select"}}},
    }
    assert played(ToolCalls(), two)[0]["title"] == "Recalled 2 memories"
    (synthesized,) = played(ToolCalls(), made)
    assert (synthesized["title"], texts(synthesized)) == ("Recalled synthesized memory", ["A"])
    assert "locations" not in synthesized


# ------------------------------------------------------------------------------------------------- terminals (4.5)


@pytest.mark.parametrize(
    ("profile", "key"),
    [(TERMINALS, "terminal_output"), (TERMINAL_DELTAS, "terminal_output_delta")],
    ids=["terminal_output", "terminal_output_delta"],
)
def test_terminal(profile: Any, key: str) -> None:
    """A command is a terminal: announced with it, then what it printed, then how it ended."""
    announced, printed, over = played(
        ToolCalls(), use("Bash", BASH), result("Exit code 3\nboom", is_error=True), profile=profile
    )
    assert announced["content"] == [{"type": "terminal", "terminalId": "t"}]
    assert announced["_meta"]["terminal_info"] == {"terminal_id": "t"}
    assert printed == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "_meta": {key: {"terminal_id": "t", "data": "Exit code 3\nboom"}},
    }
    assert over == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "failed",
        "rawOutput": {"metadata": {"exit": 3}},
        "_meta": {
            "claudeCode": {"toolName": "Bash"},
            "terminal_exit": {"terminal_id": "t", "exit_code": 3, "signal": None},
        },
    }


def test_terminal_of_a_silent_command() -> None:
    """A command that printed nothing has an end and no output."""
    (_, over) = played(ToolCalls(), use("Bash", BASH), result(""), profile=TERMINALS)
    assert over["_meta"]["terminal_exit"]["exit_code"] == 0


def test_terminal_in_the_background() -> None:
    """A command in the background keeps its terminal until its task ends; how it ended nobody says."""
    running = Task(session=SESSION, task="b1", state="running", tool_use="t", background=True)
    over = Task(session=SESSION, task="b1", state="ended")
    shell = {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}
    calls = played(
        ToolCalls(), use("Bash", BASH), running, result("started", structured=shell), over, over, profile=TERMINALS
    )
    exits = [call["_meta"].get("terminal_exit") for call in calls]
    assert exits == [None, None, None, {"terminal_id": "t", "exit_code": None, "signal": None}]
    assert [call.get("status") for call in calls] == ["pending", None, "completed", None]


@pytest.mark.parametrize("end", [WorkStopped(session=SESSION), SessionClosed(session=SESSION), ENDS["denied"]])
def test_terminal_of_a_stopped_command(end: Message) -> None:
    """A terminal whose command is stopped or never ran does not run for ever."""
    (_, over) = played(ToolCalls(), use("Bash", BASH), end, profile=TERMINALS)
    assert over["_meta"]["terminal_exit"] == {"terminal_id": "t", "exit_code": None, "signal": None}
    assert over["content"][0] == {"type": "terminal", "terminalId": "t"}


def test_only_commands_have_terminals() -> None:
    """Any other tool is shown to a client with terminals as to one without."""
    assert played(ToolCalls(), use("Read", {"file_path": FILE}), result("x"), profile=TERMINALS) == played(
        ToolCalls(), use("Read", {"file_path": FILE}), result("x")
    )
