"""The summary that a compaction puts in place of the conversation, as a person reads it (reference 10.12).

Claude Code hands it to the model with words for the model around it; they, and what the model thought before it, are no
part of it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ANALYSIS = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_PREAMBLE = re.compile(
    r"\AThis session is being continued from a previous conversation.*?^Summary:(?:\n|\Z)", re.DOTALL | re.M
)
_TRAILER = re.compile(
    r"\n+(?:If you need specific details from before compaction|Continue the conversation from where it left off"
    r"|Please continue the conversation from where we left|Recent messages are preserved verbatim"
    r"|The messages after this summary are the most recent messages).*\Z",
    re.DOTALL,
)


def summary_in(content: Any) -> str | None:
    """The summary in a message's content, a string or text blocks; None where there is none."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
        content = "\n".join(str(block.get("text", "")) for block in blocks)
    return clean(content) if isinstance(content, str) else None


def clean(text: str) -> str | None:
    """The summary proper."""
    text = _PREAMBLE.sub("", _ANALYSIS.sub("", text).strip())
    found = _SUMMARY.search(text)
    return (found[1] if found else _TRAILER.sub("", text)).strip() or None
