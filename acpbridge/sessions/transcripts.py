"""Reading a transcript: the records of its active branch, in order. Blocking: for worker threads.

A transcript is a file of JSON lines that Claude Code only ever appends to. Each record names its parent, so the file is
a tree: an edited prompt, a rewind and parallel tools make branches. What the conversation is now is the way from its
newest leaf to the root. The SDK's reader gives that way too, but drops what a replay needs (design/sdk.md A4:
timestamps, origins, compaction summaries, steered prompts), hence this one.

Two passes, so that a transcript of 50 MB is never held: the first keeps a few words of each record (`_Entry`), the
second reads the records of the branch one at a time. What a record means is `replay`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import attrs
from loguru import logger

from acpbridge.claude.members import text_in

from .places import open_transcript

Record = Mapping[str, Any]

CHAINED = frozenset({"assistant", "attachment", "progress", "system", "user"})
"""Types of records that are part of the tree."""

_UNCHAINED = b'{"type":"'
"""How records begin that are not: Claude Code writes `parentUuid` first where there is one."""

_CHAINED_TOO = tuple(_UNCHAINED + name.encode() + b'"' for name in CHAINED)


@attrs.define
class _Entry:
    """What of a record is needed to find the branch."""

    offset: int
    uuid: str
    parent: str | None
    kind: str
    leaf: bool  # may be what the conversation goes on from
    message: str | None = None  # the API's id, which the records of one answer share
    uses: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    timestamp: str = ""
    keeps: tuple[str, ...] = ()  # of a compaction: what stands behind its summary again
    anchor: str | None = None


def active_branch(path: Path, *, side: bool = False) -> Iterator[Record]:
    """The records of the conversation as it stands, oldest first; behind a compaction, what came after it.

    Args:
        path: the transcript.
        side: it is a subagent's, whose records are all marked as beside the main thread.

    Raises:
        OSError: the file cannot be read.
    """
    with open_transcript(path) as file:
        for entry in _branch(_entries(file, path, side)):
            file.seek(entry.offset)
            record = _parsed(file.readline())
            if record is not None:
                yield record


def records(file: BinaryIO) -> Iterator[Record]:
    """All records, of the tree or beside it, in the file's order; broken lines are skipped."""
    return _parsed_all(file)


def has_conversation(path: Path) -> bool:
    """Whether anything was said: Claude Code begins a transcript before it writes the first message into it.

    Raises:
        OSError: the file cannot be read.
    """
    with open_transcript(path) as file:
        for line in file:
            if line.startswith(_UNCHAINED) and not line.startswith(_CHAINED_TOO):
                continue
            record = _parsed(line)
            if record is not None and record.get("type") in ("user", "assistant"):
                return True
    return False


def tail_records(path: Path, piece: int = 1 << 16, most: int | None = None) -> Iterator[Record]:
    """The records from the last one backwards, read in pieces from the end; broken lines are skipped.

    Args:
        path: the transcript.
        piece: bytes that are read at a time.
        most: bytes that are read altogether, about; None for the whole file.

    Raises:
        OSError: the file cannot be read.
    """
    with open_transcript(path) as file:
        position = file.seek(0, 2)
        first = 0 if most is None else max(0, position - most)
        begun: list[bytes] = []  # of the line whose beginning is not read yet, the last part first
        while position > first:
            size = min(piece, position)
            position -= size
            file.seek(position)
            lines = file.read(size).split(b"\n")
            if len(lines) == 1:
                begun.append(lines[0])
                continue
            begun.append(lines.pop())
            yield from _parsed_all([b"".join(reversed(begun))])
            begun = [lines.pop(0)]
            yield from _parsed_all(reversed(lines))
        if position == 0:
            yield from _parsed_all([b"".join(reversed(begun))])


def _parsed_all(lines: Iterable[bytes]) -> Iterator[Record]:
    for line in lines:
        record = _parsed(line) if line.strip() else None
        if record is not None:
            yield record


def _parsed(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _entries(file: BinaryIO, path: Path, side: bool) -> dict[str, _Entry]:
    """All records of the tree by their uuid, in the file's order."""
    entries: dict[str, _Entry] = {}
    offset, broken = 0, 0
    for line in file:
        start, offset = offset, offset + len(line)
        if line.startswith(_UNCHAINED) and not line.startswith(_CHAINED_TOO):
            continue
        record = _parsed(line) if line.strip() else {}
        if record is None:
            broken += 1
            continue
        if text_in(record, "type") in CHAINED and isinstance(record.get("uuid"), str):
            entry = _entry(record, start, side)
            entries.pop(entry.uuid, None)  # a record that was written again counts where it stands last
            entries[entry.uuid] = entry
    if broken:
        logger.warning("session {}: {} broken lines of its transcript are skipped", path.stem, broken)
    return entries


def _entry(record: Record, offset: int, side: bool) -> _Entry:
    kind, parent = str(record["type"]), record.get("parentUuid")
    message = record.get("message")
    message = message if isinstance(message, dict) else {}
    blocks = message.get("content")
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    name, timestamp = message.get("id"), record.get("timestamp")
    beside = (record.get("isSidechain") and not side) or record.get("teamName") or record.get("isMeta")
    entry = _Entry(
        offset=offset,
        uuid=record["uuid"],
        parent=parent if isinstance(parent, str) and parent else None,
        kind=kind,
        leaf=kind in ("user", "assistant") and not beside,
        message=name if kind == "assistant" and isinstance(name, str) and name else None,
        uses=_ids(blocks, "tool_use", "id") if kind == "assistant" else (),
        results=_ids(blocks, "tool_result", "tool_use_id") if kind == "user" else (),
        timestamp=timestamp if isinstance(timestamp, str) else "",
    )
    if record.get("subtype") == "compact_boundary":
        entry.keeps, entry.anchor = _kept(record.get("compactMetadata"))
    return entry


def _ids(blocks: list[dict[str, Any]], kind: str, key: str) -> tuple[str, ...]:
    return tuple(block[key] for block in blocks if block.get("type") == kind and isinstance(block.get(key), str))


def _kept(metadata: Any) -> tuple[tuple[str, ...], str | None]:
    """The records that a compaction left standing, and the record behind which they stand from then on."""
    kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
    if not isinstance(kept, dict) or not isinstance(kept.get("uuids"), list):
        return (), None
    anchor = kept.get("anchorUuid")
    return tuple(uuid for uuid in kept["uuids"] if isinstance(uuid, str)), anchor if isinstance(anchor, str) else None


def _branch(entries: dict[str, _Entry]) -> list[_Entry]:
    """The way from the root to the newest leaf, with what parallel tools left beside it."""
    leaf = _newest_leaf(entries)
    chain: list[_Entry] = []
    on_chain: set[str] = set()
    while leaf is not None and leaf.uuid not in on_chain:  # a circle is a broken file: it ends where it closes
        on_chain.add(leaf.uuid)
        chain.append(leaf)
        leaf = entries.get(leaf.parent or "")
    chain.reverse()
    return _with_parallel(entries, _with_kept(entries, chain, on_chain), on_chain)


def _newest_leaf(entries: dict[str, _Entry]) -> _Entry | None:
    """Of the ends of the tree, without the reminders that hang behind them, the one that was written last."""
    parents = {entry.parent for entry in entries.values()}
    order = {uuid: place for place, uuid in enumerate(entries)}
    best: _Entry | None = None
    for end in entries.values():
        if end.uuid in parents:
            continue
        seen: set[str] = set()
        entry: _Entry | None = end
        while entry is not None and not entry.leaf and entry.uuid not in seen:
            seen.add(entry.uuid)
            entry = entries.get(entry.parent or "")
        if entry is not None and entry.leaf and (best is None or order[entry.uuid] > order[best.uuid]):
            best = entry
    return best


def _with_kept(entries: dict[str, _Entry], chain: list[_Entry], on_chain: set[str]) -> list[_Entry]:
    """Put back what a compaction kept: the model still has it, behind the summary."""
    behind: dict[str, list[_Entry]] = {}
    for entry in chain:
        if entry.keeps and entry.anchor in on_chain:
            kept = [entries[uuid] for uuid in entry.keeps if uuid in entries and uuid not in on_chain]
            on_chain.update(each.uuid for each in kept)
            behind[entry.anchor or ""] = kept
    return _inserted(chain, behind)


def _with_parallel(entries: dict[str, _Entry], chain: list[_Entry], on_chain: set[str]) -> list[_Entry]:
    """Put back calls and results of parallel tools.

    Each block of an answer is a record, chained one behind the other, and each result hangs at its own call: the
    conversation goes on from one of them, and the others are on no way to the leaf.
    """
    last_of = {entry.message: entry for entry in chain if entry.message is not None}
    answered = {call for entry in chain for call in entry.results}
    owner: dict[str, str] = {}
    missing: dict[str, list[_Entry]] = {}
    for entry in entries.values():
        if entry.message in last_of and entry.message is not None:
            owner.update(dict.fromkeys(entry.uses, entry.message))
            if entry.uuid not in on_chain:
                missing.setdefault(last_of[entry.message].uuid, []).append(entry)
    results: dict[str, list[_Entry]] = {}
    for entry in entries.values():
        if entry.uuid in on_chain or not entry.results:
            continue
        message = next((owner[call] for call in entry.results if call in owner and call not in answered), None)
        if message is not None:
            answered.update(entry.results)
            results.setdefault(last_of[message].uuid, []).append(entry)
    for place, found in results.items():
        missing.setdefault(place, []).extend(sorted(found, key=lambda entry: entry.timestamp))
    return _inserted(chain, missing)


def _inserted(chain: list[_Entry], behind: dict[str, list[_Entry]]) -> list[_Entry]:
    if not behind:
        return chain
    return [each for entry in chain for each in (entry, *behind.get(entry.uuid, ()))]
