"""What a tool changes in a file, as ACP diffs: from its input, from the file before it, and from the patch after it.

A diff shows whole lines with their place in the file wherever the file is known: from the tool's structured patch once
it ran (reference 4.6), and before that from the text that the agent end found on the disk (`FileState`). All work is
linear in the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from middleware import acp
from middleware.messages import FileState

from .text import fenced, legal, text_content
from .views import Contents

LIMIT = 1 << 20
"""Characters of a text that is shown in a diff at most (reference 4.10)."""

CONTEXT = 3
"""Unchanged lines that are shown before and behind a change."""

Located = tuple[Contents, tuple[acp.ToolCallLocation, ...]]
"""What is shown of a change, and where it is; a location's line is counted from 1."""


def creation(path: str, text: str) -> Contents:
    """A file with this text where nothing is known to have been."""
    if len(text) > LIMIT:
        return (text_content(f"Writes {len(text)} characters to `{path}`: too large to be shown as a diff."),)
    return (acp.Diff(path=legal(path), new_text=legal(text)),)


def overwriting(file: FileState, text: str) -> Contents:
    """A whole file is written: what it was, and what it becomes."""
    if file.state == "missing":
        return creation(file.path, text)
    if file.state == "text" and len(text) <= LIMIT:
        return (acp.Diff(path=legal(file.path), old_text=legal(file.text), new_text=legal(text)),)
    notice = f"Overwrites the existing file `{file.path}`. Its current content cannot be shown."
    if len(text) > LIMIT:
        return (text_content(f"{notice} {len(text)} characters are written."),)
    return (text_content(notice), text_content(fenced(text)))


def replacement(path: str, old: str, new: str) -> Contents:
    """A piece of a file is replaced, when no more is known than the piece."""
    if len(old) + len(new) > LIMIT:
        return (text_content(f"Replaces {len(old)} characters by {len(new)} in `{path}`: too large for a diff."),)
    return (acp.Diff(path=legal(path), old_text=legal(old) or None, new_text=legal(new)),)


def replacement_in(file: FileState, old: str, new: str, *, every: bool) -> Located | None:
    """The same in a known file, as whole lines with context. None when the piece is not there as it must be."""
    if file.state != "text" or not old or old == new or len(new) > LIMIT:
        return None
    text = file.text
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")  # Claude Code edits in plain line ends
    places = list(_places(text, old))
    if not places or (len(places) > 1 and not every):
        return None
    diffs, locations = [], []
    line, at = 1, 0
    for start, end, inner in _windows(text, places, len(old)):
        line += text.count("\n", at, start)
        at = start
        after, position = [], start
        for place in inner:
            after += [text[position:place], new]
            position = place + len(old)
        after.append(text[position:end])
        diffs.append(acp.Diff(path=legal(file.path), old_text=legal(text[start:end]), new_text=legal("".join(after))))
        first = line + text.count("\n", start, inner[0])
        locations.append(acp.ToolCallLocation(path=legal(file.path), line=first))
    return tuple(diffs), tuple(locations)


def _places(text: str, piece: str) -> Iterator[int]:
    place = text.find(piece)
    while place >= 0:
        yield place
        place = text.find(piece, place + len(piece))


def _windows(text: str, places: Sequence[int], length: int) -> Iterator[tuple[int, int, list[int]]]:
    """The stretches of whole lines around the places, neighbours merged: start, end, and the places inside."""
    start = end = -1
    inner: list[int] = []
    for place in places:
        joins = bool(inner) and (place < end or _lines_back(text, place) <= end)
        if not joins:
            if inner:
                yield start, end, inner
            start, inner = _lines_back(text, place), []
        inner.append(place)
        end = max(end, _lines_on(text, place + length))
    if inner:
        yield start, end, inner


def _lines_back(text: str, place: int) -> int:
    """Where the line begins that is `CONTEXT` lines before the one at a place."""
    start = text.rfind("\n", 0, place)
    for _ in range(CONTEXT):
        if start < 0:
            break
        start = text.rfind("\n", 0, start)
    return start + 1


def _lines_on(text: str, place: int) -> int:
    """Where the line ends that is `CONTEXT` lines behind the one that ends at a place."""
    end = place
    if place == 0 or text[place - 1] != "\n":  # the piece ends inside a line, which belongs to it
        end = text.find("\n", place) + 1 or len(text)
    for _ in range(CONTEXT):
        if end >= len(text):
            break
        end = text.find("\n", end) + 1 or len(text)
    return end


def patched(path: str, patch: Any) -> Located | None:
    """A tool's structured patch: a diff for each hunk. None when it is no patch, has no hunk, or is too large."""
    if not isinstance(patch, list) or not patch:
        return None
    diffs, locations, total = [], [], 0
    for hunk in patch:
        lines = hunk.get("lines") if isinstance(hunk, Mapping) else None
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            return None
        total += sum(map(len, lines))
        if total > LIMIT:
            return None
        old, new = _sides(lines)
        diffs.append(acp.Diff(path=legal(path), old_text=legal(old) or None, new_text=legal(new)))
        line = hunk.get("newStart")
        known = isinstance(line, int) and not isinstance(line, bool) and line >= 0
        locations.append(acp.ToolCallLocation(path=legal(path), line=line if known else None))
    return tuple(diffs), tuple(locations)


def _sides(lines: Sequence[str]) -> tuple[str, str]:
    """The two sides of a hunk.

    The lines are joined by line ends, without one behind the last (reference 4.6), unless the patch itself says that a
    side's last line has none ("\\ No newline at end of file"): then the other side's has one.
    """
    old: list[str] = []
    new: list[str] = []
    open_old = open_new = False
    last = " "
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "\\":
            open_old, open_new = open_old or last != "+", open_new or last != "-"
            continue
        last = sign
        if sign != "+":
            old.append(text)
        if sign != "-":
            new.append(text)
    marked = open_old or open_new
    return (
        "\n".join(old) + ("\n" if marked and not open_old and old else ""),
        "\n".join(new) + ("\n" if marked and not open_new and new else ""),
    )
