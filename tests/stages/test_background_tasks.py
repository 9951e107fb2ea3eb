"""Work that outlives its call: the call says how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message, Pipeline, acp
from middleware.messages import (
    Cancel,
    CancelRequest,
    Prompt,
    SessionClosed,
    SessionRestarted,
    StopTask,
    Task,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
)
from middleware.stages import BackgroundTasks
from middleware.stepping import StepRunner
from middleware.testing import check_stage
from middleware.tools.text import text_content

S = "s"
META = {"claudeCode": {"toolName": "Bash", "parentToolUseId": "p"}}


def call(*content: acp.ToolCallContent) -> ToolCall:
    return ToolCall(session=S, call=acp.ToolCall(tool_call_id="x", title="t", content=list(content), meta=META))


def change(**fields: Any) -> ToolCallUpdate:
    return ToolCallUpdate(session=S, change=acp.ToolCallUpdate(tool_call_id="x", **fields))


def begins(task: str = "t") -> Task:
    return Task(session=S, task=task, state="running", tool_use="x", background=True)


def ends(**members: Any) -> Task:
    return Task(session=S, task="t", state="ended", **{"status": "completed", "summary": "exit code 0", **members})


def follow_ups(*messages: Message) -> list[acp.ToolCallUpdate]:
    fed = list(messages)
    run = StepRunner(Pipeline([BackgroundTasks()])).feed(*messages).run()
    return [sent.change for sent in run.client if isinstance(sent, ToolCallUpdate) and sent not in fed]


def test_followed_up() -> None:
    """Behind what the call shows stands how the work ended; its status stays, and its subagent is named."""
    shown = text_content("in background")
    [told] = follow_ups(call(), begins(), change(status="completed", content=[shown]), ends())
    assert told.tool_call_id == "x"
    assert told.status is None
    assert told.content == [shown, text_content("exit code 0")]
    task = {"taskId": "t", "status": "completed", "summary": "exit code 0"}
    assert told.meta == {"claudeCode": {"toolName": "Bash", "task": task, "parentToolUseId": "p"}}


def test_once() -> None:
    """Two words of one end are one follow-up: the one that says what came of it."""
    over = change(status="completed")
    assert len(follow_ups(call(), begins(), over, ends(summary=None), ends(), ends())) == 1


def test_in_the_foreground() -> None:
    """What ends before its call is told by the call."""
    foreground = Task(session=S, task="t", state="running", tool_use="x", background=False)
    assert follow_ups(call(), foreground, ends(), change(status="completed")) == []


def test_over_before_its_call() -> None:
    """Work in the background that ends before its call is told behind the call, which does not say it."""
    shown = text_content("in background")
    [told] = follow_ups(call(), begins(), ends(), change(title="t"), change(status="completed", content=[shown]))
    assert told.content == [shown, text_content("exit code 0")]


def test_terminal() -> None:
    """A terminal has an end of its own: only the fact is added."""
    [told] = follow_ups(call(acp.Terminal(terminal_id="x")), begins(), change(status="completed"), ends())
    assert told.content is None


@pytest.mark.parametrize("end", [SessionRestarted(session=S), SessionClosed(session=S)])
def test_forgotten(end: Message) -> None:
    """Nothing is followed up of a Claude Code that is gone, nor of a call that nobody has."""
    assert follow_ups(call(), begins(), change(status="completed"), end, ends()) == []
    assert follow_ups(begins(), ends()) == []


def test_workflows_are_stopped() -> None:
    """A cancel stops the workflows that run, behind itself; no other task, and none that has ended."""
    flow = {"state": "running", "kind": "local_workflow"}
    run = StepRunner(Pipeline([BackgroundTasks()]))
    run.feed(begins("bash"), *(Task(session=S, task=name, **flow) for name in ("w", "v", "t")), ends()).run()  # type: ignore[arg-type]
    run.feed(Cancel(session=S)).run()
    assert run.agent == [Cancel(session=S), StopTask(session=S, task="w"), StopTask(session=S, task="v")]


def test_workflows_are_stopped_with_their_prompt() -> None:
    """A prompt that is given up by `$/cancel_request` is cancelled; any other request, or one that is over, is not."""
    run = StepRunner(Pipeline([BackgroundTasks()]))
    run.feed(Prompt(session=S, request=7, prompt="p", content=()))
    run.feed(Task(session=S, task="w", state="running", kind="local_workflow")).run()
    run.agent.clear()
    run.feed(CancelRequest(request=8), CancelRequest(request=7)).run()
    assert run.agent == [CancelRequest(request=8), CancelRequest(request=7), StopTask(session=S, task="w")]
    run.agent.clear()
    run.feed(TurnEnded(session=S, request=7, prompt="p"), CancelRequest(request=7)).run()
    assert run.agent == [CancelRequest(request=7)]


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(BackgroundTasks, [call(), begins(), change(status="completed"), ends()])
