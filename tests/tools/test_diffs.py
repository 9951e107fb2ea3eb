"""Diffs: from an input, from the file before it, from the patch after it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from middleware import acp
from middleware.messages import FileState
from middleware.tools import Contents, diffs

PATH = "/repo/a.py"


def sides(contents: Contents) -> list[tuple[str | None, str]]:
    return [(item.old_text, item.new_text) for item in contents if isinstance(item, acp.Diff)]


def words(contents: Contents) -> list[str]:
    return [
        item.content.text
        for item in contents
        if isinstance(item, acp.Content) and isinstance(item.content, acp.TextContent)
    ]


def known(text: str) -> FileState:
    return FileState(path=PATH, state="text", text=text)


# ------------------------------------------------------------------------------------------------- before


def test_writing_a_new_file() -> None:
    """Where no file is, a Write is a creation."""
    assert sides(diffs.overwriting(FileState(path=PATH, state="missing"), "x\n")) == [(None, "x\n")]


@pytest.mark.parametrize("old", ["old\n", "", "a\r\nb\r\n", "no end"], ids=["text", "empty", "CRLF", "no newline"])
def test_writing_over_a_file(old: str) -> None:
    """Where a file is, its real text is shown as it is: nobody approves an overwrite that looks like a new file."""
    assert sides(diffs.overwriting(known(old), "new\r\n")) == [(old, "new\r\n")]


def test_writing_over_a_hidden_file() -> None:
    """A file that cannot be shown is said to be there, and what will be written is shown as a text, not as a diff."""
    made = diffs.overwriting(FileState(path=PATH, state="hidden"), "new ```")
    assert sides(made) == []
    assert words(made) == [
        f"Overwrites the existing file `{PATH}`. Its current content cannot be shown.",
        "````\nnew ```\n````",
    ]


def test_too_large_to_write() -> None:
    """More than 1 MiB makes no diff; the text says how much it is, and whether a file is overwritten."""
    huge = "x" * (diffs.LIMIT + 1)
    assert words(diffs.creation(PATH, huge)) == [
        f"Writes {len(huge)} characters to `{PATH}`: too large to be shown as a diff."
    ]
    (overwritten,) = words(diffs.overwriting(known("old"), huge))
    assert overwritten.startswith(f"Overwrites the existing file `{PATH}`.")
    assert str(len(huge)) in overwritten
    (replaced,) = words(diffs.replacement(PATH, huge, "y"))
    assert "too large" in replaced


FILE = "".join(f"line {number}\n" for number in range(1, 31))


def test_edit_in_its_place() -> None:
    """An edit of a known file is shown as whole lines with three of context, at the number of the line that changes."""
    located = diffs.replacement_in(known(FILE), "10\nline 11", "ten\neleven", every=False)
    assert located is not None
    contents, locations = located
    old = "".join(f"line {number}\n" for number in range(7, 15))
    assert sides(contents) == [(old, old.replace("10\nline 11", "ten\neleven"))]
    assert [location.line for location in locations] == [10]


def test_edit_of_every_place() -> None:
    """With `replace_all` every place is shown, and places whose context meets are shown together."""
    located = diffs.replacement_in(known(FILE), "line 2", "LINE 2", every=True)
    assert located is not None
    contents, locations = located
    assert [location.line for location in locations] == [2, 20]
    assert [old.count("line 2") for old, _ in sides(contents) if old] == [1, 10]


@pytest.mark.parametrize(
    ("old", "new", "every"),
    [("line 2", "x", False), ("nowhere", "x", True), ("", "x", False), ("line 1\n", "line 1\n", False)],
    ids=["several places", "no place", "nothing", "no change"],
)
def test_edit_that_cannot_be_placed(old: str, new: str, every: bool) -> None:
    """What would not be changed as asked is not shown as if it were."""
    assert diffs.replacement_in(known(FILE), old, new, every=every) is None


def test_edit_of_crlf() -> None:
    """Claude writes plain line ends, the file has CRLF: the place is found, and the file's line ends are shown."""
    located = diffs.replacement_in(known("a\r\nb\r\nc\r\n"), "a\nb", "A\nB", every=False)
    assert located is not None
    assert sides(located[0]) == [("a\r\nb\r\nc\r\n", "A\r\nB\r\nc\r\n")]


@settings(deadline=None)
@given(
    some.text(alphabet="ab\n", min_size=1, max_size=60),
    some.text(alphabet="ab\n", min_size=1, max_size=4),
    some.text(alphabet="xy\n", max_size=4),
)
def test_edits_add_up(text: str, old: str, new: str) -> None:
    """Whatever is replaced, the shown pieces are pieces of the file, and replacing them gives what the tool gives."""
    located = diffs.replacement_in(known(text), old, new, every=True)
    if old not in text or old == new:
        assert located is None
        return
    assert located is not None
    changed, position = [], 0
    for before, after in sides(located[0]):
        assert before
        place = text.index(before, position)
        assert place == 0 or text[place - 1] == "\n"
        changed += [text[position:place], after]
        position = place + len(before)
    assert "".join(changed) + text[position:] == text.replace(old, new)


# ------------------------------------------------------------------------------------------------- after


def hunk(*lines: str, start: int = 1) -> dict[str, Any]:
    return {"oldStart": start, "newStart": start, "oldLines": 0, "newLines": 0, "lines": list(lines)}


def test_hunks() -> None:
    """Each hunk is a diff of its own, at its real line (reference 4.6)."""
    located = diffs.patched(PATH, [hunk(" a", "-b", "+B"), hunk("+new", start=40)])
    assert located is not None
    assert sides(located[0]) == [("a\nb", "a\nB"), (None, "new")]
    assert [location.line for location in located[1]] == [1, 40]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["-a", "\\ No newline at end of file", "+a"], ("a", "a\n")),
        (["-a", "+a", "\\ No newline at end of file"], ("a\n", "a")),
        (
            ["-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"],
            ("a", "b"),
        ),
        (["-x", "+y", " a", "\\ No newline at end of file"], ("x\na", "y\na")),
        ([" a\r", "-b\r", "+B\r"], ("a\r\nb\r", "a\r\nB\r")),
    ],
    ids=["gained", "lost", "never there", "context", "CRLF"],
)
def test_ends_of_files(lines: list[str], expected: tuple[str, str]) -> None:
    """A newline that is missing at the end of a file is no line, and gaining or losing it is a change that shows."""
    located = diffs.patched(PATH, [hunk(*lines)])
    assert located is not None
    assert sides(located[0]) == [expected]


@pytest.mark.parametrize(
    "patch",
    [None, [], "patch", [{"lines": "x"}], [{"lines": [1]}], [hunk("+" + "x" * (diffs.LIMIT + 1))], [3]],
    ids=["none", "empty", "text", "no lines", "numbers", "too large", "no hunk"],
)
def test_no_patch(patch: Any) -> None:
    """What is no patch, or too large, is no diff."""
    assert diffs.patched(PATH, patch) is None


def test_surrogates_in_diffs() -> None:
    """Texts of files are legal, and keep their line separators: there they are content."""
    assert sides(diffs.creation(PATH, "a\ud800\u2028")) == [(None, "a\ufffd\u2028")]
