"""The two bounds, 2 s for an ask and 30 s for a cancel, to the millisecond: in steps and on real threads, with a clock
that is moved by hand and with freezegun. Nothing here waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from middleware.messages import ToClient, TurnEnded, WorkStopped
from middleware.stages import CancelDrop, Turns
from tests.timing.clocks import KINDS, Timed, timed
from tests.timing.words import (
    DENIED,
    S,
    answers,
    ask_for,
    cancel,
    closed,
    gate,
    prompt,
    reply,
    result,
    shown,
    started,
    subagent,
    use,
    verdicts,
    withdrawn,
    work,
)


@pytest.fixture(params=KINDS)
def told(request: pytest.FixtureRequest) -> Iterator[Timed]:
    """A source without one order, and a window whose end of the work the client was told; a prompt waits."""
    with timed(request.param, CancelDrop(), Turns()) as pipeline:
        pipeline.play(prompt(1), started(1), work("running"), cancel(), result(1), prompt(3))
        yield pipeline


@pytest.fixture(params=KINDS)
def running(request: pytest.FixtureRequest) -> Iterator[Timed]:
    """A prompt that runs."""
    with timed(request.param, CancelDrop(), Turns()) as pipeline:
        pipeline.play(prompt(1), started(1), work("running"))
        yield pipeline


def test_an_ask_waits_for_two_seconds(told: Timed) -> None:
    """At 1.999 s nobody has been asked; at 2.000 s the client is, and its answer counts."""
    assert told.play(ask_for("x")) == []
    assert told.wait(1.999) == []
    assert told.wait(0.001) == [ask_for("x")]
    assert told.play(reply("x")) == [reply("x")]
    assert told.wait(10) == []


@pytest.mark.parametrize("after", [0.0, 1.999])
def test_the_tool_use_comes_in_time(told: Timed, after: float) -> None:
    """A tool use that comes before the wait is over decides, and the wait is off."""
    told.play(ask_for("x"))
    told.wait(after)
    assert told.play(use("x")) == [ask_for("x").denied(DENIED)]
    assert told.wait(10) == []


def test_the_next_prompt_comes_in_time(told: Timed) -> None:
    """The next prompt's tool, asked while the window looks open, is shown as soon as the stream has come to it."""
    told.play(ask_for("y"), gate("y"))
    assert told.wait(1.999) == []
    assert told.play(started(3)) == [started(3)]
    sent = told.play(use("y"))
    assert sent[:2] == [use("y"), ask_for("y")]
    assert verdicts(sent, "gate y") == ["let"]
    assert told.wait(10) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_comes_before_the_timer(kind: str) -> None:
    """At 2.000 s a tool use that lies in the inbox is handled before the wait is over."""
    with timed(kind, CancelDrop()) as pipeline:
        over = TurnEnded(session=S, request=1, prompt="p1")
        pipeline.play(prompt(1), started(1), cancel(), over, ask_for("x"))
        pipeline.feed(use("x"))
        assert verdicts(pipeline.wait(2), "ask x") == ["denied"]
        assert shown(pipeline.sent, "ask x") == 0


def test_a_late_verdict(told: Timed) -> None:
    """What was shown when its wait was over is taken back when its tool use comes and is dropped."""
    told.play(ask_for("x"))
    assert told.wait(2) == [ask_for("x")]
    sent = told.play(use("x"))
    assert [message for message in sent if isinstance(message, ToClient)] == [withdrawn("x"), WorkStopped(session=S)]
    assert verdicts(sent, "ask x") == ["denied"]
    assert told.play(reply("x")) == []


@pytest.mark.parametrize("after", [0.0, 1.999])
def test_it_is_withdrawn_while_it_waits(told: Timed, after: float) -> None:
    """What Claude Code withdraws before the wait is over is shown to nobody."""
    told.play(ask_for("x"))
    told.wait(after)
    assert told.play(withdrawn("x")) == []
    assert told.wait(10) == []


def test_it_is_withdrawn_after_the_wait(told: Timed) -> None:
    """What Claude Code withdraws later is withdrawn from the client."""
    told.play(ask_for("x"))
    told.wait(2)
    assert told.play(withdrawn("x")) == [withdrawn("x")]
    assert told.play(reply("x")) == []


def test_each_ask_has_its_own_wait(told: Timed) -> None:
    """Two asks, and two sessions, wait for their own time."""
    told.play(prompt(7, "t"), started(7, "t"), work("running", "t"), cancel("t"), result(7, session="t"))
    told.play(ask_for("x"))
    told.wait(1)
    told.play(ask_for("z"), ask_for("y", session="t"))
    assert told.wait(1) == [ask_for("x")]
    assert told.wait(0.999) == []
    assert told.wait(0.001) == [ask_for("z"), ask_for("y", session="t")]


def test_a_hook_waits_as_long(told: Timed) -> None:
    """A tool that is about to run is denied after the wait, since the stopped work is the last that was seen."""
    told.play(gate("x"))
    assert told.wait(1.999) == []
    assert verdicts(told.wait(0.001), "gate x") == ["denied"]


def test_a_background_subagent_never_waits(told: Timed) -> None:
    """What lives on is asked at once."""
    told.play(subagent("a"))
    assert told.play(ask_for("x", agent="a")) == [ask_for("x", agent="a")]


def test_a_closed_session_waits_for_nothing(told: Timed) -> None:
    """With its session an ask has ended, and its wait."""
    told.play(ask_for("x"))
    assert verdicts(told.play(closed()), "ask x") == ["denied"]
    assert told.wait(10) == []


def test_a_wedged_claude_code(running: Timed) -> None:
    """At 29.999 s the cancelled prompt has no answer; at 30.000 s it has."""
    running.play(cancel())
    assert running.wait(29.999) == []
    sent = running.wait(0.001)
    assert answers(sent) == [(1, "cancelled")]
    assert sent[0] == WorkStopped(session=S)
    assert running.play(result(1)) == []


def test_the_first_cancel_counts(running: Timed) -> None:
    """Repeated cancels, of old and new prompts, do not put the end off."""
    running.play(cancel())
    for number in range(2, 5):
        running.wait(9.9)
        assert answers(running.play(prompt(number), cancel(), cancel())) == [(number, "cancelled")]
    assert answers(running.wait(0.299)) == []
    assert answers(running.wait(0.001)) == [(1, "cancelled")]


def test_an_answer_in_time(running: Timed) -> None:
    """A result at 29.999 s is the answer, and nothing comes at 30.000 s."""
    running.play(cancel())
    running.wait(29.999)
    assert answers(running.play(result(1))) == [(1, "cancelled")]
    assert running.wait(10) == []


def test_the_result_comes_before_the_timer(running: Timed) -> None:
    """At 30.000 s a result that lies in the inbox is handled first: there is one answer, with its usage."""
    running.play(cancel())
    running.feed(result(1))
    assert answers(running.wait(30)) == [(1, "cancelled")]
    assert running.wait(10) == []


def test_each_session_has_its_own_backstop(running: Timed) -> None:
    """A wedged session is no other's."""
    running.play(cancel())
    running.wait(10)
    running.play(prompt(7, "t"), started(7, "t"), cancel("t"))
    assert answers(running.wait(20)) == [(1, "cancelled")]
    assert answers(running.wait(9.999)) == []
    assert answers(running.wait(0.001)) == [(7, "cancelled")]
