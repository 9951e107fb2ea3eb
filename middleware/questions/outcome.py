"""The person's answers as the input with which AskUserQuestion runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from .asked import Asked


@attrs.frozen(kw_only=True)
class Answers:
    """By question. `notes` are what was added to a choice."""

    answers: Mapping[str, str] = attrs.field(factory=dict)
    notes: Mapping[str, str] = attrs.field(factory=dict)


def updated_input(
    input: Mapping[str, Any],
    questions: Sequence[Asked],
    given: Answers,
    unanswered: Literal["dismissed", "skipped"] | None,
) -> dict[str, Any]:
    """The tool's input with the answers in it.

    `unanswered` says why a question has none; None for a Claude Code that does not know the word.
    """
    annotations: dict[str, dict[str, str]] = {name: {"notes": note} for name, note in given.notes.items()}
    if unanswered is not None:
        for asked in questions:
            if asked.question not in given.answers:
                annotations.setdefault(asked.question, {})["unanswered"] = unanswered
    return {**input, "answers": dict(given.answers), **({"annotations": annotations} if annotations else {})}
