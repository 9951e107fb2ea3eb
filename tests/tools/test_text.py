"""Text that clients are shown: fences, lone surrogates, line separators, sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from middleware.tools.text import (
    REPEATED,
    characters,
    fenced,
    legal,
    legal_json,
    one_line,
    raw_text,
    shown,
)

ANY_TEXT = some.text(some.characters(), max_size=40)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | ANY_TEXT,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(some.text(alphabet="`a\n ", max_size=60))
def test_fence_holds(text: str) -> None:
    """A fence is longer than any run of backticks inside, so nothing in the text can close it."""
    opening, *inside, closing = fenced(text).split("\n")
    assert opening == closing
    assert set(opening) == {"`"}
    assert len(opening) >= 3
    assert opening not in "\n".join(inside)


def test_fence_names_its_language() -> None:
    """The language stands behind the opening fence only, and blanks at the end of the text are dropped."""
    assert fenced("x  \n\n", "console") == "```console\nx\n```"


@settings(deadline=None)
@given(ANY_TEXT)
def test_legal_text(text: str) -> None:
    """Legal text can be written as UTF-8, and a legal text is left as it is."""
    made = legal(text)
    made.encode("utf-8")
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert made is text


def test_lone_surrogate() -> None:
    """A lone surrogate becomes U+FFFD; two halves that belong together become their character."""
    assert legal("a\ud83db") == "a\ufffdb"
    assert legal("\ud83d\ude00") == "\U0001f600"


def test_line_separators() -> None:
    """U+2028 and U+2029 become line ends where text is shown, and blanks in a title."""
    assert shown("a\u2028b\u2029c") == "a\nb\nc"
    assert one_line(" a\u2028 b\t\x1b[31mc\n") == "a b [31mc"


@settings(deadline=None)
@given(JSON)
def test_legal_json(value: Any) -> None:
    """A value without lone surrogates is the same object; one with them is repaired in keys and values alike."""
    made = legal_json(value)
    text = json.dumps(made, ensure_ascii=False)
    text.encode("utf-8")
    if legal(json.dumps(value, ensure_ascii=False)) == json.dumps(value, ensure_ascii=False):
        assert made is value


@settings(deadline=None)
@given(JSON, some.integers(min_value=0, max_value=50))
def test_characters_are_bounded(value: Any, limit: int) -> None:
    """The count is exact up to the limit, and says no more than "above" beyond it."""
    exact = characters(value, 10**9)
    counted = characters(value, limit)
    assert (counted <= limit) == (exact <= limit)
    if exact <= limit:
        assert counted == exact


def test_characters_stop_early() -> None:
    """What is beyond the limit is not looked at: the size of a value does not decide what it costs to measure it."""
    looked = 0

    class Counting(list[Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            for item in list.__iter__(self):
                looked += 1
                yield item

    assert characters(Counting(["xxxxxxxxx"] * 1_000_000), 100) > 100
    assert looked <= 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", None), ("x", {"output": "x"}), ("x" * REPEATED, {"output": "x" * REPEATED}), ("x" * (REPEATED + 1), None)],
    ids=["empty", "short", "at the limit", "above it"],
)
def test_raw_text(text: str, expected: dict[str, str] | None) -> None:
    """A result's text is repeated in `rawOutput`, as an object, up to the limit."""
    assert raw_text(text) == expected
