"""What AskUserQuestion asks, out of its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Option:
    """One answer that is offered."""

    label: str
    description: str | None = None
    preview: str | None = None


@attrs.frozen(kw_only=True)
class Asked:
    """One question with its options."""

    question: str
    header: str | None = None
    several: bool = False
    options: tuple[Option, ...]


def asked_in(input: Mapping[str, Any]) -> tuple[Asked, ...]:
    """The questions of a tool's input; one without a text or without options is no question."""
    questions = input.get("questions")
    return tuple(
        Asked(
            question=question["question"],
            header=_text(question.get("header")),
            several=question.get("multiSelect") is True,
            options=options,
        )
        for question in (questions if isinstance(questions, list) else ())
        if isinstance(question, Mapping)
        and isinstance(question.get("question"), str)
        and (options := _options(question.get("options")))
    )


def _options(options: object) -> tuple[Option, ...]:
    return tuple(
        Option(
            label=option["label"],
            description=_text(option.get("description")),
            preview=_text(option.get("preview")),
        )
        for option in (options if isinstance(options, list) else ())
        if isinstance(option, Mapping) and isinstance(option.get("label"), str)
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
