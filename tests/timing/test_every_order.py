"""Every order in which stream, control channel and client can meet, and what holds in each of them.

The story (the seed's): a prompt runs, a second one waits, the person cancels. Claude Code has already taken the second
prompt off its queue, so it still runs it, and its answer uses the tool `x`. Then a third prompt comes, which uses `y`.
Claude Code's control channel, on which it asks for both, may run ahead of its stream, or behind it.

What must hold, whatever the order:

- each prompt has one answer, and each ask one verdict;
- once the cancel is there, the fate of an ask is its tool use's: what was shown is asked, what was dropped is denied;
- nothing of the stopped work reaches the client after its last answer;
- nothing is open at the client in the end, neither a call nor a question;
- nothing of the third prompt is lost: its words, its tool, its question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import pytest

from middleware import Message, Pipeline, StepRunner
from middleware.messages import (
    Ask,
    PermissionRequest,
    Text,
    ToClient,
    ToolCall,
    ToolCallUpdate,
    ToolUse,
    TurnEnded,
)
from middleware.stages import CancelDrop, ToolCalls, Turns
from middleware.testing import assert_one_answer, interleavings, schedules
from tests.core import Log, Pass
from tests.timing.words import (
    answer_all,
    answers,
    ask_for,
    cancel,
    gate,
    open_asks,
    open_calls,
    play,
    prompt,
    reply,
    result,
    shown,
    started,
    text,
    tool_result,
    use,
    use_begins,
    verdicts,
    work,
)

Script = tuple[Message, ...]

CANCEL = cancel()
NEXT = prompt(3)
LEFTOVER = text("leftover", message="m2")
HELLO = text("hello", message="m3")


@attrs.define
class Run:
    """One order, played to its end. `passed` is what `CancelDrop` let through toward the client."""

    runner: StepRunner
    log: Log
    script: Script
    in_time: set[str] = attrs.field(factory=set)  # the asks that came before the cancel

    @property
    def passed(self) -> list[Message]:
        return [message for message in self.log.seen if isinstance(message, ToClient)]

    def used(self, name: str) -> bool:
        return any(isinstance(message, ToolUse) and message.tool_use == name for message in self.passed)

    def after_the_stopped(self) -> list[Message]:
        """What the client got behind the last answer of the stopped prompts."""
        last = max(
            index
            for index, message in enumerate(self.runner.client)
            if isinstance(message, TurnEnded) and message.stop_reason == "cancelled"
        )
        return self.runner.client[last + 1 :]


def played(script: Script, *, one_order: bool, eager: bool) -> Run:
    """Play an order. An eager client answers what it is asked at once; any other one when all is over."""
    log = Log()
    runner = StepRunner(Pipeline([ToolCalls(), log, CancelDrop(one_order=one_order), Turns()]))
    run = Run(runner, log, script)
    play(runner, prompt(1), started(1), work("running"), prompt(2))
    cancelled = False
    for message in script:
        cancelled = cancelled or message is CANCEL
        if isinstance(message, Ask) and not cancelled:
            run.in_time.add(message.ask)
        play(runner, message)
        if eager:
            answer_all(runner)
    runner.advance(10)
    answer_all(runner)
    return run


def possible(script: Script) -> bool:
    """Whether nothing of the third prompt comes before it was sent."""
    return all(
        script.index(NEXT) < index
        for index, message in enumerate(script)
        if message == started(3) or (isinstance(message, Ask) and message.tool_use == "y")
    )


def orders(*scripts: Sequence[Message]) -> Iterator[Script]:
    return (script for script in interleavings(*scripts) if possible(script))


def check(run: Run, asks: Sequence[Ask]) -> None:
    sent, client = run.runner.sent, run.runner.client
    assert_one_answer(run.runner)
    first = "cancelled" if run.script.index(CANCEL) < run.script.index(result(1)) else "end_turn"
    assert sorted(answers(client)) == [(1, first), (2, "cancelled"), (3, "end_turn")], run.script
    assert open_calls(client) == [], run.script
    assert open_asks(sent) == [], run.script
    for ask in asks:
        fate = verdicts(sent, ask.ask)
        assert len(fate) == 1, (run.script, fate)
        if ask.tool_use == "y":
            assert fate == (["let"] if ask == gate("y") else ["allow-once"]), run.script
            assert shown(client, ask.ask) == (0 if ask == gate("y") else 1), run.script
        elif ask.ask not in run.in_time:
            check_fate(run, ask, fate[0])
    for message in run.after_the_stopped():
        assert not of_the_stopped(message), (run.script, message)
    hello = "".join(message.text for message in run.passed if isinstance(message, Text) and message.message == "m3")
    assert hello == "hello", run.script
    assert run.used("y"), run.script


def check_fate(run: Run, ask: Ask, fate: str) -> None:
    """What was asked of the stopped work after the cancel: as its tool use, and never run without the client."""
    if isinstance(ask, PermissionRequest) and shown(run.runner.client, ask.ask):
        assert run.used("x"), run.script
        assert fate in ("allow-once", "denied"), run.script
    else:
        assert fate == "denied", run.script


def of_the_stopped(message: Message) -> bool:
    match message:
        case ToolCall(call=call):
            return call.tool_call_id == "x"
        case ToolCallUpdate(change=change):
            return change.tool_call_id == "x"
        case PermissionRequest(tool_use=tool_use):
            return tool_use == "x"
        case Text(text=words):
            return words == "leftover"
    return False


ASKS: list[tuple[Ask, Ask]] = [(ask_for("x"), ask_for("y")), (gate("x"), gate("y"))]
STREAMED: dict[str, tuple[Message, ...]] = {
    "streamed": (use_begins("x"), use("x")),
    "not streamed": (use("x"),),
    "only its start": (use_begins("x"),),
}
CLIENT = (CANCEL, NEXT)


@pytest.mark.parametrize("eager", [False, True], ids=["late client", "eager client"])
@pytest.mark.parametrize("asks", ASKS, ids=["permission", "hook"])
@pytest.mark.parametrize("x", STREAMED.values(), ids=STREAMED.keys())
def test_a_control_channel_that_runs_ahead_or_behind(
    x: tuple[Message, ...], asks: tuple[Ask, Ask], eager: bool
) -> None:
    """Asked before the stream reaches the tool use, between its start and its message, after it, or not streamed; the
    next prompt's tool asked while the window still looks open: in every order the property holds."""
    stream = (result(1), started(2), LEFTOVER, *x, started(3), HELLO, use("y"), tool_result("y"), result(3))
    count = 0
    for script in orders(stream, asks, CLIENT):
        check(played(script, one_order=False, eager=eager), asks)
        count += 1
    assert count > 500


@pytest.mark.parametrize("eager", [False, True], ids=["late client", "eager client"])
@pytest.mark.parametrize("ask", [ask_for, gate], ids=["permission", "hook"])
@pytest.mark.parametrize("x", STREAMED.values(), ids=STREAMED.keys())
def test_one_wire(x: tuple[Message, ...], ask: type, eager: bool) -> None:
    """With stream and asks in one order only the client can be early or late; the property holds without any wait."""
    asks = (ask("x"), ask("y"))
    count = 0
    for place in range(1, len(x) + 2):
        # The tool use stands on the wire before its ask; what came between is the rest of its message, or its result.
        behind = (*x, tool_result("x"))
        wire = (*behind[:place], asks[0], *behind[place:])
        stream = (
            result(1),
            started(2),
            LEFTOVER,
            *wire,
            started(3),
            HELLO,
            use("y"),
            asks[1],
            tool_result("y"),
            result(3),
        )
        for script in orders(stream, CLIENT):
            run = played(script, one_order=True, eager=eager)
            check(run, asks)
            assert len(run.runner.timers) == 0
            count += 1
    assert count > 50


@pytest.mark.parametrize("one_order", [False, True])
def test_a_tool_use_that_the_stream_never_shows(one_order: bool) -> None:
    """An ask whose tool use never comes: with one order it is denied in the window at once, without one it is shown
    when its wait is over; the rest of the story is as ever."""
    stream = (result(1), started(2), LEFTOVER, started(3), HELLO, use("y"), tool_result("y"), result(3))
    for script in orders(stream, (ask_for("x"),), CLIENT):
        run = played(script, one_order=one_order, eager=False)
        asked, began, cancelled = (script.index(message) for message in (ask_for("x"), started(3), CANCEL))
        in_window = cancelled < asked < began
        assert_one_answer(run.runner)
        assert verdicts(run.runner.sent, "ask x") == (
            ["denied"] if asked < cancelled or (one_order and in_window) else ["allow-once"]
        ), script
        assert shown(run.runner.client, "ask x") == (0 if one_order and in_window else 1), script
        assert open_asks(run.runner.sent) == []
        assert run.used("y")


def test_time_passes_anywhere() -> None:
    """The wait may be over at any moment: the verdict stays one, the next prompt loses nothing, and what was shown too
    early is taken back."""
    stream = (result(1), use("x"), started(3), use("y"), tool_result("y"), result(3))
    asks = (ask_for("x"), ask_for("y"))
    for script in orders(stream, asks, CLIENT):
        for moment in range(len(script) + 1):
            runner = StepRunner(Pipeline([ToolCalls(), CancelDrop(), Turns()]))
            play(runner, prompt(1), started(1), work("running"), prompt(2), *script[:moment])
            runner.advance(2)
            play(runner, *script[moment:])
            runner.advance(10)
            answer_all(runner)
            assert_one_answer(runner)
            assert open_asks(runner.sent) == [], (script, moment)
            assert open_calls(runner.client) == [], (script, moment)
            assert verdicts(runner.sent, "ask y") == ["allow-once"], (script, moment)
            assert len(verdicts(runner.sent, "ask x")) == 1, (script, moment)
            assert (3, "end_turn") in answers(runner.client), (script, moment)


@pytest.mark.parametrize(
    "meeting",
    [(CANCEL, ask_for("x"), result(1)), (CANCEL, NEXT, result(1)), (CANCEL, use("z"), result(1))],
    ids=["an ask", "the next prompt", "a tool use"],
)
def test_whatever_thread_comes_first(meeting: Script) -> None:
    """A cancel on its way in meets the end of the turn on its way out, in every order in which the stages can run."""

    def make() -> StepRunner:
        runner = StepRunner(Pipeline([CancelDrop(one_order=True), Turns(), Pass()]))
        return play(runner, prompt(1), started(1), work("running"), use("x")).feed(*meeting)

    endings = set()
    for runner in schedules(make):
        endings |= {answer for _, answer in answers(runner.client)}
        answer_all(runner)
        play(runner, *([NEXT] if NEXT not in meeting else []), started(3), HELLO, use("y"), ask_for("y"), reply("y"))
        play(runner, result(3))
        assert_one_answer(runner)
        assert [request for request, _ in answers(runner.client)] == [1, 3]
        assert verdicts(runner.sent, "ask y") == ["allow-once"]
        assert HELLO in runner.client
        assert open_asks(runner.sent) == []
    assert endings == {"cancelled", "end_turn"}
