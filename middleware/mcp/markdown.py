"""Names and errors of servers as Markdown: nothing that a server says can pose as formatting (reference 08.2)."""

from __future__ import annotations

import re

from middleware.tools.unseen import plain, spelled

_SPECIAL = re.compile(r"[\\`*_\[\]<>|]")
_LINE_BREAKS = re.compile(r"\s*[\r\n]+\s*")
_CODE = re.compile(r"-?\d+")
_WRAPPER = re.compile(r"[^.!?]{0,60}(?:failed|error|exception)(?: \(?-?\d+\)?)?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST = 160


def code(text: str) -> str:
    """A code span: its fence is longer than any run of backticks in it. It holds names, which a person may type."""
    text = _LINE_BREAKS.sub(" ", spelled(text))
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    padded = text.startswith("`") or text.endswith("`") or (text.startswith(" ") and text.endswith(" "))
    return f"{fence} {text} {fence}" if padded else f"{fence}{text}{fence}"


def escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], _LINE_BREAKS.sub(" ", plain(text)))


def clean_error(error: str) -> str:
    """What went wrong, without what it was wrapped in, in at most two sentences and 160 characters."""
    segments = " ".join(error.split()).split(": ")
    while len(segments) > 1 and _wraps(segments[0]) and not all(_CODE.fullmatch(rest) for rest in segments[1:]):
        del segments[0]
    text = " ".join(_SENTENCE.split(": ".join(segments))[:2])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _wraps(segment: str) -> bool:
    if _CODE.fullmatch(segment) or "::" in segment:
        return True
    return len(segment) <= 60 and _WRAPPER.fullmatch(segment) is not None
