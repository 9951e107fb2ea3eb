"""`Turns` alone: whose is a result, and when is a prompt answered. Every test ends with the count of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from middleware import Failure, Message, Pipeline, StepRunner
from middleware.messages import (
    AgentGone,
    CancelRequest,
    Closing,
    Compaction,
    Interrupted,
    MessageCompleted,
    MessageStarted,
    Notice,
    PermissionAnswer,
    PromptStage,
    Request,
    RequestFailed,
    Result,
    SessionOpened,
    SessionRestarted,
    Text,
    Thought,
    TokenCount,
    TurnEnded,
)
from middleware.stages import Turns
from middleware.stages.turns import ENDED
from middleware.testing import assert_one_answer, check_stage
from tests.core import logged
from tests.timing.words import (
    S,
    answers,
    cancel,
    closed,
    echoed,
    ended,
    follow_up,
    gave,
    interrupts,
    level,
    play,
    prompt,
    requesting,
    result,
    started,
    state,
    subagent,
    text,
    unlisted,
    work,
)


@pytest.fixture
def run() -> Iterator[StepRunner]:
    """A runner with `Turns`; when the test is over, every prompt has had exactly one answer."""
    runner = StepRunner(Pipeline([Turns()]))
    yield runner
    runner.close()
    assert_one_answer(runner)


def usage(output: int) -> TokenCount:
    return TokenCount(input=100, output=output)


# ------------------------------------------------------------------------------------------------- its own result


def test_a_prompt_goes_to_claude_code_at_once(run: StepRunner) -> None:
    """A prompt is passed on unchanged, also while another one runs: Claude Code queues, not we."""
    assert gave(run, prompt(1)) == [prompt(1)]
    assert gave(run, started(1), prompt(2)) == [started(1), prompt(2)]


def test_a_result_ends_the_prompt_that_it_names(run: StepRunner) -> None:
    """The prompt that a result names is answered with what the result says, behind it; nobody else is."""
    play(run, prompt(1), prompt(2), started(1))
    totals = {"opus": {"inputTokens": 100, "outputTokens": 7}}
    over = result(1, usage=usage(7), model_usage=totals)
    assert gave(run, over) == [
        over,
        TurnEnded(session=S, request=1, prompt="p1", usage=usage(7), model_usage=(("opus", usage(7)),)),
    ]
    assert answers(gave(run, started(2), result(2))) == [(2, "end_turn")]


def test_a_result_is_not_taken_by_the_prompt_in_front(run: StepRunner) -> None:
    """A result that names the second prompt leaves the first one, of which nothing was heard, alone."""
    assert answers(gave(run, prompt(1), prompt(2), result(2))) == [(2, "end_turn")]
    assert answers(gave(run, result(1))) == [(1, "end_turn")]


ENDINGS: list[tuple[dict[str, Any], str]] = [
    ({}, "end_turn"),
    ({"stop_reason": "max_tokens"}, "max_tokens"),
    ({"stop_reason": "refusal"}, "refusal"),
    ({"subtype": "error_during_execution"}, "end_turn"),
    ({"subtype": "error_max_turns"}, "max_turn_requests"),
    ({"subtype": "error_max_budget_usd"}, "max_turn_requests"),
    ({"subtype": "error_max_turns", "is_error": True, "errors": ("too many",)}, "Internal error: too many"),
    ({"subtype": "error_max_budget_usd", "is_error": True}, "Internal error: error_max_budget_usd"),
    ({"is_error": True, "text": "API Error: 529"}, "Internal error: API Error: 529"),
]


@pytest.mark.parametrize(("members", "answer"), ENDINGS, ids=[f"{answer}-{n}" for n, (_, answer) in enumerate(ENDINGS)])
def test_every_way_to_end(run: StepRunner, members: dict[str, Any], answer: str) -> None:
    """Each kind of result gives the answer that it stands for, and exactly one."""
    assert answers(gave(run, prompt(1), started(1), result(1, **members))) == [(1, answer)]


def test_an_error_says_of_which_kind_it_is(run: StepRunner) -> None:
    """The error's kind is that of the last complete message of the main thread, and is forgotten with the result."""
    play(run, prompt(1), started(1), MessageCompleted(session=S, error="rate_limit"))
    play(run, MessageCompleted(session=S, parent="a subagent", error="server_error"))
    failure = ended(gave(run, result(1, is_error=True, text="limit")), 1).failure
    assert failure == Failure.internal("limit", {"errorKind": "rate_limit"})
    failure = ended(gave(run, prompt(2), started(2), result(2, is_error=True, text="other")), 2).failure
    assert failure == Failure.internal("other")


# ------------------------------------------------------------------------------------------------- local commands


def test_a_local_command_without_echo(run: StepRunner) -> None:
    """A prompt of which only the result is seen is answered, with its text before the answer."""
    over = result(1, text="## Context Usage")
    assert gave(run, prompt(1), over) == [
        prompt(1),
        Text(session=S, text="## Context Usage"),
        over,
        TurnEnded(session=S, request=1, prompt="p1", usage=TokenCount()),
    ]


@pytest.mark.parametrize(
    ("said", "output", "repeated"),
    [
        (text("## Usage"), 0, False),
        (text("answer"), 5, False),
        (None, 5, False),
        (text(""), 0, True),
        (text("from a child", parent="call"), 0, True),
        (Thought(session=S, text="hm"), 0, True),
        (Compaction(session=S, state="failed", compaction="c", error="no room"), 0, False),
        (None, 0, True),
    ],
)
def test_the_text_of_a_result(run: StepRunner, said: Message | None, output: int, repeated: bool) -> None:
    """A result's text is given only when nothing was said, a compaction counts as something, and the model wrote
    nothing: else it would come twice."""
    play(run, prompt(1), started(1), *([said] if said is not None else []))
    sent = gave(run, result(1, text="the text", usage=usage(output)))
    assert any(isinstance(message, Text) for message in sent) is repeated
    assert answers(sent) == [(1, "end_turn")]


def test_the_text_of_a_result_that_a_notice_told(run: StepRunner) -> None:
    """What a notice of the same turn has told is not told again as the result's text (reference 10.3)."""
    told = Notice(session=S, title="the text", said=" the text")
    for number, notice, repeated in ((1, told, False), (2, Notice(session=S, title="the text"), True)):
        play(run, prompt(number), started(number), notice)
        sent = gave(run, result(number, text="the text", usage=usage(0)))
        assert any(isinstance(message, Text) for message in sent) is repeated


def test_what_was_said_is_forgotten_with_the_result(run: StepRunner) -> None:
    """A prompt that said something does not silence the local command after it."""
    play(run, prompt(1), started(1), text("hello"), result(1, usage=usage(1)))
    sent = gave(run, prompt(2), started(2), result(2, text="## Context Usage"))
    assert [message.text for message in sent if isinstance(message, Text)] == ["## Context Usage"]


def test_clear_and_what_follows(run: StepRunner) -> None:
    """`/clear` is a prompt like any other; afterwards the running totals begin anew, and no count goes wrong."""
    first = {"opus": {"inputTokens": 100, "outputTokens": 50}}
    play(run, prompt(1), started(1), result(1, usage=usage(50), model_usage=first))
    sent = gave(run, prompt(2), started(2), SessionRestarted(session=S), level(), echoed(2), result(2, num_turns=0))
    assert answers(sent) == [(2, "end_turn")]
    assert not any(isinstance(message, Text) for message in sent)
    anew = {"opus": {"inputTokens": 100, "outputTokens": 7}}
    answer = ended(gave(run, prompt(3), started(3), result(3, usage=usage(7), model_usage=anew)), 3)
    assert (answer.stop_reason, answer.model_usage) == ("end_turn", (("opus", usage(7)),))


# ------------------------------------------------------------------------------------------------- folded prompts


def test_folded_prompts_all_end(run: StepRunner) -> None:
    """Prompts that Claude Code folded into one turn all end at its one result, whose usage is counted once."""
    play(run, prompt(1), started(1), prompt(2), state(2, "queued"), echoed(2), started(2))
    sent = gave(run, result(1, 2, usage=usage(9)))
    assert answers(sent) == [(1, "end_turn"), (2, "end_turn")]
    assert (ended(sent, 1).usage, ended(sent, 2).usage) == (TokenCount(), usage(9))


def test_completed_is_no_answer(run: StepRunner) -> None:
    """Of a folded prompt Claude Code says `completed` before the result that it shares (seen with 2.1.332)."""
    play(run, prompt(1), started(1), prompt(2), echoed(2), started(2))
    assert gave(run, state(2, "completed")) == [state(2, "completed")]
    assert answers(gave(run, result(1, 2), state(1, "completed"))) == [(1, "end_turn"), (2, "end_turn")]


def test_a_fold_that_names_only_the_last(run: StepRunner) -> None:
    """What began before the named prompt and still runs is over with it: Claude Code works on one turn at a time."""
    play(run, prompt(1), started(1), prompt(2), started(2), prompt(3))
    assert answers(gave(run, result(2))) == [(1, "end_turn"), (2, "end_turn")]
    assert answers(gave(run, started(3), result(3))) == [(3, "end_turn")]


# ------------------------------------------------------------------------------------------------- no result


def test_idle_without_a_result(run: StepRunner) -> None:
    """The result comes before the idle: a turn that still runs then has lost it, and fails with a text that says so."""
    sent = gave(run, prompt(1), started(1), prompt(2), work("idle"))
    failure = ended(sent, 1).failure
    assert failure is not None
    assert failure.message.startswith("Internal error: The turn ended without a result: the agent went idle")
    assert failure.data == {"errorKind": "no_result"}
    assert answers(sent) == [(1, failure.message)]  # the second may be on its way to Claude Code yet
    assert gave(run, result(1)) == []  # the lost result, late
    assert answers(gave(run, started(2), result(2))) == [(2, "end_turn")]


def test_other_work_states_end_nothing(run: StepRunner) -> None:
    """`running` and `requires_action` are no idle."""
    assert answers(gave(run, prompt(1), started(1), work("running"), work("requires_action"))) == []
    play(run, result(1))


@pytest.mark.parametrize("failure", [None, Failure.internal("Claude Code died")])
def test_claude_code_is_gone(run: StepRunner, failure: Failure | None) -> None:
    """Every prompt fails when Claude Code ends, the queued ones too, with its reason where it gave one."""
    sent = gave(run, prompt(1), started(1), prompt(2), AgentGone(session=S, failure=failure))
    said = failure.message if failure else f"Internal error: {ENDED}"
    assert answers(sent) == [(1, said), (2, said)]
    assert answers(gave(run, prompt(3), AgentGone(session=S, failure=failure))) == [(3, said)]


def test_claude_code_has_a_successor(run: StepRunner) -> None:
    """A prompt that Claude Code had not been given yet when it ended is its successor's."""
    play(run, prompt(1), started(1), prompt(2))
    assert answers(gave(run, AgentGone(session=S, prompts=("p1",)))) == [(1, f"Internal error: {ENDED}")]
    assert answers(gave(run, started(2), result(2))) == [(2, "end_turn")]


def test_a_prompt_that_the_agent_end_refuses(run: StepRunner) -> None:
    """`RequestFailed` for a prompt becomes its answer; for another request it passes, and the prompt lives."""
    refusal = RequestFailed(request=1, failure=Failure.session_not_found(S))
    assert answers(gave(run, prompt(1), refusal)) == [(1, "Resource not found: s")]
    other = RequestFailed(request=7, failure=Failure.internal())
    assert gave(run, prompt(2), other) == [prompt(2), other]
    play(run, result(2))


@pytest.mark.parametrize(("what", "answer"), [("discarded", None), ("refused", None), ("cancelled", "cancelled")])
def test_a_prompt_that_never_runs(run: StepRunner, what: PromptStage, answer: str | None) -> None:
    """A prompt that Claude Code gives up has no result: its state is its answer."""
    said = answer or f"Internal error: Claude Code {what} the prompt; please send it again."
    assert answers(gave(run, prompt(1), state(1, "queued"), state(1, what))) == [(1, said)]


def test_a_receipt_answers_what_was_dropped(run: StepRunner) -> None:
    """A prompt that an interrupt dropped from the queue has no result: the receipt is its end."""
    play(run, prompt(1), started(1), cancel())
    assert answers(gave(run, Interrupted(session=S, dropped=("p1", "unknown")))) == [(1, "cancelled")]


def test_the_end_of_a_session_and_of_the_stage(run: StepRunner) -> None:
    """Whoever waits when the session closes, or the pipeline does, is answered `cancelled`."""
    play(run, prompt(1), started(1), prompt(2), prompt(3, "t"))
    assert answers(gave(run, closed())) == [(1, "cancelled"), (2, "cancelled")]
    assert answers(run.close().client[-1:]) == [(3, "cancelled")]


# ------------------------------------------------------------------------------------------------- late, and nobody's


def test_a_late_result_is_nobodys(run: StepRunner) -> None:
    """The result of a prompt that has its answer ends no other one, and nothing of it goes on."""
    play(run, prompt(1), cancel(), prompt(2), started(2))
    assert gave(run, result(1, is_error=True, text="[ede_diagnostic]")) == []
    assert answers(gave(run, result(2))) == [(2, "end_turn")]


def test_a_leftover_behind_an_error(run: StepRunner) -> None:
    """A second result for a prompt that failed is no answer any more, and none for the next prompt."""
    play(run, prompt(1), started(1), result(1, is_error=True, text="API Error"))
    assert gave(run, prompt(2), result(1)) == [prompt(2)]
    assert answers(gave(run, started(2), result(2))) == [(2, "end_turn")]


@pytest.mark.parametrize("origin", ["task-notification", "peer", "coordinator", "observer", "observer-activity"])
def test_claude_codes_own_work_takes_no_answer(run: StepRunner, origin: str) -> None:
    """The result of work that nobody asked for passes and answers nobody, whatever it says."""
    own = Result(session=S, origin=origin, is_error=True, text="failed")
    assert gave(run, prompt(1), started(1), own) == [prompt(1), started(1), own]
    assert answers(gave(run, result(1))) == [(1, "end_turn")]


def test_an_unknown_origin_is_the_users(run: StepRunner) -> None:
    """An origin of a kind that nobody knows is taken for the user's, so that no prompt hangs."""
    assert answers(gave(run, prompt(1), echoed(1), Result(session=S, origin="new kind"))) == [(1, "end_turn")]


def test_own_work_that_took_a_prompt_in(run: StepRunner) -> None:
    """A prompt that was folded into Claude Code's own work is ended by that work's result, which names it."""
    sent = gave(run, prompt(1), started(1), result(1, origin="task-notification"))
    assert answers(sent) == [(1, "end_turn")]


# ------------------------------------------------------------------------------------------------- nothing is named


def test_a_claude_code_that_names_nothing(run: StepRunner) -> None:
    """An unnamed result is the oldest prompt's, in order, and the log says that it was a guess."""
    play(run, prompt(1), prompt(2))
    with logged() as entries:
        assert answers(gave(run, result())) == [(1, "end_turn")]
    assert any("a result without a name is taken for p1" in entry for entry in entries)
    assert answers(gave(run, result())) == [(2, "end_turn")]


def test_an_unnamed_result_is_that_of_what_runs(run: StepRunner) -> None:
    """Where prompts are echoed, an unnamed result is that of all that run: what was folded ends with it."""
    play(run, prompt(1), prompt(2), prompt(3), echoed(1), echoed(2))
    assert answers(gave(run, result())) == [(1, "end_turn"), (2, "end_turn")]
    assert answers(gave(run, echoed(3), result())) == [(3, "end_turn")]


def test_nothing_is_guessed_where_prompts_are_named(run: StepRunner) -> None:
    """A Claude Code that names prompts is believed: its unnamed results are nobody's."""
    play(run, prompt(1), started(1), result(1), prompt(2))
    assert answers(gave(run, result())) == []
    assert answers(gave(run, started(2), result(2))) == [(2, "end_turn")]


def test_an_unnamed_result_of_a_cancelled_prompt(run: StepRunner) -> None:
    """Unnamed results of prompts that were answered before they ran are counted, and do not end the next prompt."""
    play(run, prompt(1), prompt(2), cancel(), prompt(3))
    assert answers(gave(run, result(), result())) == []
    assert answers(gave(run, result())) == [(3, "end_turn")]


@pytest.mark.parametrize("quiet", [work("idle"), echoed(3)], ids=["idle", "next prompt"])
def test_an_unnamed_result_that_never_comes(run: StepRunner, quiet: Message) -> None:
    """When Claude Code is idle, or works on a new prompt, no result of a cancelled one is owed any more."""
    play(run, prompt(1), cancel(), prompt(3), quiet)
    assert answers(gave(run, result())) == [(3, "end_turn")]


def test_the_next_prompt_owes_nothing(run: StepRunner) -> None:
    """With the next prompt's beginning the results of cancelled ones are lost for good, also for prompts behind it."""
    play(run, prompt(1), cancel(), prompt(3), echoed(3), result(), prompt(4))
    assert answers(gave(run, result())) == [(4, "end_turn")]


# ------------------------------------------------------------------------------------------------- cancel


def test_a_cancel_answers_the_queue_first(run: StepRunner) -> None:
    """What never ran is answered at once, in order and without usage; then all are dropped and the turn interrupted."""
    play(run, prompt(1), started(1), prompt(2), prompt(3))
    sent = gave(run, cancel())
    assert answers(sent) == [(2, "cancelled"), (3, "cancelled")]
    assert (ended(sent, 2).usage, ended(sent, 3).usage) == (None, None)
    assert interrupts(sent) == [("p1", "p2", "p3")]
    assert len(sent) == 3  # the cancel itself became the interrupt
    sent = gave(run, result(1, is_error=True, errors=("[ede_diagnostic]",), usage=usage(3)), state(1, "cancelled"))
    assert answers(sent) == [(1, "cancelled")]
    assert ended(sent, 1).usage == usage(3)


def test_a_cancel_before_the_prompt_has_begun(run: StepRunner) -> None:
    """A prompt of which nothing was heard yet is answered at once, and dropped; a bare interrupt would be lost."""
    sent = gave(run, prompt(1), cancel())
    assert (answers(sent), interrupts(sent)) == ([(1, "cancelled")], [("p1",)])
    assert answers(gave(run, started(1), requesting(1), text("late"), result(1))) == []


def test_a_prompt_behind_the_cancel_runs(run: StepRunner) -> None:
    """A prompt that comes after the cancel is not part of it."""
    play(run, prompt(1), started(1), cancel(), prompt(2))
    assert answers(gave(run, result(1, is_error=True), started(2), result(2))) == [(1, "cancelled"), (2, "end_turn")]


def test_a_cancelled_turn_shows_no_text_of_its_result(run: StepRunner) -> None:
    """An interrupt's diagnostic, or a local command's output, is no answer of a cancelled prompt."""
    play(run, prompt(1), started(1), cancel())
    sent = gave(run, result(1, text="[ede_diagnostic] result_type=user"))
    assert not any(isinstance(message, Text) for message in sent)


def test_a_second_cancel_does_nothing(run: StepRunner) -> None:
    """Whoever cancels twice has cancelled once."""
    play(run, prompt(1), started(1), work("running"), cancel())
    assert gave(run, cancel()) == []
    assert answers(gave(run, result(1))) == [(1, "cancelled")]


def test_a_second_cancel_takes_what_is_new(run: StepRunner) -> None:
    """A prompt that came after the first cancel is stopped by the second, and only that is dropped."""
    play(run, prompt(1), started(1), cancel(), prompt(2))
    sent = gave(run, cancel())
    assert (answers(sent), interrupts(sent)) == ([(2, "cancelled")], [("p2",)])
    play(run, result(1))


def test_a_cancel_when_idle(run: StepRunner) -> None:
    """With nothing to stop nothing is said, in a session that has worked and in one that nobody knows."""
    play(run, prompt(1), started(1), work("running"), result(1), work("idle"))
    assert gave(run, cancel(), cancel("unknown")) == []


def test_a_cancel_of_claude_codes_own_work(run: StepRunner) -> None:
    """Work without a prompt is interrupted, and nobody is answered."""
    sent = gave(run, work("running"), cancel())
    assert (answers(sent), interrupts(sent)) == ([], [()])
    assert gave(run, cancel()) == []
    play(run, follow_up(is_error=True), work("idle"))
    assert gave(run, cancel()) == []
    assert interrupts(gave(run, work("running"), cancel())) == [()]


def test_idle_ends_a_stopped_turn(run: StepRunner) -> None:
    """A stopped turn whose result never comes is answered at the idle: cancelled, not failed."""
    sent = gave(run, prompt(1), started(1), cancel(), work("idle"))
    assert answers(sent) == [(1, "cancelled")]
    assert ended(sent, 1).usage == TokenCount()


def test_the_next_prompt_ends_a_stopped_turn(run: StepRunner) -> None:
    """When the next prompt begins the stopped turn is over, and its answer goes out before anything of the next."""
    play(run, prompt(1), started(1), cancel(), prompt(2))
    sent = gave(run, started(2))
    assert (answers(sent[:1]), sent[1:]) == ([(1, "cancelled")], [started(2)])
    assert answers(gave(run, result(1), result(2))) == [(2, "end_turn")]


@pytest.mark.parametrize(
    "end",
    [AgentGone(session=S, failure=Failure.internal("died")), RequestFailed(request=1, failure=Failure.internal("no"))],
)
def test_a_stopped_turn_is_cancelled_whatever_became_of_it(run: StepRunner, end: Message) -> None:
    """Claude Code that dies, or refuses, while it is being stopped is no error of the prompt."""
    assert answers(gave(run, prompt(1), started(1), cancel(), end)) == [(1, "cancelled")]


def test_cancel_request_of_a_prompt(run: StepRunner) -> None:
    """`$/cancel_request` of one prompt cancels the whole session, as ACP's cancel does; of anything else it passes."""
    play(run, prompt(1), started(1), prompt(2), prompt(3, "t"))
    assert gave(run, CancelRequest(request=9)) == [CancelRequest(request=9)]
    sent = gave(run, CancelRequest(request=1))
    assert (answers(sent), interrupts(sent)) == ([(2, "cancelled")], [("p1", "p2")])
    assert answers(gave(run, result(1), result(3, session="t"))) == [(1, "cancelled"), (3, "end_turn")]


def test_cancel_request_of_a_stopped_prompt(run: StepRunner) -> None:
    """A client that sends both forms of cancel for one key does not stop the prompt that it wrote in between."""
    play(run, prompt(1), started(1), cancel(), prompt(2))
    assert gave(run, CancelRequest(request=1)) == [CancelRequest(request=1)]
    assert answers(gave(run, result(1), started(2), result(2))) == [(1, "cancelled"), (2, "end_turn")]


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_is_closed_is_cancelled_first(run: StepRunner, method: str) -> None:
    """Closing stops all work, before the request goes on; what does not stop is answered at the close."""
    play(run, prompt(1), started(1), prompt(2))
    request = Request(request=8, method=method, params=None, session=S)
    sent = gave(run, request)
    assert (answers(sent), interrupts(sent), sent[-1]) == ([(2, "cancelled")], [("p1", "p2")], request)
    assert answers(gave(run, AgentGone(session=S))) == [(1, "cancelled")]
    run.fed.remove(request)  # its answer is the agent end's


def test_other_requests_cancel_nothing(run: StepRunner) -> None:
    """A request that does not end the session leaves its prompts alone."""
    request = Request(request=8, method="session/set_mode", params=None, session=S)
    assert gave(run, prompt(1), request) == [prompt(1), request]
    play(run, result(1))
    run.fed.remove(request)


def test_closing_cancels_all_sessions(run: StepRunner) -> None:
    """When the client is gone all work is stopped, before the agent end is told to close."""
    play(run, prompt(1), started(1), prompt(2, "t"))
    sent = gave(run, Closing())
    assert (answers(sent), interrupts(sent), sent[-1]) == ([(2, "cancelled")], [("p1",), ("p2",)], Closing())
    assert answers(gave(run, AgentGone(session=S))) == [(1, "cancelled")]


# ------------------------------------------------------------------------------------------------- the backstop


def test_a_wedged_claude_code(run: StepRunner) -> None:
    """A stopped turn is answered 30 s after the cancel although Claude Code is silent; what comes later is nobody's."""
    play(run, prompt(1), started(1), cancel())
    run.advance(29.999)
    assert answers(run.client) == []
    run.advance(0.001)
    assert answers(run.client) == [(1, "cancelled")]
    assert gave(run, result(1)) == []


def test_the_backstop_counts_from_the_first_cancel(run: StepRunner) -> None:
    """A later cancel, of whatever came meanwhile, does not put the first one's end off."""
    play(run, prompt(1), started(1), cancel(), prompt(2))
    run.advance(20)
    play(run, cancel())
    run.advance(10)
    assert answers(run.client) == [(2, "cancelled"), (1, "cancelled")]


def test_the_backstop_goes_with_its_turn(run: StepRunner) -> None:
    """The time of one cancel does not end a turn that was cancelled later."""
    play(run, prompt(1), started(1), cancel(), result(1))
    assert len(run.timers) == 0
    run.advance(20)
    play(run, prompt(2), started(2), cancel())
    run.advance(29.999)
    assert answers(run.client) == [(1, "cancelled")]
    run.advance(0.001)
    assert answers(run.client) == [(1, "cancelled"), (2, "cancelled")]


def test_the_backstop_leaves_new_prompts_alone(run: StepRunner) -> None:
    """Only what was cancelled is answered by it, and an unnamed result of that does not end the next prompt."""
    play(run, prompt(1), echoed(1), cancel(), prompt(2))
    run.advance(30)
    assert answers(gave(run, result())) == []
    assert answers(gave(run, result())) == [(2, "end_turn")]


def test_nothing_is_timed_when_nothing_runs(run: StepRunner) -> None:
    """A cancel that is answered at once leaves no timer behind."""
    play(run, prompt(1), cancel(), work("running"), cancel())
    assert len(run.timers) == 0


# ------------------------------------------------------------------------------------------------- held turns


def launch(run: StepRunner) -> list[Message]:
    """A prompt starts a subagent in the background and says that it did: its result is there, its answer is not."""
    launched = result(1, usage=usage(10), model_usage={"opus": {"inputTokens": 100, "outputTokens": 10}})
    return gave(run, prompt(1), started(1), requesting(1), subagent("a"), launched, state(1, "completed"))


def test_a_turn_is_held_while_its_subagent_lives(run: StepRunner) -> None:
    """A prompt is open until its subagents have ended and Claude Code has followed up on them; both are its usage."""
    assert answers(launch(run)) == []
    assert answers(gave(run, work("running"), text("child", parent="call of a"))) == []
    assert answers(gave(run, subagent("a", "ended", status="completed"), level(), unlisted(), text("it says"))) == []
    totals = {"opus": {"inputTokens": 200, "outputTokens": 30}}
    sent = gave(run, follow_up(usage=usage(20), model_usage=totals))
    assert answers(sent) == [(1, "end_turn")]
    both = TokenCount(input=200, output=30)
    assert (ended(sent, 1).usage, ended(sent, 1).model_usage) == (both, (("opus", both),))


def test_a_held_turn_keeps_its_stop_reason(run: StepRunner) -> None:
    """The answer is what the prompt's own result said, not what the follow-up says."""
    play(run, prompt(1), started(1), subagent("a"), result(1, stop_reason="max_tokens"), subagent("a", "ended"))
    assert answers(gave(run, follow_up(is_error=True, text="failed"))) == [(1, "max_tokens")]


def test_a_placeholder_drains_nothing(run: StepRunner) -> None:
    """A result without a turn of the model is a placeholder: the follow-up is still to come."""
    launch(run)
    assert answers(gave(run, subagent("a", "ended"), follow_up(num_turns=0))) == []
    assert answers(gave(run, follow_up(num_turns=1))) == [(1, "end_turn")]


def test_all_subagents_are_waited_for(run: StepRunner) -> None:
    """A follow-up on one subagent does not end a turn that has another one, also one that the follow-up started."""
    launch(run)
    assert answers(gave(run, subagent("b"), subagent("a", "ended"), follow_up())) == []
    assert answers(gave(run, subagent("b", "ended"), follow_up())) == [(1, "end_turn")]


@pytest.mark.parametrize(
    "before",
    [
        (subagent("a"), subagent("a", "ended")),
        (subagent("a", subagent=False),),
        (subagent("a", "ended", subagent=True),),
    ],
    ids=["it has ended", "a command in the background", "an end without a beginning"],
)
def test_what_does_not_hold_a_turn(run: StepRunner, before: tuple[Message, ...]) -> None:
    """A prompt waits neither for subagents that are through nor for commands in the background."""
    assert answers(gave(run, prompt(1), started(1), *before, result(1))) == [(1, "end_turn")]


def test_another_prompts_subagent_is_not_waited_for(run: StepRunner) -> None:
    """A prompt waits for what was started while it was open, not for what lived before it."""
    launch(run)
    assert answers(gave(run, prompt(2), started(2), result(2))) == [(1, "end_turn"), (2, "end_turn")]


def test_a_queued_prompt_waits_for_no_subagent(run: StepRunner) -> None:
    """A subagent that started while a prompt was in the queue is not that prompt's."""
    play(run, prompt(1), started(1), prompt(2), subagent("a"), result(1))
    assert answers(gave(run, started(2), result(2))) == [(1, "end_turn"), (2, "end_turn")]


def refusal(*, interrupt: bool = True) -> PermissionAnswer:
    return PermissionAnswer(session=S, ask="a", decision="deny", message="no", interrupt=interrupt)


def test_a_refusal_that_stops_the_turn(run: StepRunner) -> None:
    """A turn that ends since the person refused is cancelled, with its usage; any other error of a turn, and the next
    turn's above all, is one."""
    play(run, prompt(1), started(1))
    assert gave(run, refusal()) == [refusal()]
    [over] = [m for m in gave(run, result(1, is_error=True, text="diagnostic")) if isinstance(m, TurnEnded)]
    assert (over.stop_reason, over.failure, over.usage) == ("cancelled", None, TokenCount())
    play(run, prompt(2), started(2))
    assert answers(gave(run, result(2, is_error=True, text="broken"))) == [(2, "Internal error: broken")]
    play(run, prompt(3), started(3), refusal(interrupt=False))
    assert answers(gave(run, result(3, is_error=True, text="broken"))) == [(3, "Internal error: broken")]
    play(run, prompt(4), started(4), refusal())
    assert answers(gave(run, result(4))) == [(4, "end_turn")]
    play(run, prompt(5), started(5), refusal(), SessionRestarted(session=S))
    assert answers(gave(run, result(5, is_error=True, text="broken"))) == [(5, "Internal error: broken")]


def test_a_failed_turn_is_not_held(run: StepRunner) -> None:
    """An error is told at once, whoever still works."""
    sent = gave(run, prompt(1), started(1), subagent("a"), result(1, is_error=True, text="broken"))
    assert answers(sent) == [(1, "Internal error: broken")]


def test_the_next_prompt_ends_the_hold(run: StepRunner) -> None:
    """A prompt that begins while another is held ends the hold, before anything of it is seen."""
    launch(run)
    play(run, prompt(2))
    sent = gave(run, started(2))
    assert (answers(sent[:1]), sent[1:]) == ([(1, "end_turn")], [started(2)])
    assert answers(gave(run, result(2), subagent("a", "ended"), follow_up())) == [(2, "end_turn")]


def test_an_unnamed_result_ends_the_hold(run: StepRunner) -> None:
    """Where prompts are neither echoed nor named, the next prompt's result shows that it ran."""
    play(run, prompt(1), subagent("x"), echoed(1), subagent("a"), result(), prompt(2))
    assert answers(run.client) == []
    assert answers(gave(run, result())) == [(1, "end_turn"), (2, "end_turn")]


def test_a_second_result_of_a_held_prompt(run: StepRunner) -> None:
    """A result that names a held prompt adds to its usage, and holds or ends it as the first one did."""
    launch(run)
    assert answers(gave(run, result(1, usage=usage(1)))) == []
    sent = gave(run, subagent("a", "ended"), result(1, usage=usage(1), stop_reason="refusal"))
    assert answers(sent) == [(1, "refusal")]
    assert ended(sent, 1).usage == TokenCount(input=300, output=12)


def test_a_result_of_a_held_prompt_and_the_next(run: StepRunner) -> None:
    """A prompt that was folded behind a held one, unseen, ends with it at the result that names both, each once."""
    launch(run)
    play(run, prompt(2))
    assert answers(gave(run, result(1, 2), subagent("a", "ended"), follow_up())) == [(2, "end_turn"), (1, "end_turn")]
    play(run, prompt(3), started(3), cancel(), prompt(4))
    assert answers(gave(run, result(3, 4))) == [(3, "cancelled"), (4, "end_turn")]


def test_idle_ends_a_hold_whose_subagents_are_through(run: StepRunner) -> None:
    """Where no follow-up comes, the idle ends the turn; one before the subagent's end does not."""
    launch(run)
    assert answers(gave(run, work("idle"))) == []
    assert answers(gave(run, subagent("a", "ended"))) == []
    assert answers(gave(run, work("idle"))) == [(1, "end_turn")]


def test_a_state_does_not_end_a_held_turn(run: StepRunner) -> None:
    """What Claude Code says of a prompt after its result is no news."""
    assert answers(launch(run) + gave(run, state(1, "cancelled"), state(1, "discarded"))) == []
    play(run, subagent("a", "ended"), follow_up())


def test_a_late_frame_of_an_earlier_run(run: StepRunner) -> None:
    """The end of a subagent's earlier run does not end its present one (S3)."""
    play(run, prompt(1), started(1), subagent("a", run="2"), result(1))
    assert answers(gave(run, subagent("a", "ended", run="1"), follow_up())) == []
    assert answers(gave(run, subagent("a", "ended", run="2"), follow_up())) == [(1, "end_turn")]


def test_a_subagent_that_is_resumed(run: StepRunner) -> None:
    """A subagent that ended and was taken up again is waited for again (S2)."""
    launch(run)
    resumed = subagent("a", background=None, subagent=False, status="running")
    assert answers(gave(run, subagent("a", "ended"), resumed, follow_up())) == []
    assert answers(gave(run, subagent("a", "ended"), follow_up())) == [(1, "end_turn")]


def test_the_level_ends_a_hold(run: StepRunner) -> None:
    """A subagent that the level misses has ended without a word, and nobody follows up on it (S4)."""
    launch(run)
    assert answers(gave(run, level("a", "other"))) == []
    assert answers(gave(run, level("other"))) == [(1, "end_turn")]


def test_the_level_waits_for_a_follow_up_that_runs(run: StepRunner) -> None:
    """The level comes right after an end: it ends no turn whose follow-up is on its way."""
    launch(run)
    assert answers(gave(run, subagent("a", "ended"), level())) == []
    assert answers(gave(run, unlisted(), subagent("b"), level())) == []
    assert answers(gave(run, follow_up())) == [(1, "end_turn")]


def test_the_level_lists_a_subagent_again(run: StepRunner) -> None:
    """A subagent that the level missed and lists again lives, and a foreground one is never in it."""
    play(run, prompt(1), started(1), subagent("a"), subagent("f", background=False), level(), level("a"))
    assert answers(gave(run, result(1), subagent("a", "ended"), follow_up())) == []
    assert answers(gave(run, subagent("f", "ended"), follow_up())) == [(1, "end_turn")]


def test_a_restart_ends_all_subagents(run: StepRunner) -> None:
    """With Claude Code its subagents are gone: the turn ends with what Claude Code does next."""
    launch(run)
    assert answers(gave(run, SessionRestarted(session=S), work("idle"))) == [(1, "end_turn")]


def test_claude_code_dies_while_a_turn_is_held(run: StepRunner) -> None:
    """A held prompt has its result: it ends with that, and not with the error."""
    launch(run)
    sent = gave(run, AgentGone(session=S, failure=Failure.internal("died")))
    assert answers(sent) == [(1, "end_turn")]


def test_a_cancel_ends_a_held_turn_at_once(run: StepRunner) -> None:
    """Nothing of a held turn runs: it is answered, behind the queue, keeps its usage, and its subagents are stopped."""
    launch(run)
    play(run, prompt(2))
    sent = gave(run, cancel())
    assert (answers(sent), interrupts(sent)) == ([(2, "cancelled"), (1, "cancelled")], [("p1", "p2")])
    assert ended(sent, 1).usage == usage(10)
    assert ended(sent, 1).model_usage == (("opus", usage(10)),)


@pytest.mark.parametrize(
    "end", [follow_up(is_error=True, num_turns=0), work("idle"), None], ids=["result", "idle", "30 s"]
)
def test_a_cancel_of_a_follow_up(run: StepRunner, end: Message | None) -> None:
    """While the follow-up runs there is something to stop: the turn is answered when it has, and keeps its usage."""
    launch(run)
    sent = gave(run, subagent("a", "ended"), unlisted(), cancel())
    assert (answers(sent), interrupts(sent)) == ([], [("p1",)])
    before = len(run.client)
    if end is None:
        run.advance(30)
    else:
        play(run, end)
    sent = run.client[before:]
    assert answers(sent) == [(1, "cancelled")]
    assert ended(sent, 1).usage is not None
    assert ended(sent, 1).usage != TokenCount()


@pytest.mark.parametrize("is_error", [True, False])
def test_a_cancel_before_the_result_is_no_hold(run: StepRunner, is_error: bool) -> None:
    """A stopped turn waits for no subagent, whether it was interrupted or had just ended."""
    play(run, prompt(1), started(1), subagent("a"), cancel())
    assert answers(gave(run, result(1, is_error=is_error))) == [(1, "cancelled")]


# ------------------------------------------------------------------------------------------------- as a stage


def test_two_sessions_have_nothing_to_do_with_each_other(run: StepRunner) -> None:
    """What happens in one session, a cancel above all, is nothing to the other."""
    play(run, prompt(1), prompt(2, "t"), started(1), started(2, "t"))
    assert interrupts(gave(run, cancel())) == [("p1",)]
    assert answers(gave(run, work("idle", "t"), result(1))) != []
    assert [request for request, _ in answers(run.client)] == [2, 1]
    assert answers(run.client)[1] == (1, "cancelled")
    run.advance(60)
    assert len(answers(run.client)) == 2


def test_it_is_a_stage() -> None:
    """`Turns` keeps what every stage promises."""
    check_stage(
        Turns,
        [
            prompt(1),
            started(1),
            text("hello"),
            subagent("a"),
            result(1),
            prompt(2),
            cancel(),
            prompt(3, "t"),
            started(3, "t"),
            cancel("t"),
            closed("t"),
        ],
    )


def test_the_first_result_of_a_resumed_session(run: StepRunner) -> None:
    """Its totals hold the whole past, and nobody has read them before: the turn used what its result says (02.7)."""
    totals = {"claude-haiku": {"inputTokens": 900}, "claude-opus-5": {"inputTokens": 100, "outputTokens": 57}}
    play(run, SessionOpened(session=S, cwd="/", resumed=True), prompt(1), started(1))
    play(run, MessageStarted(session=S, message="m", model="claude-opus-5-5"))
    first = ended(gave(run, result(1, usage=usage(7), model_usage=totals)), 1)
    assert first.model_usage == (("claude-opus-5", usage(7)),)
    more = {**totals, "claude-opus-5": {"inputTokens": 100, "outputTokens": 60}}
    second = ended(gave(run, prompt(2), started(2), result(2, usage=usage(3), model_usage=more)), 2)
    assert second.model_usage == (("claude-opus-5", TokenCount(output=3)),)
