"""What is not seen: left out of words, spelled in what will be acted on, kept where writing needs it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.tools.unseen import apart, is_seen, plain, spelled

OVERRIDE = "echo done \u202efr- mr ;\u202c"


@pytest.mark.parametrize(
    ("text", "words", "acted_on"),
    [
        ("rm -rf x", "rm -rf x", "rm -rf x"),
        (OVERRIDE, "echo done fr- mr ;", "echo done <U+202E>fr- mr ;<U+202C>"),
        ("a\u2066b\u2069\u200e\u200f\u061c", "ab", "a<U+2066>b<U+2069><U+200E><U+200F><U+061C>"),
        ("y\u200be\u200cs\u200d\u2060\ufeff\u00ad", "yes", "y<U+200B>e<U+200C>s<U+200D><U+2060><U+FEFF><U+00AD>"),
        ("ok\U000e0072\U000e006d", "ok", "ok<U+E0072><U+E006D>"),
        ("\u3164\uffa0\u115f", "", "<U+3164><U+FFA0><U+115F>"),
        ("a\ufe0f\ufe01\ufe02", "a\ufe0f", "a\ufe0f<U+FE01><U+FE02>"),
        ("\x1b[8mrm\x1b[0m\x00\x07\x7f\x9b2J", "[8mrm[0m2J", "[8mrm[0m2J"),
        ("one\ntwo\tthree\r\nfour", "one\ntwo\tthree\nfour", "one\ntwo\tthree\nfour"),
        ("safe\rrm", "safe\nrm", "safe<U+000D>rm"),
        ("a\u2028b\u2029c\x85d", "a\nb\nc\nd", "a\nb\nc\nd"),
        ("a\r\u200bb", "a\nb", "a<U+000D><U+200B>b"),
    ],
    ids=ascii,
)
def test_what_is_not_seen(text: str, words: str, acted_on: str) -> None:
    """Controls, directions and characters of no width are left out; what will be acted on has them by code point."""
    assert plain(text) == words
    assert spelled(text) == acted_on


def test_a_long_row() -> None:
    """Of a long row the rest is counted: what is not seen does not push what is seen off the screen."""
    assert spelled("a" + "\u200b" * 8 + "b") == "a" + "<U+200B>" * 8 + "b"
    assert spelled("a" + "\u200b" * 1000 + "b") == "a" + "<U+200B>" * 8 + "<992 more>b"


@pytest.mark.parametrize(
    "text",
    [
        "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627",
        "👩\u200d💻",
        "❤\ufe0f\u200d🔥",
        "ไทย\u200bไทย",
        "葛\U000e0100城",
        "ü ß é 日本 עברית",
        "ᠮᠣ\u180bᠩ",
    ],
    ids=ascii,
)
def test_writing(text: str) -> None:
    """What writing needs between two letters beyond ASCII stays: nothing is hidden by it."""
    assert plain(text) == spelled(text) == text


def test_one_between_two_letters() -> None:
    """A row of them is no writing, and neither is one beside ASCII: in such a row a text could be hidden."""
    assert plain("日\u200b\u200c\u200b本") == "日本"
    assert spelled("日\u200b\u200c本 日\u200bb") == "日<U+200B><U+200C>本 日<U+200B>b"


PIECES = st.text(st.sampled_from("a日<\ufe0f\ufe01\u200b\u200d\u202e\u180b\U000e0100\r\n\x85\x1b"))


@given(st.text() | PIECES)
def test_is_seen(text: str) -> None:
    """Whatever came, what is shown is all seen, is the same when it is made so again, and a seen text stays."""
    for shown in (plain(text), spelled(text)):
        assert is_seen(shown)
        assert plain(shown) == spelled(shown) == shown
    if is_seen(text) and not set(text) & set("\r\u2028\u2029"):
        assert plain(text) == text


def test_apart() -> None:
    """Choices are told apart: where the words of two would be the same, or of one empty, they are spelled."""
    assert apart(["Yes\u200b", "No"]) == ["Yes", "No"]
    assert apart(["Yes", "Yes\u200b", "\u3164"]) == ["Yes", "Yes<U+200B>", "<U+3164>"]
