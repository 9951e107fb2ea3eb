"""Questions as a form, and its content as answers, for clients that have `elicitation.form`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from middleware.tools.unseen import apart, plain

from .asked import Asked, Option
from .outcome import Answers

SEVERAL = "Please answer the following questions."

_OWN = {
    True: "Type your own answer to add to your selection above (optional).",
    False: "Type your own answer, or add a note to the option you chose above (optional).",
}


def form_for(questions: Sequence[Asked], *, air: bool = False) -> tuple[str, dict[str, Any]]:
    """The message and the schema of the form: a choice and a free text a question, none of them required.

    Only what is shown is made plain: an option's `const` is its label as it came, by which Claude Code knows it.

    `air` adds what JetBrains AIR wants to know of the free text.
    """
    properties: dict[str, Any] = {}
    for index, asked in enumerate(questions):
        properties[f"question_{index}"] = _choice(asked, alone=len(questions) == 1)
        own: dict[str, Any] = {"type": "string", "title": "Other", "description": _OWN[asked.several]}
        if air:
            custom = {"questionId": f"question_{index}", "isCustomAnswer": True}
            own = {
                **own,
                "_meta": {"jetbrains": {"air": {"customAnswer": custom}}, "_askUserQuestionCustomAnswer": custom},
            }
        properties[f"question_{index}_custom"] = own
    message = plain(questions[0].question) if len(questions) == 1 else SEVERAL
    return message, {"type": "object", "properties": properties}


def answers_from(questions: Sequence[Asked], content: Mapping[str, Any]) -> Answers:
    """What the person filled in. A question that has neither a choice nor a text is not answered."""
    answers: dict[str, str] = {}
    notes: dict[str, str] = {}
    for index, asked in enumerate(questions):
        picks = _texts(content.get(f"question_{index}"))
        own = "".join(_texts(content.get(f"question_{index}_custom"))).strip()
        if asked.several:
            items = [*picks, *([own] if own else [])]
            if items:
                answers[asked.question] = ", ".join(_item(item) for item in items)
        elif picks:
            answers[asked.question] = picks[0]
            if own:
                notes[asked.question] = own
        elif own:
            answers[asked.question] = own
    return Answers(answers=answers, notes=notes)


def _choice(asked: Asked, *, alone: bool) -> dict[str, Any]:
    names = apart([option.label for option in asked.options])
    options = [_option(option, name) for option, name in zip(asked.options, names, strict=True)]
    words = {"title": asked.header, "description": None if alone else asked.question}
    told = {key: plain(value) for key, value in words.items() if value is not None}
    if asked.several:
        return {"type": "array", **told, "items": {"anyOf": options}}
    return {"type": "string", **told, "oneOf": options}


def _option(option: Option, name: str) -> dict[str, Any]:
    told: dict[str, Any] = {"const": option.label, "title": name}
    if option.description is not None:
        told["description"] = plain(option.description)
    if option.preview is not None:
        told["_meta"] = {"_claude/askUserQuestionOption": {"preview": plain(option.preview)}}
    return told


def _texts(value: Any) -> list[str]:
    """The texts of a form's value: strings, numbers and booleans; what is empty or anything else is left out."""
    values = value if isinstance(value, list | tuple) else [value]
    texts = (
        json.dumps(item) if isinstance(item, bool | int | float) else item
        for item in values
        if isinstance(item, str | bool | int | float)
    )
    return [text for text in texts if text]


def _item(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if ", " in text or '"' in text else text
