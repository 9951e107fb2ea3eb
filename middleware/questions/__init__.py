"""Questions to the person: how they are put, and what the answers mean. Pure functions (reference 10.1 and 10.2)."""

from __future__ import annotations

from .asked import Asked, asked_in
from .choices import DISMISS, choice_of, choices_for
from .foreign import shown_schema, shown_url
from .form import answers_from, form_for
from .outcome import Answers, updated_input
from .refusal import refusal_form, refusal_result

__all__ = [
    "DISMISS",
    "Answers",
    "Asked",
    "answers_from",
    "asked_in",
    "choice_of",
    "choices_for",
    "form_for",
    "refusal_form",
    "refusal_result",
    "shown_schema",
    "shown_url",
    "updated_input",
]
