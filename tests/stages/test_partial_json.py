"""The JSON of a tool's input while it streams."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from middleware.stages import partial_json
from middleware.stages.partial_json import PartialObject

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=12),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = some.dictionaries(some.text(max_size=6), VALUES, max_size=5)


def split(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


@settings(deadline=None)
@given(OBJECTS, some.lists(some.integers(min_value=0), max_size=12), some.booleans())
def test_members_as_they_complete(value: dict[str, Any], cuts: list[int], spaced: bool) -> None:
    """However the text is cut, what is known is a beginning of the object, grows, and lacks at most the last member."""
    text = json.dumps(value, indent=2 if spaced else None, ensure_ascii=False)
    partial = PartialObject()
    known: dict[str, Any] = {}
    for piece in split(text, cuts):
        told = partial.feed(piece)
        if told is not None:
            assert list(told) == list(value)[: len(told)]
            assert len(told) > len(known)
            assert all(told[key] == value[key] for key in told)
            known = told
    assert len(known) == max(0, len(value) - 1)


def test_what_was_told_stays() -> None:
    """What a caller was given does not change with the next piece."""
    partial = PartialObject()
    first = partial.feed('{"a": 1,')
    partial.feed('"b": 2,')
    assert first == {"a": 1}


@pytest.mark.parametrize("text", ["[1, 2, 3, ", "{,", '{"a": nope, "b": 1, ', "}, {", '{"a": 1}, {"b": 2}, '])
def test_no_object(text: str) -> None:
    """What is no JSON object gives nothing, or nothing more, and breaks nothing."""
    partial = PartialObject()
    told = [partial.feed(piece) for piece in (text, text, ', "c": 3,')]
    assert all(known in (None, {"a": 1}) for known in told)


def test_each_character_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is linear in the text: a member is parsed once, and not again with each member that follows."""
    parsed = 0

    def loads(text: str) -> Any:
        nonlocal parsed
        parsed += len(text)
        return json.loads(text)

    monkeypatch.setattr(partial_json, "json", type("Counting", (), {"loads": staticmethod(loads)}))
    text = json.dumps({f"key {number}": "x" * 100 for number in range(2_000)})
    partial = PartialObject()
    for piece in split(text, list(range(0, len(text), 40))):
        partial.feed(piece)
    assert len(text) * 0.9 < parsed < len(text) * 1.1
