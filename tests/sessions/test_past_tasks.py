"""Work in the background, out of a transcript: that it began, and how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acpbridge.sessions.past_tasks import UNFINISHED
from tests.sessions.replaying import told
from tests.sessions.writing import Transcript

TERMINALS = {"_meta": {"terminal_output": True}}
BY_HARNESS = {"kind": "task-notification", "producer": "session-task"}


def _begun(config: Path) -> Transcript:
    """A command that goes on in the background as task `t`, begun by the call `a`."""
    t = Transcript(config)
    t.user("go")
    t.use("a", "Bash", command="make", description="build it", run_in_background=True)
    t.result("a", "It runs.", toolUseResult={"stdout": "", "stderr": "", "backgroundTaskId": "t"})
    return t


def _notification(task: str = "t", status: str = "completed", summary: str = "It is built", more: str = "") -> str:
    members = f"<task-id>{task}</task-id>\n<tool-use-id>a</tool-use-id>\n<status>{status}</status>\n"
    return f"<task-notification>\n{members}<summary>{summary}</summary>{more}\n</task-notification>"


def _ends(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How the tasks ended, as the client was told."""
    metas = [update["_meta"]["claudeCode"] for update in updates if "claudeCode" in update.get("_meta", {})]
    return [meta["task"] for meta in metas if "task" in meta]


def test_it_ends_as_notified(config: Path) -> None:
    """A notification, which is not the person's, tells at the command's call how it ended."""
    t = _begun(config)
    t.said(_notification(status="failed", summary="exit code 3"), origin=BY_HARNESS)
    updates = told(t)
    assert _ends(updates) == [{"taskId": "t", "status": "failed", "summary": "exit code 3"}]
    assert updates[-1]["content"][-1]["content"]["text"] == "exit code 3"
    assert [u["content"]["text"] for u in updates if u["sessionUpdate"] == "user_message_chunk"] == ["go"]


def test_it_ends_in_a_turn(config: Path) -> None:
    """So does one that Claude Code took into a turn that ran."""
    t = _begun(config)
    prompt = {"type": "queued_command", "prompt": _notification(), "commandMode": "task-notification"}
    t.record("attachment", attachment=prompt)
    t.answer("I see")
    assert [end["status"] for end in _ends(told(t))] == ["completed"]


def test_it_is_stopped(config: Path) -> None:
    """Of a command that Claude stopped there is no notification: the result of TaskStop says it."""
    t = _begun(config)
    t.use("b", "TaskStop", task_id="t")
    t.result("b", "stopped", toolUseResult={"message": "stopped", "task_id": "t", "task_type": "local_bash"})
    assert _ends(told(t)) == [{"taskId": "t", "status": "stopped", "summary": "build it"}]


def test_a_look_at_it_ends_nothing(config: Path) -> None:
    """A result that only names a task, and a TaskStop that failed, end nothing."""
    t = _begun(config)
    t.use("b", "TaskOutput", task_id="t")
    t.result("b", "so far", toolUseResult={"task_id": "t"})
    t.use("c", "TaskStop", task_id="t")
    failed = [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}]
    t.user(failed, toolUseResult={"task_id": "t", "task_type": "local_bash"})
    assert _ends(told(t, live=True)) == []


def test_nobody_wrote_its_end_down(config: Path) -> None:
    """A command whose Claude Code has ended has ended with it; one whose Claude Code runs may go on."""
    t = _begun(config)
    assert _ends(told(t, live=True)) == []
    assert _ends(told(t)) == [{"taskId": "t", "status": "stopped", "summary": UNFINISHED}]
    t.said(_notification(status="stopped", summary=UNFINISHED), origin={"kind": "task-notification"})
    assert _ends(told(t)) == [{"taskId": "t", "status": "stopped", "summary": UNFINISHED}]


def test_once(config: Path) -> None:
    """A task ends once, however often a transcript says it."""
    t = _begun(config)
    t.said(_notification(), origin=BY_HARNESS)
    t.said(_notification(status="killed"), origin=BY_HARNESS)
    assert [end["status"] for end in _ends(told(t))] == ["completed"]


def test_a_terminal_ends_with_its_command(config: Path) -> None:
    """A client with terminals is told that the terminal ended when the command did, not before."""
    t = _begun(config)
    assert not any("terminal_exit" in update.get("_meta", {}) for update in told(t, TERMINALS, live=True))
    t.said(_notification(), origin=BY_HARNESS)
    updates = told(t, TERMINALS)
    ends = [place for place, update in enumerate(updates) if "terminal_exit" in update.get("_meta", {})]
    results = [place for place, update in enumerate(updates) if update.get("status") == "completed"]
    assert (len(ends), len(results)) == (1, 1)
    assert ends > results


def test_an_agents_report(config: Path) -> None:
    """What an agent in the background reported stands in its notification, whatever it looks like."""
    t = Transcript(config)
    t.user("go")
    t.use("a", "Agent", description="look", prompt="look there", run_in_background=True)
    t.result("a", "launched", toolUseResult={"isAsync": True, "agentId": "t"})
    report = "\n<result>I found <status>killed</status> and </result> in it</result>\n<usage>1</usage>"
    t.said(_notification(summary="Agent finished", more=report), origin=BY_HARNESS)
    [end] = _ends(told(t))
    assert end["status"] == "completed"
    assert end["summary"] == "I found <status>killed</status> and </result> in it"


@pytest.mark.parametrize(
    "text",
    [
        _notification(status="running"),
        _notification(status=""),
        "<task-notification></task-notification>",
        "<task-notification><task-id>t</task-id><status>completed</status></task-notification>",
        "</task-notification><task-notification>",
        "",
    ],
)
def test_what_is_no_end(config: Path, text: str) -> None:
    """A notification that names no end, or no call, ends nothing."""
    t = _begun(config)
    t.said(text, origin=BY_HARNESS)
    assert _ends(told(t, live=True)) == []


def test_a_word_from_between(config: Path) -> None:
    """What is told of a task before it ends does not keep its end from being told."""
    t = _begun(config)
    t.said(_notification(status="running", summary="half of it"), origin=BY_HARNESS)
    t.said(_notification(), origin=BY_HARNESS)
    assert [end["summary"] for end in _ends(told(t))] == ["It is built"]


def test_the_persons_own_words(config: Path) -> None:
    """A person who writes what looks like a notification ends nothing."""
    t = _begun(config)
    t.said(_notification(), origin={"kind": "human"})
    assert _ends(told(t, live=True)) == []


def test_broken_members(config: Path) -> None:
    """What is no text where one should be says nothing, and stops nothing."""
    t = Transcript(config)
    t.user("go")
    t.use("a", "Bash", command=7, description=None)
    broken: list[Any] = [{"backgroundTaskId": 7}, {"backgroundTaskId": ""}, {"task_id": [], "task_type": 1}, [], "x"]
    for structured in broken:
        t.result("a", "x", toolUseResult=structured)
    t.record("attachment", attachment={"commandMode": "task-notification", "prompt": [None, 7, {"text": 7}]})
    t.record("user", message=7, origin=BY_HARNESS)
    assert _ends(told(t)) == []
