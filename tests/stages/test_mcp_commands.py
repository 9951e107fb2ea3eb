"""`/mcp` prompts: they wait their turn, are one turn with one answer, and never reach Claude Code."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message, Pipeline, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Cancel,
    Closing,
    Interrupt,
    Interrupted,
    McpReconnected,
    Prompt,
    PromptEchoed,
    PromptState,
    RequestFailed,
    Result,
    SessionClosed,
    Text,
    TurnEnded,
    WorkState,
)
from middleware.stages import CancelDrop, McpCommands, Turns
from middleware.stages.mcp_commands import ACTION_WITHIN, NO_STATUS, STATUS_WITHIN, TIMED_OUT
from middleware.stepping import StepRunner
from middleware.testing import assert_one_answer, check_stage, schedules
from tests.core import logged

S = "s"
CONNECTED = {"mcpServers": [{"name": "a", "status": "connected", "tools": [{}]}]}
CONNECTED_TEXT = "**MCP servers:** 1 (1 connected)\n\n**Connected**\n- `a`: 1 tool"
MIXED = {
    "mcpServers": [
        {"name": "a", "status": "connected"},
        {"name": "b", "status": "failed", "error": "broken"},
        {"name": "c", "status": "needs-auth"},
    ]
}


def prompt(number: int, text: str) -> Prompt:
    return Prompt(session=S, request=number, prompt=f"p{number}", content=(acp.TextContent(text=text),))


def started(number: int) -> PromptState:
    return PromptState(session=S, prompt=f"p{number}", state="started")


def runner() -> StepRunner:
    return StepRunner(Pipeline([CancelDrop(one_order=True), Turns(), McpCommands(new_uuid=lambda: "m")]))


def calls(runner: StepRunner) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in runner.agent if isinstance(call, AgentCall)]


def reply(runner: StepRunner, result: Any = None, failure: Failure | None = None) -> None:
    """Answer the last call."""
    call = [message for message in runner.agent if isinstance(message, AgentCall)][-1]
    runner.feed(AgentReply(session=S, call=call.call, result=result, failure=failure)).run()


def refuse(runner: StepRunner, error: str) -> None:
    reply(runner, failure=Failure.internal(data={"details": error}))


def said(runner: StepRunner) -> list[str]:
    return [message.text for message in runner.client if isinstance(message, Text)]


def answers(runner: StepRunner) -> list[tuple[int | str, str]]:
    return [(message.request, message.stop_reason) for message in runner.client if isinstance(message, TurnEnded)]


def prompts(runner: StepRunner) -> list[str]:
    """What reached Claude Code."""
    return [message.prompt for message in runner.agent if isinstance(message, Prompt)]


# ------------------------------------------------------------------------------------------ status and actions


def test_status() -> None:
    """`/mcp` is started, reads the status once, and is answered by the list; nothing else reaches the agent."""
    run = runner()
    run.feed(prompt(1, "/mcp")).run()
    assert calls(run) == [("mcp_status", {})]
    assert started(1) in run.client
    reply(run, CONNECTED)
    assert said(run) == [CONNECTED_TEXT]
    assert answers(run) == [(1, "end_turn")]
    assert prompts(run) == []
    assert_one_answer(run)


def test_the_turn_counts_nothing() -> None:
    """The answer has a usage, of nothing: the turn ran, and the model did not (transcript mcp_command)."""
    run = runner()
    run.feed(prompt(1, "/mcp")).run()
    reply(run, CONNECTED)
    [ended] = [message for message in run.client if isinstance(message, TurnEnded)]
    assert ended.usage is not None
    assert ended.usage.total == 0


@pytest.mark.parametrize("failure", [Failure.internal(), None])
def test_status_is_not_read(failure: Failure | None) -> None:
    """A status that cannot be read, or is none, is said and logged: the prompt has its answer all the same."""
    run = runner()
    run.feed(prompt(1, "/mcp reconnect")).run()
    with logged() as entries:
        reply(run, "nonsense", failure)
    assert len(entries) == 1
    assert "the status of the MCP servers could not be read" in entries[0]
    assert said(run) == [NO_STATUS]
    assert answers(run) == [(1, "end_turn")]


def test_status_in_time() -> None:
    """The status has 5 s; an answer that comes later is nobody's."""
    run = runner()
    run.feed(prompt(1, "/mcp")).run()
    run.advance(STATUS_WITHIN - 0.001)
    assert said(run) == []
    run.advance(0.001)
    assert said(run) == [NO_STATUS]
    reply(run, CONNECTED)
    assert said(run) == [NO_STATUS]
    assert answers(run) == [(1, "end_turn")]


def test_action() -> None:
    """An action is done, then the status is read anew: the line, then the list."""
    run = runner()
    run.feed(prompt(1, "/mcp disable a")).run()
    reply(run, CONNECTED)
    assert calls(run)[-1] == ("mcp_toggle", {"serverName": "a", "enabled": False})
    reply(run, {})
    assert calls(run)[-1] == ("mcp_status", {})
    reply(run, {"mcpServers": [{"name": "a", "status": "disabled"}]})
    assert said(run) == ["- Disabled `a`\n\n**MCP servers:** 1 (1 disabled)\n\n**Disabled:** `a`"]
    assert answers(run) == [(1, "end_turn")]


def test_enable() -> None:
    """Enabling toggles a server on."""
    run = runner()
    run.feed(prompt(1, "/mcp enable a")).run()
    reply(run, {"mcpServers": [{"name": "a", "status": "disabled"}]})
    assert calls(run)[-1] == ("mcp_toggle", {"serverName": "a", "enabled": True})


def test_several_one_after_the_other() -> None:
    """Each server has a call and a line of its own, in order; a refusal or a timeout of one does not stop the next."""
    run = runner()
    run.feed(prompt(1, "/mcp reconnect")).run()
    reply(run, MIXED)
    assert calls(run)[1:] == [("mcp_reconnect", {"serverName": "b"})]
    refuse(run, "MCP error -32000: Connection closed")
    assert calls(run)[2:] == [("mcp_reconnect", {"serverName": "c"})]
    run.advance(ACTION_WITHIN - 0.001)
    assert len(calls(run)) == 3
    run.advance(0.001)
    reply(run, CONNECTED)
    lines = f"- Couldn't reconnect `b`: Connection closed\n- Couldn't reconnect `c`: {TIMED_OUT}"
    assert said(run) == [f"{lines}\n\n{CONNECTED_TEXT}"]


def test_second_status_is_not_read() -> None:
    """What was done is said also when the list cannot be read any more."""
    run = runner()
    run.feed(prompt(1, "/mcp disable a")).run()
    reply(run, CONNECTED)
    reply(run, {})
    refuse(run, "gone")
    assert said(run) == ["- Disabled `a`"]


def test_nothing_to_act_on() -> None:
    """A command without a target says why, with the list that it has read."""
    run = runner()
    run.feed(prompt(1, "/mcp enable nosuch")).run()
    reply(run, CONNECTED)
    assert said(run) == [f"There's no MCP server named `nosuch`.\n\n{CONNECTED_TEXT}"]
    assert len(calls(run)) == 1


def test_reconnected_is_told() -> None:
    """Which servers were reconnected is told to the stages behind the turn's end, also when a cancel cut it short."""
    for cut in (False, True):
        stage = StepRunner(Pipeline([McpCommands()]))
        stage.feed(prompt(1, "/mcp reconnect")).run()
        reply(stage, MIXED)
        reply(stage, {})
        if cut:
            stage.feed(Interrupt(session=S, drop=("p1",))).run()
        else:
            reply(stage, {})
            reply(stage, CONNECTED)
        servers = ("b",) if cut else ("b", "c")
        assert stage.client[-1] == McpReconnected(session=S, servers=servers)


# ------------------------------------------------------------------------------------------ its turn


def test_other_prompts_pass() -> None:
    """What is no `/mcp` goes to Claude Code at once, and so does a `/mcp` that nobody here knows."""
    run = runner()
    run.feed(prompt(1, "hello"), prompt(2, "/mcp bogus")).run()
    assert prompts(run) == ["p1", "p2"]


ENDS: list[tuple[str, Message]] = [
    ("its result", Result(session=S, prompts=("p1",))),
    ("a result without a name", Result(session=S)),
    ("dropped", PromptState(session=S, prompt="p1", state="cancelled")),
    ("refused", PromptState(session=S, prompt="p1", state="refused")),
    ("dropped by an interrupt", Interrupted(session=S, dropped=("p1",))),
    ("not taken", RequestFailed(request=1, failure=Failure.internal())),
]


@pytest.mark.parametrize("end", [end for _, end in ENDS], ids=[name for name, _ in ENDS])
def test_waits_for_what_runs(end: Message) -> None:
    """A `/mcp` waits until Claude Code has nothing left that was sent before it, however that ends."""
    run = StepRunner(Pipeline([McpCommands()]))
    run.feed(prompt(1, "hello"), prompt(2, "/mcp")).run()
    assert calls(run) == []
    run.feed(end).run()
    assert calls(run) == [("mcp_status", {})]
    assert run.client[-1] == started(2)


def test_waits_through_work_of_its_own() -> None:
    """A result of work that Claude Code began by itself ends no prompt."""
    run = StepRunner(Pipeline([McpCommands()]))
    run.feed(prompt(1, "hello"), prompt(2, "/mcp"), Result(session=S, origin="task-notification")).run()
    assert calls(run) == []


@pytest.mark.parametrize("begun", [started(1), PromptEchoed(session=S, prompt="p1")])
def test_no_result(begun: Message) -> None:
    """What has begun and has no result when Claude Code is idle is waited for no longer; what has not, is."""
    run = StepRunner(Pipeline([McpCommands()]))
    run.feed(prompt(1, "hello"), prompt(2, "/mcp"), WorkState(session=S, state="idle")).run()
    assert calls(run) == []
    run.feed(begun, WorkState(session=S, state="idle")).run()
    assert calls(run) == [("mcp_status", {})]


def test_later_prompts_wait() -> None:
    """A prompt behind a `/mcp` reaches Claude Code when that is through, and a second `/mcp` behind it waits again."""
    run = runner()
    run.feed(prompt(1, "/mcp"), prompt(2, "hello"), prompt(3, "/mcp")).run()
    assert prompts(run) == []
    reply(run, CONNECTED)
    assert prompts(run) == ["p2"]
    assert len(calls(run)) == 1
    run.feed(started(2), Result(session=S, prompts=("p2",))).run()
    reply(run, CONNECTED)
    assert answers(run) == [(1, "end_turn"), (2, "end_turn"), (3, "end_turn")]
    assert_one_answer(run)


def test_claude_is_idle_meanwhile() -> None:
    """Claude Code's `idle` behind a result does not end the `/mcp` that has begun since: it is told behind that."""
    run = runner()
    busy, idle = WorkState(session=S, state="running"), WorkState(session=S, state="idle")
    run.feed(prompt(1, "hello"), prompt(2, "/mcp")).run()
    run.feed(busy, started(1), Result(session=S, prompts=("p1",)), idle).run()
    assert answers(run) == [(1, "end_turn")]
    reply(run, CONNECTED)
    assert answers(run) == [(1, "end_turn"), (2, "end_turn")]
    assert run.client.index(idle) > run.client.index(next(m for m in run.client if isinstance(m, Text)))


# ------------------------------------------------------------------------------------------ cancels and ends


def test_cancel_while_it_runs() -> None:
    """A cancel ends a running `/mcp`; the interrupt names to Claude Code what is its own, and a late answer is lost."""
    run = runner()
    run.feed(prompt(1, "/mcp")).run()
    run.feed(Cancel(session=S)).run()
    assert answers(run) == [(1, "cancelled")]
    assert run.agent[-1] == Interrupt(session=S)
    reply(run, CONNECTED)
    run.advance(STATUS_WITHIN)
    assert said(run) == []
    assert_one_answer(run)


def test_cancel_while_it_waits() -> None:
    """A cancel ends what waits, too; a prompt behind the cancel is taken, and reaches Claude Code."""
    run = runner()
    run.feed(prompt(1, "hello"), started(1), prompt(2, "/mcp"), prompt(3, "more"), Cancel(session=S)).run()
    assert (2, "cancelled") in answers(run)
    assert (3, "cancelled") in answers(run)
    assert [message for message in run.agent if isinstance(message, Interrupt)] == [Interrupt(session=S, drop=("p1",))]
    run.feed(prompt(4, "again"), Interrupted(session=S), Result(session=S, prompts=("p1",), is_error=True)).run()
    assert prompts(run) == ["p1", "p4"]
    assert_one_answer(run, complete=False)


def test_cancel_of_a_mcp_before_others() -> None:
    """When only the `/mcp` is dropped, what waited behind it goes on."""
    run = StepRunner(Pipeline([McpCommands()]))
    run.feed(prompt(1, "hello"), prompt(2, "/mcp"), prompt(3, "more"), Interrupt(session=S, drop=("p2",))).run()
    assert prompts(run) == ["p1", "p3"]


def test_agent_gone() -> None:
    """Without a Claude Code everything is answered, what waited here too."""
    run = runner()
    run.feed(prompt(1, "/mcp"), prompt(2, "hello")).run()
    run.feed(AgentGone(session=S, failure=Failure.internal("gone"))).run()
    assert [message.request for message in run.client if isinstance(message, TurnEnded)] == [1, 2]
    assert_one_answer(run)


def test_agent_is_replaced() -> None:
    """A Claude Code that died with what it had been given: what waits goes to its successor."""
    run = runner()
    run.feed(prompt(1, "hello"), prompt(2, "/mcp")).run()
    run.feed(AgentGone(session=S, prompts=("p1",))).run()
    reply(run, CONNECTED)
    assert said(run) == [CONNECTED_TEXT]
    assert_one_answer(run)


@pytest.mark.parametrize("end", [SessionClosed(session=S), Closing()])
def test_end(end: Message) -> None:
    """At the end of the session, and of the connection, every prompt has one answer."""
    run = runner()
    run.feed(prompt(1, "/mcp"), prompt(2, "/mcp enable a"), prompt(3, "hello"), end).run()
    run.close()
    assert_one_answer(run)


def test_sessions_do_not_meet() -> None:
    """A session's `/mcp` holds back nothing of another session."""
    run = StepRunner(Pipeline([McpCommands()]))
    other = Prompt(session="t", request=2, prompt="p2", content=(acp.TextContent(text="hello"),))
    run.feed(prompt(1, "/mcp"), other).run()
    assert prompts(run) == ["p2"]


def test_every_order() -> None:
    """In every order in which a cancel, the status and a result can meet, each prompt has exactly one answer."""

    def make() -> StepRunner:
        run = StepRunner(Pipeline([Turns(), McpCommands()]))
        run.feed(prompt(1, "hello"), prompt(2, "/mcp")).run()
        return run.feed(started(1), Result(session=S, prompts=("p1",)), Cancel(session=S))

    for run in schedules(make):
        if any(isinstance(message, AgentCall) for message in run.agent):
            reply(run, CONNECTED)
        assert sorted(request for request, _ in answers(run)) == [1, 2]


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    script = [prompt(1, "hello"), started(1), WorkState(session=S, state="idle"), Result(session=S, prompts=("p1",))]
    check_stage(McpCommands, script)


def test_late_answer_of_another() -> None:
    """An answer to a command whose time was over is not taken for the next one's."""
    run = runner()
    run.feed(prompt(1, "/mcp")).run()
    run.advance(STATUS_WITHIN)
    late = next(message for message in run.agent if isinstance(message, AgentCall))
    run.feed(prompt(2, "/mcp")).run()
    run.feed(AgentReply(session=S, call=late.call, result={"mcpServers": []})).run()
    assert said(run) == [NO_STATUS]
    reply(run, CONNECTED)
    assert said(run) == [NO_STATUS, CONNECTED_TEXT]
