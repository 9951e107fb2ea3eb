"""Every order of the stories beside the seed's: two cancels, two sessions, a child in the background, a held turn, a
queue, and Claude Code's own work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from middleware import Message, Pipeline, StepRunner
from middleware.messages import CancelRequest, PermissionRequest, Text, ToClient, TokenCount, ToolUse, TurnEnded
from middleware.stages import CancelDrop, ToolCalls, Turns
from middleware.testing import assert_one_answer, interleavings
from tests.core import Log
from tests.timing.words import (
    answer_all,
    answers,
    ask_for,
    cancel,
    ended,
    follow_up,
    interrupts,
    open_asks,
    open_calls,
    play,
    prompt,
    reply,
    requesting,
    result,
    started,
    state,
    subagent,
    text,
    tool_result,
    unlisted,
    use,
    verdicts,
    work,
)

Script = tuple[Message, ...]

ORDERS = pytest.mark.parametrize("one_order", [False, True], ids=["two orders", "one order"])


def runner_with(*, one_order: bool) -> tuple[StepRunner, Log]:
    """All three stages, and a log of what `CancelDrop` lets through."""
    log = Log()
    return StepRunner(Pipeline([ToolCalls(), log, CancelDrop(one_order=one_order), Turns()])), log


def finish(runner: StepRunner) -> None:
    """Let the waits end and the client answer what it was asked; then nothing is open."""
    runner.advance(10)
    answer_all(runner)
    assert_one_answer(runner)
    assert open_asks(runner.sent) == []
    assert open_calls(runner.client) == []


def before(script: Script, *order: Message) -> bool:
    """Whether these stand in this order in a script."""
    places = [script.index(message) for message in order]
    return places == sorted(places)


def orders(*scripts: Sequence[Message], also: Sequence[tuple[Message, ...]] = ()) -> Iterator[Script]:
    return (script for script in interleavings(*scripts) if all(before(script, *order) for order in also))


def behind(runner: StepRunner, request: int) -> list[Message]:
    """What the client got behind the answer of this prompt."""
    places = [
        index
        for index, message in enumerate(runner.client)
        if isinstance(message, TurnEnded) and message.request == request
    ]
    return runner.client[places[0] + 1 :]


@ORDERS
def test_two_cancels(one_order: bool) -> None:
    """A second cancel, wherever it comes before the next prompt, changes nothing: no second answer, no second
    interrupt, no leftover shown."""
    tail, leftover = text("tail", message="m1"), text("leftover", message="m1")
    hello = text("hello", message="m3")
    stream = (tail, use("x"), result(1), leftover, use("z"), work("idle"))
    for script in orders(stream, (cancel(), cancel()), also=[(cancel(), result(1))]):
        runner, log = runner_with(one_order=one_order)
        play(runner, prompt(1), started(1), work("running"), *script)
        assert interrupts(runner.agent) == [("p1",)], script
        play(runner, prompt(3), started(3), hello, use("y"), tool_result("y"), result(3))
        finish(runner)
        assert answers(runner.client) == [(1, "cancelled"), (3, "end_turn")], script
        assert [message for message in log.seen if isinstance(message, Text | ToolUse)] == [
            tail,
            use("x"),
            hello,
            use("y"),
        ], script


@ORDERS
def test_the_second_cancel_takes_the_next_prompt(one_order: bool) -> None:
    """A prompt that comes between two cancels is stopped by the second, wherever it is; the one behind it runs."""
    hello = text("hello", message="m3")
    stream = (result(1), started(2), text("words", message="m2"), use("x"), result(2, is_error=True), work("idle"))
    client = (cancel(), prompt(2), again())
    possible = [(cancel(), result(1)), (prompt(2), started(2)), (again(), result(2, is_error=True))]
    for script in orders(stream, client, also=possible):
        runner, _ = runner_with(one_order=one_order)
        play(runner, prompt(1), started(1), work("running"), *script)
        assert not any(isinstance(message, Text) for message in behind(runner, 2)), script
        play(runner, prompt(3), started(3), hello, result(3))
        finish(runner)
        assert sorted(answers(runner.client)) == [(1, "cancelled"), (2, "cancelled"), (3, "end_turn")], script
        assert hello in runner.client, script


def again() -> CancelRequest:
    """A second cancel, by the request of the second prompt: the same to a session, and no equal of the first."""
    return CancelRequest(request=2)


@ORDERS
def test_two_sessions(one_order: bool) -> None:
    """Whatever is cancelled in one session, the other one is shown as it comes, in its order and at once."""
    other = (
        started(7, "t"),
        text("hello", "t"),
        use("y", session="t"),
        ask_for("y", session="t"),
        tool_result("y", session="t"),
        result(7, session="t"),
    )
    one = (cancel(), use("x"), result(1), text("leftover"), use("z"), ask_for("z"))
    for script in orders(other, one):
        runner, log = runner_with(one_order=one_order)
        play(runner, prompt(1), started(1), work("running"), prompt(7, "t"))
        for message in script:
            before_it = len(log.seen)
            play(runner, message)
            if getattr(message, "session", None) == "t" and isinstance(message, Text | ToolUse | PermissionRequest):
                assert message in log.seen[before_it:], script
        finish(runner)
        assert sorted(answers(runner.client)) == [(1, "cancelled"), (7, "end_turn")], script
        assert verdicts(runner.sent, "ask y") == ["allow-once"], script


@ORDERS
def test_a_child_in_the_background(one_order: bool) -> None:
    """A subagent in the background is cancelled by nothing: its words, its calls and its questions come in every
    order of the cancel, of the end of its parent's turn, and of the next prompt."""
    call = "call of a"
    child = (
        text("child", parent=call, message="c1"),
        use("x", parent=call),
        ask_for("x", agent="a"),
        reply("x"),
        tool_result("x", parent=call),
        subagent("a", "ended"),
    )
    parent = (cancel(), result(1, is_error=True), prompt(3), started(3), text("hello", message="m3"), result(3))
    for script in orders(child, parent):
        runner, log = runner_with(one_order=one_order)
        play(runner, prompt(1), started(1), work("running"), subagent("a"), *script)
        finish(runner)
        passed = [message for message in log.seen if isinstance(message, ToClient)]
        for message in (*child[:3], *child[4:]):
            assert message in passed, script
        assert verdicts(runner.sent, "ask x") == ["allow-once"], script
        assert answers(runner.client) == [(1, "cancelled"), (3, "end_turn")], script


@ORDERS
def test_a_child_that_is_stopped_after_its_parent(one_order: bool) -> None:
    """A child that the interrupt stops, too, after its prompt was answered, leaves no call and no question open."""
    call = "call of a"
    stopped = (subagent("a", "ended", status="killed"), subagent("a", "ended", status="stopped"))
    child = (use("x", parent=call), ask_for("x", agent="a"), *stopped, tool_result("x", parent=call))
    for script in orders(child, (cancel(), result(1))):
        runner, _ = runner_with(one_order=one_order)
        play(runner, prompt(1), started(1), work("running"), subagent("a"), *script, work("idle"))
        finish(runner)
        assert len(verdicts(runner.sent, "ask x")) == 1, script
        # Killed before the prompt's own result, it is nobody who is waited for.
        if before(script, cancel(), result(1)):
            assert answers(runner.client) == [(1, "cancelled")], script


def used(output: int) -> TokenCount:
    return TokenCount(output=output)


@pytest.mark.parametrize("level_too", [False, True])
def test_a_held_turn_is_cancelled_anywhere(level_too: bool) -> None:
    """A prompt whose subagent works on is answered once, wherever the cancel comes, and keeps what it has used."""
    stream = (
        result(1, usage=used(1)),
        state(1, "completed"),
        subagent("a", "ended"),
        unlisted(),
        text("it says", message="m2"),
        follow_up(usage=used(10)),
        work("idle"),
    )
    for script in orders(stream, (cancel(),)):
        runner, _ = runner_with(one_order=True)
        play(runner, prompt(1), started(1), work("running"), requesting(1), subagent("a"), *script)
        finish(runner)
        place = script.index(cancel())
        answer = ended(runner.client, 1)
        over = place > script.index(follow_up(usage=used(10)))
        at_once = script.index(result(1, usage=used(1))) < place < script.index(unlisted())
        assert answer.stop_reason == ("end_turn" if over else "cancelled"), script
        expected = used(1) if at_once or place < script.index(result(1, usage=used(1))) else used(11)
        assert answer.usage == expected, script
        if place < script.index(unlisted()):
            assert len(interrupts(runner.agent)) == 1, script


def test_a_queue_in_every_order() -> None:
    """Three prompts, sent and cancelled anywhere while Claude Code works them off: each has one answer, its own where
    it is not cancelled, and all that are cancelled are dropped in one request."""
    stream = (started(1), result(1), started(2), result(2), started(3), result(3), work("idle"))
    client = (prompt(1), prompt(2), cancel(), prompt(3))
    possible = [(prompt(number), started(number)) for number in (1, 2, 3)]
    for script in orders(stream, client, also=possible):
        runner, _ = runner_with(one_order=True)
        play(runner, *script)
        finish(runner)
        cancelled = {1, 2} - {number for number in (1, 2) if script.index(result(number)) < script.index(cancel())}
        assert dict(answers(runner.client)) == {
            number: "cancelled" if number in cancelled else "end_turn" for number in (1, 2, 3)
        }, script
        dropped = tuple(f"p{number}" for number in sorted(cancelled))
        assert interrupts(runner.agent) == ([dropped] if dropped else []), script


def test_own_work_is_cancelled_anywhere() -> None:
    """Work that no prompt asked for, cancelled anywhere with a prompt waiting behind it: the prompt is answered, and
    from then on nothing of the work is shown until new work begins."""
    tail = text("tail", message="m1")
    leftover = text("leftover", message="m2")
    stream = (unlisted(), tail, unlisted(), leftover, use("x"), follow_up(is_error=True), work("idle"))
    for script in orders(stream, (prompt(1), cancel())):
        runner, log = runner_with(one_order=True)
        play(runner, requesting(9), work("running"), *script)
        assert answers(runner.client) == [(1, "cancelled")], script
        assert not any(isinstance(message, Text | ToolUse) for message in behind(runner, 1)), script
        new = text("new", message="m3")
        play(runner, work("running"), unlisted(), new, follow_up(), work("idle"))
        # Where nothing ran any more when the cancel came, its window stays over the prompt that was stopped.
        assert new in log.seen, script
        finish(runner)
