"""`Plans`: todo lists are plans and no tool calls, an approved plan is told to who wants it."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import ClientProfile, Message, acp
from middleware.messages import (
    PermissionAsk,
    Prompt,
    SessionClosed,
    SessionRestarted,
    TodoChanged,
)
from middleware.stages import Plans, ToolCalls
from middleware.testing import check_stage
from tests.tools.play import AIR, PLAIN, PLAN_CLIENT, SESSION, Json, played, result, runner, use, wire

AIR_PLAN = ClientProfile(capabilities={**AIR.capabilities, "plan": {}})
TODOS: Json = {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]}


def prompt() -> Prompt:
    return Prompt(session=SESSION, request=1, prompt="p", content=(acp.TextContent(text="go"),))


def create(number: int = 1) -> list[Message]:
    return [
        use("TaskCreate", {"subject": f"task {number}"}, f"c{number}"),
        result(f"Task #{number} created successfully: task {number}", f"c{number}"),
    ]


def plans(*messages: Message, profile: ClientProfile = PLAIN) -> list[list[str]]:
    """The plans that a client is sent, and nothing else: ToolCalls stands in front."""
    made = runner(ToolCalls(), Plans(), profile=profile)
    lines = wire(made.feed(*messages).run().client)
    assert {line["sessionUpdate"] for line in lines} <= {"plan"}
    return [[f"{entry['status']} {entry['content']}" for entry in line["entries"]] for line in lines]


def test_todo_write() -> None:
    """The list is told from the input, when it is complete and even when the call fails; no tool call is shown."""
    start = use("TodoWrite", {}, block=0, whole=False)
    assert plans(start, use("TodoWrite", TODOS), result("failed", is_error=True)) == [["completed a", "pending b"]]


def test_todo_write_of_a_subagent() -> None:
    """A subagent's own list does not take the place of the session's."""
    assert plans(use("TodoWrite", TODOS, parent="agent"), result("ok")) == []


def test_task_list() -> None:
    """The list grows with each result, over all turns."""
    assert plans(*create(1), *create(2)) == [["pending task 1"], ["pending task 1", "pending task 2"]]


def test_failing_task_shows_nothing() -> None:
    """A Task tool that fails is neither a plan nor a call."""
    assert plans(use("TaskCreate", {"subject": "x"}), result("boom", is_error=True)) == []


def test_same_plan_is_not_told_twice() -> None:
    """A hook and a result that say the same make one plan."""
    added = TodoChanged(session=SESSION, todo="1", subject="task 1")
    done = TodoChanged(session=SESSION, todo="1", done=True)
    assert plans(*create(), added, done) == [["pending task 1"], ["completed task 1"]]


@pytest.mark.parametrize(("profile", "count"), [(PLAIN, 2), (AIR, 1)], ids=["plain", "air"])
def test_unfinished_plan_is_told_again(profile: ClientProfile, count: int) -> None:
    """With the next prompt an unfinished task list is shown again, before the turn, but not to AIR."""
    assert plans(*create(), prompt(), profile=profile) == [["pending task 1"]] * count


def test_finished_plan_is_not_told_again() -> None:
    """A list that is done, or a todo list, is not repeated."""
    done = TodoChanged(session=SESSION, todo="1", done=True)
    assert len(plans(*create(), done, prompt())) == 2
    assert len(plans(use("TodoWrite", TODOS), prompt())) == 1


def test_prompt_passes() -> None:
    """The prompt goes on to the agent, behind the plan that goes to the client."""
    made = runner(Plans()).feed(*create(), prompt()).run()
    assert made.agent == [prompt()]


@pytest.mark.parametrize("end", [SessionRestarted(session=SESSION), SessionClosed(session=SESSION)])
def test_end_of_the_list(end: Message) -> None:
    """A fresh Claude Code has no list, and the client is told so; a closed session is told nothing."""
    told = plans(*create(), end, prompt())
    assert told[1:] == ([[]] if isinstance(end, SessionRestarted) else [])
    assert plans(end) == []


def test_the_end_of_a_plan_of_an_earlier_turn() -> None:
    """What was told before the last prompt is shown still: the client is told that it is over, once.

    Found by comparing a session with its replay: the plan of a TodoWrite outlived `/clear`, which is a prompt itself.
    """
    restarted = SessionRestarted(session=SESSION)
    assert plans(use("TodoWrite", TODOS), prompt(), restarted, restarted)[1:] == [[]]
    assert plans(use("TodoWrite", TODOS), use("TodoWrite", {"todos": []}), prompt(), restarted)[2:] == []


def test_asked_for_after_all() -> None:
    """A use that a permission is asked for is a call, which its result ends, and makes a plan all the same."""
    ask = PermissionAsk(session=SESSION, ask="a", tool_use="c1", name="TaskCreate", input={"subject": "task 1"})
    made = runner(ToolCalls(), Plans())
    begin, end = create()
    lines = wire(made.feed(begin, ask, end).run().client)
    assert [(line["sessionUpdate"], line.get("status")) for line in lines] == [
        ("tool_call", "pending"),
        ("tool_call_update", "completed"),
        ("plan", None),
    ]


# ------------------------------------------------------------------------------------------------- approved plans


def approved(profile: ClientProfile, **members: Any) -> list[Json]:
    parent = members.pop("parent", None)
    lines = played(Plans(), use("ExitPlanMode", {"plan": "1. do"}, parent=parent), result(**members), profile=profile)
    return [line["plan"] for line in lines]


def test_approved_plan() -> None:
    """A client that shows plans is told the one that was approved, behind its call's result."""
    expected = {"type": "markdown", "planId": "plan-mode", "content": "1. do"}
    assert approved(PLAN_CLIENT) == [expected]
    assert approved(AIR_PLAN) == [{**expected, "planId": "plan-mode:t"}]
    made = runner(ToolCalls(), Plans(), profile=PLAN_CLIENT)
    lines = wire(made.feed(use("ExitPlanMode", {"plan": "1. do"}), result("ok")).run().client)
    assert [line["sessionUpdate"] for line in lines] == ["tool_call", "tool_call_update", "plan_update"]


def test_no_plan_to_tell() -> None:
    """Nothing is told to a client without plans, of a refused plan, or of a subagent's."""
    assert approved(PLAIN) == []
    assert approved(PLAN_CLIENT, is_error=True) == []
    assert approved(PLAN_CLIENT, parent="agent") == []


def test_is_a_stage() -> None:
    """`Plans` behaves as any stage must."""
    script = [*create(), use("TodoWrite", TODOS), use("Bash"), use("ExitPlanMode", {"plan": "x"}), result("ok")]
    check_stage(Plans, script)
