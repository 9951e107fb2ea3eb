"""What a result says, without any turn: stop reason, error, text, and the running totals of the models."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware import Failure
from middleware.messages import Result, TokenCount
from middleware.stages.turn_outcome import ModelTotals, Outcome, is_autonomous, outcome_of


def outcome(*, shown: bool = False, error_kind: str | None = None, **members: Any) -> Outcome:
    return outcome_of(Result(session="s", **members), shown=shown, error_kind=error_kind)


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("task-notification", True),
        ("peer", True),
        ("coordinator", True),
        ("observer", True),
        ("observer-activity", True),
        (None, False),
        ("human", False),
        ("channel", False),
        ("auto-continuation", False),
        ("unclassified", False),
        ("invented tomorrow", False),
    ],
)
def test_whose_work_it_is(origin: str | None, own: bool) -> None:
    """Five origins are Claude Code's own; every other one is the user's (reference 02.4)."""
    assert is_autonomous(Result(session="s", origin=origin)) is own


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("subtype", ["success", "error_during_execution", "error_max_turns"])
def test_a_refusal_comes_first(subtype: str, is_error: bool) -> None:
    """A refusal is one whatever the subtype says (02.5, item 13)."""
    assert outcome(subtype=subtype, is_error=is_error, stop_reason="refusal") == Outcome(stop_reason="refusal")


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("subtype", ["success", "error_during_execution"])
def test_max_tokens(subtype: str, is_error: bool) -> None:
    """The token limit is a stop reason, not an error (02.5, item 16)."""
    assert outcome(subtype=subtype, is_error=is_error, stop_reason="max_tokens") == Outcome(stop_reason="max_tokens")


def test_max_tokens_does_not_hide_another_limit() -> None:
    """Only for these two subtypes: a turn that ended at the limit of turns did not end at that of tokens."""
    limit = outcome(subtype="error_max_turns", stop_reason="max_tokens")
    assert limit == Outcome(stop_reason="max_turn_requests")


@pytest.mark.parametrize(
    "subtype", ["error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries", "error_of_tomorrow"]
)
def test_limits(subtype: str) -> None:
    """A limit that was reached without an error is `max_turn_requests`; with one it is that error."""
    assert outcome(subtype=subtype) == Outcome(stop_reason="max_turn_requests")
    assert outcome(subtype=subtype, is_error=True).failure == Failure.internal(subtype)
    assert outcome(subtype=subtype, is_error=True, errors=("a", "b")).failure == Failure.internal("a, b")


def test_an_error() -> None:
    """A success that is an error says so in its text, an error during execution in its list."""
    assert outcome(is_error=True, text="API Error", errors=("no",)).failure == Failure.internal("API Error")
    during = outcome(subtype="error_during_execution", is_error=True, text="no", errors=("[ede_diagnostic]",))
    assert during.failure == Failure.internal("[ede_diagnostic]")
    assert outcome(subtype="error_during_execution", text="no") == Outcome()


def test_an_error_has_its_kind() -> None:
    """The kind of the last message's error travels in the error's data, and nothing does where there is none."""
    failure = outcome(is_error=True, text="x", error_kind="rate_limit").failure
    assert failure is not None
    assert failure.data == {"errorKind": "rate_limit"}
    assert outcome(is_error=True, text="x").failure == Failure.internal("x")


@pytest.mark.parametrize("text", ["Invalid API key · Please run /login", "please RUN /LOGIN now"])
def test_who_is_not_logged_in(text: str) -> None:
    """Claude Code that wants a login is ACP's "authentication required", with what to do (reference 2.10)."""
    failure = outcome(is_error=True, text=text, error_kind="authentication_failed").failure
    assert failure is not None
    assert (failure.code, "log in" in failure.message) == (-32000, True)


def test_whose_key_is_refused() -> None:
    """A key that was not accepted is "authentication required" too, in Claude Code's words and with what to do."""
    failure = outcome(is_error=True, text="Invalid API key", error_kind="authentication_failed").failure
    assert failure is not None
    assert (failure.code, failure.data) == (-32000, {"errorKind": "authentication_failed"})
    assert "Invalid API key: log in" in failure.message


@pytest.mark.parametrize("text", ["the manual says: run /login", "rerun /logins"])
def test_what_only_looks_like_a_login(text: str) -> None:
    """A model that writes about `/login` is logged in, and another command is no login."""
    assert outcome(text=text, shown=True) == Outcome()
    failure = outcome(is_error=True, text="rerun /logins").failure
    assert failure == Failure.internal("rerun /logins")


@pytest.mark.parametrize(
    ("shown", "output", "text"),
    [(False, 0, "said"), (True, 0, ""), (False, 1, ""), (True, 1, "")],
)
def test_the_text_of_a_success(shown: bool, output: int, text: str) -> None:
    """The text is given where nothing was shown and the model wrote nothing: a local command's output (item 16)."""
    assert outcome(text="said", shown=shown, usage=TokenCount(output=output)) == Outcome(text=text)


def reading(**counts: Any) -> dict[str, dict[str, Any]]:
    return {model: {"outputTokens": count, "contextWindow": 200_000} for model, count in counts.items()}


def test_running_totals() -> None:
    """What a turn used is the difference of two readings, by model; a model that added nothing is left out."""
    totals = ModelTotals()
    assert totals.advance(reading(opus=5, haiku=2), TokenCount()) == (
        ("opus", TokenCount(output=5)),
        ("haiku", TokenCount(output=2)),
    )
    assert totals.advance(reading(opus=9, haiku=2), TokenCount()) == (("opus", TokenCount(output=4)),)
    assert totals.advance({}, TokenCount()) == ()
    assert totals.advance(reading(opus=10), TokenCount()) == (("opus", TokenCount(output=1)),)


def test_totals_that_begin_anew() -> None:
    """A counter that went back began anew: then the reading itself is what was used (reference 2.7)."""
    totals = ModelTotals()
    totals.advance({"opus": {"inputTokens": 100, "outputTokens": 5}}, TokenCount())
    used = totals.advance({"opus": {"inputTokens": 40, "outputTokens": 6}}, TokenCount())
    assert used == (("opus", TokenCount(input=40, output=6)),)
    more = totals.advance({"opus": {"inputTokens": 41, "outputTokens": 6}}, TokenCount())
    assert more == (("opus", TokenCount(input=1)),)


@pytest.mark.parametrize("value", [None, "7", float("nan"), float("inf"), -3, [], {}])
def test_totals_that_are_no_numbers(value: object) -> None:
    """A count that is missing, or no number, counts as zero."""
    used = ModelTotals().advance({"opus": {"outputTokens": value, "inputTokens": 2}}, TokenCount())
    assert used == (("opus", TokenCount(input=2)),)


@given(st.lists(st.integers(min_value=0, max_value=1000)))
def test_the_parts_add_up(growth: list[int]) -> None:
    """Whatever the turns used, their parts add up to the last reading."""
    totals, total, counted = ModelTotals(), 0, TokenCount()
    for more in growth:
        total += more
        for _, used in totals.advance(reading(opus=total), TokenCount()):
            counted += used
    assert counted == TokenCount(output=total)
