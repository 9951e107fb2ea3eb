"""What a listing says of a transcript, from its first and last kilobytes: never the whole file (reference 9.5).

Claude Code writes the working directory into each record and repeats a title near the end of the file. The pieces that
are read are cut anywhere, so members are searched as text, and only what was found is parsed. A few files say nothing
in their ends, a broken or huge line being there, and are read line by line (`_searched`): what can be loaded is listed.
Blocking.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from middleware import acp
from middleware.messages import UserMessage

from .places import open_transcript
from .said import by_the_person
from .transcripts import tail_records

PIECE = 1 << 16
"""Bytes that are read at most from either end."""

SEARCHED = 1 << 22
"""Bytes that are read at most from either end of a transcript whose ends do not say whose and what it is."""

_FIRST = 1 << 12
"""Bytes in which the working directory nearly always is."""

LONGEST_TITLE = 256


@attrs.frozen(kw_only=True)
class Head:
    """A session in a list. `title` is None where nobody has said anything yet that could be one."""

    cwd: str
    title: str | None
    updated_at: str


def read_head(path: Path, modified: float) -> Head | None:
    """What the ends of a transcript say; None when it is no session of a person.

    That is a subagent's transcript, one without a working directory, and one in which nothing was asked.

    Args:
        path: the transcript.
        modified: when it was last written, seconds since 1970.

    Raises:
        OSError: the file cannot be read.
    """
    with open_transcript(path) as file:
        head = file.read(_FIRST)
        cwd = _first(head, "cwd")
        if cwd is None:
            head += file.read(PIECE - _FIRST)
            cwd = _first(head, "cwd")
        size = file.seek(0, 2)
        file.seek(max(0, size - PIECE))
        tail = file.read()
        if b'"isSidechain":true' in head.partition(b"\n")[0]:
            return None
        titles = _titles(head, tail)
        if titles.shown is None and len(head) <= _FIRST < size:
            file.seek(len(head))
            head += file.read(PIECE - len(head))
        title = titles.shown or _first_text(head, tail)
    said = title is not None
    if cwd is None or not said:
        found = _searched(path, _Searched(cwd=cwd, said=said))
        cwd, title, said = found.cwd, title or found.text, found.said
    if cwd is None or not said:
        return None
    return Head(cwd=cwd, title=clean_title(title or "") or None, updated_at=iso(modified))


@attrs.frozen
class StoredTitles:
    """What a transcript says of its title: the person's, Claude's, and what a list shows where there is neither."""

    custom: str | None = None
    made: str | None = None
    said: str | None = None

    @property
    def shown(self) -> str | None:
        return self.custom or self.made or self.said


def read_titles(path: Path) -> StoredTitles:
    """What a transcript says of its title. Raises OSError: it cannot be read."""
    with open_transcript(path) as file:
        head = file.read(PIECE)
        file.seek(max(0, file.seek(0, 2) - PIECE))
        tail = file.read()
    return attrs.evolve(_titles(head, tail), said=_first_text(head, tail))


def _titles(head: bytes, tail: bytes) -> StoredTitles:
    return StoredTitles(
        custom=_last(tail, "customTitle") or _last(head, "customTitle"),
        made=_last(tail, "aiTitle") or _last(head, "aiTitle"),
    )


def _first_text(head: bytes, tail: bytes) -> str | None:
    return _first_prompt(head) or _last(tail, "lastPrompt") or _last(tail, "summary")


@attrs.define
class _Searched:
    """What the lines of a transcript say, one by one."""

    cwd: str | None = None
    text: str | None = None  # the first that the person wrote
    said: bool = False  # anything: an image has no text


def _searched(path: Path, found: _Searched) -> _Searched:
    """Look for what the ends do not show in the lines themselves, of at most `SEARCHED` bytes from either end.

    A broken first line can be of any length, and so can a prompt with an image in it: its directory stands behind it.
    """
    with open_transcript(path) as file:
        left = SEARCHED
        while left > 0 and not (found.cwd and found.text) and (line := file.readline(left)):
            left -= len(line)
            _learn(found, line)
    for record in itertools.takewhile(lambda _: not (found.cwd and found.said), tail_records(path, most=SEARCHED)):
        _learn_record(found, record)
    return found


def _learn(found: _Searched, line: bytes) -> None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(record, dict):
        _learn_record(found, record)


def _learn_record(found: _Searched, record: Mapping[str, Any]) -> None:
    cwd, message = record.get("cwd"), record.get("message")
    if found.cwd is None and isinstance(cwd, str) and cwd:
        found.cwd = cwd
    if record.get("type") == "assistant" and isinstance(message, dict) and message.get("model") != "<synthetic>":
        found.said = True
    if record.get("type") != "user" or record.get("isMeta") or record.get("isCompactSummary"):
        return
    content = message.get("content") if isinstance(message, dict) else None
    for said in by_the_person("", record, content):
        found.said = True
        if found.text is None and isinstance(said, UserMessage) and isinstance(said.content, acp.TextContent):
            found.text = said.content.text


def clean_title(text: str) -> str:
    """One line of at most 256 characters (reference 9.8)."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def iso(seconds: float) -> str:
    """A time as ACP writes it."""
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    """This moment, as ACP writes it."""
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _first(data: bytes, key: str) -> str | None:
    for start in _starts(data, key):
        value = _string(data, start)
        if value:
            return value
    return None


def _last(data: bytes, key: str) -> str | None:
    mark, end = f'"{key}":"'.encode(), len(data)
    while (place := data.rfind(mark, 0, end)) >= 0:
        value = _string(data, place + len(mark) - 1)
        if value and data[place - 1 : place] in (b",", b"{"):
            return value
        end = place
    return None


def _starts(data: bytes, key: str) -> list[int]:
    mark, found, place = f'"{key}":"'.encode(), [], -1
    while (place := data.find(mark, place + 1)) >= 0:
        found.append(place + len(mark) - 1)
    return found


def _string(data: bytes, start: int) -> str | None:
    """The JSON string that begins at this byte; None when it is cut."""
    end = start + 1
    while (end := data.find(b'"', end)) >= 0:
        before = end
        while data[before - 1 : before] == b"\\":
            before -= 1
        if (end - before) % 2 == 0:
            try:
                value = json.loads(data[start : end + 1])
            except ValueError:
                return None
            return value if isinstance(value, str) else None
        end += 1
    return None


def _first_prompt(head: bytes) -> str | None:
    """The first thing that the person said: no command, no reminder."""
    for line in head.split(b"\n"):
        if b'"type":"user"' not in line or b'"isMeta":true' in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        text = _text(record).strip() if isinstance(record, dict) and record.get("type") == "user" else ""
        if text and not text.startswith("<") and not record.get("isCompactSummary"):
            return text
    return None


def _text(record: dict[str, Any]) -> str:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return " ".join(text for text in texts if isinstance(text, str) and not text.lstrip().startswith("<"))
