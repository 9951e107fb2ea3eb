"""`/usage` prompts: Claude Code's text is replaced once by the report, and nothing of the session overtakes it."""

from __future__ import annotations

from datetime import UTC
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
    MessageStarted,
    Prompt,
    PromptState,
    Replayed,
    RequestStarted,
    Result,
    SessionClosed,
    Text,
    ToolUse,
    TurnEnded,
    WindowSize,
    WorkState,
)
from middleware.stages import CancelDrop, Turns, UsageCommand
from middleware.stages.usage_command import WITHIN
from middleware.stepping import StepRunner
from middleware.testing import assert_one_answer, check_stage, schedules

S = "s"
NOTHING: dict[str, Any] = {
    "session": {"total_cost_usd": 0, "total_api_duration_ms": 0, "total_duration_ms": 0, "model_usage": {}},
    "subscription_type": None,
    "rate_limits_available": False,
    "rate_limits": None,
    "behaviors": None,
}
ITS_OWN = Text(session=S, text="Estimated cost: $0", message="m", whole=True, synthetic=True)


def prompt(number: int, text: str = "/usage") -> Prompt:
    return Prompt(session=S, request=number, prompt=f"p{number}", content=(acp.TextContent(text=text),))


def started(number: int) -> PromptState:
    return PromptState(session=S, prompt=f"p{number}", state="started")


def ended(number: int, text: str = "") -> Result:
    return Result(session=S, prompts=(f"p{number}",), num_turns=0, text=text)


def runner() -> StepRunner:
    return StepRunner(Pipeline([CancelDrop(one_order=True), Turns(), UsageCommand(zone=UTC)]))


def play(run: StepRunner, *messages: Message) -> None:
    """Each message with all that follows from it, one after the other."""
    for message in messages:
        run.feed(message).run()


def calls(run: StepRunner) -> list[AgentCall]:
    return [message for message in run.agent if isinstance(message, AgentCall)]


def reply(run: StepRunner, result: Any = NOTHING, failure: Failure | None = None, call: int = -1) -> None:
    play(run, AgentReply(session=S, call=calls(run)[call].call, result=result, failure=failure))


def said(run: StepRunner) -> list[str]:
    """Each text, a report as its heading."""
    texts = [message.text for message in run.client if isinstance(message, Text)]
    return [text.split("\n")[0] for text in texts]


def answers(run: StepRunner) -> list[tuple[int | str, str]]:
    return [(message.request, message.stop_reason) for message in run.client if isinstance(message, TurnEnded)]


def test_the_text_is_replaced() -> None:
    """A `/usage` reaches Claude Code as any prompt; when it begins, the figures are read once, and are its text."""
    run = runner()
    play(run, prompt(1))
    assert run.agent == [prompt(1)]
    play(run, started(1), ITS_OWN, ended(1))
    assert [(call.name, dict(call.arguments)) for call in calls(run)] == [("get_usage", {})]
    assert said(run) == []
    reply(run)
    assert said(run) == ["## Usage"]
    assert answers(run) == [(1, "end_turn")]
    assert_one_answer(run)


def test_figures_that_come_first() -> None:
    """The figures may come before Claude Code's text: then nothing is held back."""
    run = runner()
    play(run, prompt(1), started(1))
    reply(run)
    play(run, ITS_OWN)
    assert said(run) == ["## Usage"]
    play(run, ended(1))
    assert answers(run) == [(1, "end_turn")]


def test_its_text_is_not_repeated() -> None:
    """The same text again is not shown, nor in the result; another text passes (reference 2.8)."""
    run = runner()
    other = Text(session=S, text="something else", whole=True)
    play(run, prompt(1), started(1), ITS_OWN, ITS_OWN, other, ended(1, text=ITS_OWN.text))
    reply(run)
    assert said(run) == ["## Usage", "something else"]


def test_a_text_that_stands_in_the_result_only() -> None:
    """A Claude Code that says it in the result only is answered by the report as well."""
    run = runner()
    play(run, prompt(1), started(1), ended(1, text=ITS_OWN.text))
    reply(run)
    assert said(run) == ["## Usage"]


@pytest.mark.parametrize(
    ("result", "failure"),
    [(None, Failure.internal()), (None, None), ("nonsense", None), ({**NOTHING, "session": {}}, None)],
)
def test_no_figures(result: Any, failure: Failure | None) -> None:
    """Figures that cannot be read leave Claude Code's own text as it is."""
    run = runner()
    play(run, prompt(1), started(1), ITS_OWN, ended(1))
    reply(run, result, failure)
    assert said(run) == [ITS_OWN.text]
    assert answers(run) == [(1, "end_turn")]


def test_the_bound() -> None:
    """After 5 s nothing is waited for any more; an answer that comes behind it is nobody's."""
    run = runner()
    play(run, prompt(1), started(1), ITS_OWN, ended(1))
    run.advance(WITHIN - 0.001)
    assert said(run) == []
    run.advance(0.001)
    assert said(run) == [ITS_OWN.text]
    reply(run)
    assert said(run) == [ITS_OWN.text]
    assert_one_answer(run)


def test_nothing_overtakes() -> None:
    """What the session says meanwhile is held back in its order, of another session nothing."""
    run = StepRunner(Pipeline([UsageCommand()]))
    use = ToolUse(session=S, tool_use="t", name="Bash", parent="task")
    idle = WorkState(session=S, state="idle")
    elsewhere = Text(session="other", text="hello")
    play(run, prompt(1), started(1), use, ITS_OWN, elsewhere, ended(1), idle)
    assert run.client == [started(1), elsewhere]
    reply(run)
    assert run.client[2:] == [use, run.client[3], ended(1), idle]
    assert said(run)[-1] == "## Usage"


def test_what_a_load_tells_does_not_wait() -> None:
    """The past that a load tells again passes: the load's answer, which is of no session, would overtake it."""
    run = StepRunner(Pipeline([UsageCommand()]))
    past = Replayed(session=S, message=Text(session=S, text="from before"))
    size = WindowSize(session=S, size=200_000)
    play(run, prompt(1), started(1), past, size)
    assert run.client == [started(1), past, size]


def test_one_behind_the_other() -> None:
    """A second `/usage` that begins while the first one waits has its own figures."""
    run = runner()
    play(run, prompt(1), prompt(2), started(1), ITS_OWN, ended(1), started(2), ITS_OWN, ended(2))
    assert len(calls(run)) == 1
    reply(run)
    assert answers(run) == [(1, "end_turn")]
    assert len(calls(run)) == 2
    reply(run, call=0)  # the first one's, again
    assert answers(run) == [(1, "end_turn")]
    reply(run)
    assert answers(run) == [(1, "end_turn"), (2, "end_turn")]
    assert said(run) == ["## Usage", "## Usage"]
    assert_one_answer(run)


@pytest.mark.parametrize("text", ["/usage now", "what is /usage", "/Usage", "/cost", ""])
def test_other_prompts(text: str) -> None:
    """Only `/usage` alone is it, with blanks around it or without."""
    run = runner()
    play(run, prompt(1, text), started(1), ITS_OWN, ended(1))
    assert calls(run) == []
    assert said(run) == [ITS_OWN.text]
    play(run, prompt(2, "  /usage\n"), started(2))
    assert len(calls(run)) == 1


def test_several_blocks() -> None:
    """A prompt of several blocks is none."""
    blocks = (acp.TextContent(text="/usage"), acp.TextContent(text="more"))
    run = runner()
    play(run, Prompt(session=S, request=1, prompt="p1", content=blocks), started(1))
    assert calls(run) == []


@pytest.mark.parametrize("asked", [RequestStarted(session=S), MessageStarted(session=S, message="m")])
def test_a_prompt_that_the_model_gets(asked: Message) -> None:
    """Where Claude Code asks the model after all, the answer is the model's and stays."""
    run = runner()
    play(run, prompt(1), started(1), asked, Text(session=S, text="The model.", message="m"))
    assert said(run) == ["The model."]
    reply(run)
    play(run, ended(1))
    assert said(run) == ["The model."]


def test_the_next_prompt_is_at_the_model() -> None:
    """What Claude Code does with the next prompt is held back behind the `/usage`, and says nothing about it."""
    run = runner()
    next_ones = started(2), RequestStarted(session=S, prompts=("p2",)), MessageStarted(session=S, message="m")
    play(run, prompt(1), prompt(2, "hello"), started(1), ITS_OWN, ended(1), *next_ones)
    assert said(run) == []
    reply(run)
    play(run, Text(session=S, text="The model.", message="m"), Result(session=S, prompts=("p2",)))
    assert said(run) == ["## Usage", "The model."]
    assert answers(run) == [(1, "end_turn"), (2, "end_turn")]


def test_a_subagent_at_work() -> None:
    """A subagent that works in the background is not the command's work, and its text not its text."""
    run = StepRunner(Pipeline([UsageCommand()]))
    its = Text(session=S, text="from below", parent="task")
    play(run, prompt(1), started(1), MessageStarted(session=S, message="m", parent="task"), its, ITS_OWN, ended(1))
    reply(run)
    assert said(run) == ["from below", "## Usage"]


def test_cancel() -> None:
    """Of a cancelled `/usage` nothing is shown, it has its one answer, and nothing is held back any more."""
    run = runner()
    play(run, prompt(1), started(1), ITS_OWN, Cancel(session=S))
    assert said(run) == []
    play(run, ended(1))
    assert answers(run) == [(1, "cancelled")]
    reply(run)
    run.advance(WITHIN)
    assert said(run) == []
    assert_one_answer(run)


def test_cancel_before_it_begins() -> None:
    """One that was dropped from Claude Code's queue asks for no figures."""
    run = runner()
    play(run, prompt(1, "hello"), started(1), prompt(2), Cancel(session=S))
    assert answers(run) == [(2, "cancelled")]
    play(run, started(2))
    assert calls(run) == []


@pytest.mark.parametrize("state", ["cancelled", "discarded", "refused"])
def test_dropped_by_claude_code(state: Any) -> None:
    """One that Claude Code drops by itself never begins; a state that comes behind it changes nothing."""
    run = StepRunner(Pipeline([UsageCommand()]))
    play(run, prompt(1), PromptState(session=S, prompt="p1", state=state), started(1))
    assert calls(run) == []


def test_agent_gone() -> None:
    """With its Claude Code a `/usage` ends; what was said before is not lost, and a waiting one is its successor's."""
    run = StepRunner(Pipeline([UsageCommand()]))
    gone = AgentGone(session=S, prompts=("p1",))
    play(run, prompt(1), prompt(2), started(1), ITS_OWN, gone)
    assert run.client == [started(1), ITS_OWN, gone]
    play(run, started(2))
    assert len(calls(run)) == 2
    play(run, AgentGone(session=S), started(2))
    assert len(calls(run)) == 2


@pytest.mark.parametrize("end", [SessionClosed(session=S), Closing()])
def test_end(end: Message) -> None:
    """At the end of the session, and of the connection, nothing is held back, and each prompt has one answer."""
    run = runner()
    play(run, prompt(1), started(1), ITS_OWN, ended(1), end)
    run.close()
    assert_one_answer(run)
    assert len(answers(run)) == 1


def test_every_order() -> None:
    """In every order in which a cancel and Claude Code's answer can meet, the prompt has exactly one answer."""

    def make() -> StepRunner:
        run = runner()
        play(run, prompt(1))
        return run.feed(started(1), ITS_OWN, ended(1), Cancel(session=S))

    for run in schedules(make):
        if calls(run):
            reply(run)
        assert [request for request, _ in answers(run)] == [1]


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(UsageCommand, [prompt(1), prompt(2), started(1), ITS_OWN, ended(1), started(2)])
