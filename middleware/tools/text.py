"""Text that is shown in a tool call: fences that hold, strings that are legal, lines that are lines.

What is shown is made safe here: a lone surrogate, which Rust clients refuse as a whole message, becomes U+FFFD
(examples/clients 14), and the line separators U+2028 and U+2029, at which some readers of lines break a message in two,
become line ends. The texts of files (diffs) keep their separators: there they are content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from middleware import acp

from .unseen import plain

REPEATED = 16_384
"""Characters up to which a text is repeated in raw members (`rawInput`, `rawOutput`, `toolResponse`).

Some clients read them, so short texts are there. A longer text is sent only where it is shown: some clients take no
line above 64 KB (examples/clients 2).
"""

_BACKTICKS = re.compile(r"`+")
_SEPARATORS = re.compile("[\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS = re.compile(r"\s+")


def legal(text: str) -> str:
    """The text without lone surrogates."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shown(text: str) -> str:
    """The text as it may be displayed: legal, with ordinary line ends."""
    text = legal(text)
    return _SEPARATORS.sub("\n", text) if "\u2028" in text or "\u2029" in text else text


def one_line(text: str) -> str:
    """The text in one line: nothing that is not seen (`unseen`), each run of blanks one space."""
    return _BLANKS.sub(" ", plain(legal(text))).strip()


def without_controls(text: str) -> str:
    """The text without control characters other than tab and line ends (reference 5.2)."""
    return _CONTROLS.sub("", text)


def legal_json(value: Any) -> Any:
    """A JSON value without lone surrogates; the same object where there are none."""
    return value if all(legal(text) is text for text in _strings(value)) else _repaired(value)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return legal(value)
    if isinstance(value, Mapping):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    return [_repaired(item) for item in value] if isinstance(value, list | tuple) else value


def characters(value: Any, limit: int) -> int:
    """How many characters the strings of a JSON value have, counted no further than just above `limit`.

    Each value costs a character too, so that the count also bounds the work.
    """
    total = 0
    for text in _strings(value):
        total += len(text) + 1
        if total > limit:
            break
    return total


def _strings(value: Any) -> Iterator[str]:
    pending = [iter((value,))]
    while pending:
        for item in pending[-1]:
            if isinstance(item, str):
                yield item
            elif isinstance(item, Mapping):
                yield ""
                pending.append(iter([part for pair in item.items() for part in pair]))
                break
            elif isinstance(item, list | tuple):
                yield ""
                pending.append(iter(item))
                break
            else:
                yield ""
        else:
            pending.pop()


def fenced(text: str, language: str = "") -> str:
    """A Markdown code block whose fence is longer than any run of backticks in the text."""
    text = shown(text).rstrip()
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0) if "`" in text else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def fenced_json(value: Any) -> str:
    """A JSON value as a code block; what is no JSON is shown as its text."""
    return fenced(json.dumps(value, ensure_ascii=False, indent=2, default=str), "json")


def text_content(text: str) -> acp.Content:
    return acp.Content(content=acp.TextContent(text=shown(text)))


def raw_text(text: str) -> dict[str, Any] | None:
    """A result's text as `rawOutput`, which must be an object; None for one that is empty or long (`REPEATED`)."""
    return {"output": shown(text)} if text and len(text) <= REPEATED else None
