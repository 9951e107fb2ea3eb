"""Questions to the person: how AskUserQuestion is put, and what the answer means. Pure functions (reference 10.1)."""

from __future__ import annotations

from .asked import Asked, asked_in
from .choices import DISMISS, choice_of, choices_for
from .form import answers_from, form_for
from .outcome import Answers, updated_input

__all__ = [
    "DISMISS",
    "Answers",
    "Asked",
    "answers_from",
    "asked_in",
    "choice_of",
    "choices_for",
    "form_for",
    "updated_input",
]
