"""What a result means for the prompts that it ends: stop reason, error, text, usage. Pure functions; no state of turns.

The rules are those of reference 02.4 (whose result it is), 02.5 items 13 and 16 (what it says) and 02.7 (model usage).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from middleware.errors import Failure
from middleware.messages import Result, StopReason, TokenCount

_AUTONOMOUS = frozenset({"task-notification", "peer", "coordinator", "observer", "observer-activity"})
"""Origins of work that Claude Code starts by itself. Unknown kinds are the user's, so that no prompt hangs."""

_NOT_LOGGED_IN = frozenset({"authentication_failed", "oauth_org_not_allowed"})
"""What Claude Code calls an error that only signing in, or another key, ends (reference 10.4)."""

_LOGIN = re.compile(r"\brun /login\b", re.IGNORECASE)


def is_autonomous(result: Result) -> bool:
    return result.origin in _AUTONOMOUS


@attrs.frozen(kw_only=True)
class Outcome:
    """How a turn ended. `text` is what Claude Code says only in the result, such as the output of a local command."""

    stop_reason: StopReason = "end_turn"
    failure: Failure | None = None
    text: str = ""


def outcome_of(result: Result, *, shown: bool, error_kind: str | None, refused: bool = False) -> Outcome:
    """What a prompt's result says.

    Args:
        result: the result.
        shown: something was said in this turn.
        error_kind: what its last message says went wrong.
        refused: the person refused something so that the turn ends; Claude Code calls that an error (reference 5.7).
    """
    if refused and (result.is_error or result.subtype == "error_during_execution"):
        return Outcome(stop_reason="cancelled")
    if result.stop_reason == "refusal":
        return Outcome(stop_reason="refusal")
    if result.stop_reason == "max_tokens" and result.subtype in ("success", "error_during_execution"):
        return Outcome(stop_reason="max_tokens")
    if result.is_error:
        return Outcome(failure=_failure(result, error_kind))
    if result.subtype == "success":
        said_nothing = not shown and result.usage.output == 0
        return Outcome(text=result.text if said_nothing else "")
    if result.subtype == "error_during_execution":
        return Outcome()
    return Outcome(stop_reason="max_turn_requests")


def _failure(result: Result, error_kind: str | None) -> Failure:
    text = result.text if result.subtype == "success" else ", ".join(result.errors) or result.subtype
    if _LOGIN.search(text):
        return Failure.auth_required("log in to Claude Code (run `claude /login` in a terminal) and try again")
    if error_kind in _NOT_LOGGED_IN:
        advice = "log in to Claude Code, or correct the key that it is given (ANTHROPIC_API_KEY, apiKeyHelper)"
        return Failure.auth_required(f"{text}: {advice}", {"errorKind": error_kind})
    return Failure.internal(text, {"errorKind": error_kind} if error_kind else None)


@attrs.define
class ModelTotals:
    """The last reading of a session's running totals, to tell what one turn added to them."""

    model: str = ""  # that answered last
    _totals: dict[str, TokenCount] = attrs.field(factory=dict)
    _resumed: bool = False  # they began with a past, and were not read since

    def begin(self, *, resumed: bool) -> None:
        """A session begins; the totals of one that is resumed begin with its past."""
        self._resumed = resumed

    def advance(
        self, reading: Mapping[str, Mapping[str, Any]], usage: TokenCount
    ) -> tuple[tuple[str, TokenCount], ...]:
        """What was added since the last reading, by model; models that added nothing are left out.

        The first reading of a resumed session cannot tell its turn from the past: all that its result says was used
        (`usage`) is the answering model's then (reference 2.7).
        """
        first, self._resumed = self._resumed and bool(reading), self._resumed and not reading
        added = []
        for model, figures in reading.items():
            total = TokenCount(
                input=_count(figures.get("inputTokens")),
                output=_count(figures.get("outputTokens")),
                cache_read=_count(figures.get("cacheReadInputTokens")),
                cache_write=_count(figures.get("cacheCreationInputTokens")),
            )
            more = _difference(total, self._totals.get(model, TokenCount()))
            self._totals[model] = total
            if more.total:
                added.append((model, more))
        return ((_closest(self.model, reading), usage),) if first else tuple(added)


def common_prefix(one: str, other: str) -> int:
    """How many characters two names share from their beginning."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def _closest(model: str, names: Iterable[str]) -> str:
    """Which of these names is this model's: the one that begins most like it."""
    return max(names, key=lambda name: common_prefix(name, model))


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0


def _difference(total: TokenCount, before: TokenCount) -> TokenCount:
    more = TokenCount(
        input=total.input - before.input,
        output=total.output - before.output,
        cache_read=total.cache_read - before.cache_read,
        cache_write=total.cache_write - before.cache_write,
    )
    smallest = min(more.input, more.output, more.cache_read, more.cache_write)
    return total if smallest < 0 else more  # the totals began anew: a resumed or cleared conversation
