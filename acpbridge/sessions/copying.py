"""A copy of a transcript under a new id, for a fork (reference 9.4). Blocking: for worker threads.

The SDK has `fork_session`, which this follows record for record. It is not used, since it

- takes a line for two where a text has a U+2028, U+2029 or U+0085 in it, as texts from the web do: that record is lost,
  and with it the whole conversation before it;
- leaves in a compaction the old names of the messages that it kept, so that the copy has them no more;
- never ends where progress records are each other's parents, and fails on a record that is nested too deeply;
- holds the transcript several times over.

Here it is read twice, as in `transcripts`: for the names of its records, then to write them. Broken lines are left out,
like everything that is no part of the conversation; subagents' transcripts are not copied.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from acpbridge.claude.members import text_in

from .heads import now
from .places import open_transcript
from .transcripts import CHAINED, Record, records

_NOT_COPIED = ("agentName", "slug", "sourceToolAssistantUUID", "teamName")
"""Members that belong to the first session (the SDK's list)."""


@attrs.define
class _Names:
    """Of each record its new name, and of each progress record, which is not copied, its parent."""

    new: dict[str, str] = attrs.field(factory=dict)
    passed: dict[str, str | None] = attrs.field(factory=dict)
    last: str | None = None  # of those that are copied

    def parent_of(self, record: Record) -> str | None:
        """The new name of the nearest ancestor that is copied."""
        parent, seen = _name(record.get("parentUuid")), set()
        while parent in self.passed and parent not in seen:
            seen.add(parent)
            parent = self.passed[parent]
        return self.of(parent) if parent not in self.passed else None

    def of(self, name: Any) -> str | None:
        return self.new.get(_name(name) or "")


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def copy_transcript(transcript: Path, title: str) -> str:
    """Write a copy beside a transcript; the id of its session.

    Args:
        transcript: what is copied.
        title: what the copy is called.

    Raises:
        OSError: it cannot be read, or the copy not be written. There is no copy then.
    """
    session, names = str(uuid.uuid4()), _names(transcript)
    path = transcript.with_name(f"{session}.jsonl")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "w", encoding="utf-8", newline="\n") as copy:
            for record in _copied(transcript, session, names, title):
                copy.write(json.dumps(record, separators=(",", ":")) + "\n")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return session


def _names(transcript: Path) -> _Names:
    names = _Names()
    for record in _chained(transcript):
        names.new.setdefault(record["uuid"], str(uuid.uuid4()))
        if record["type"] == "progress":
            names.passed[record["uuid"]] = _name(record.get("parentUuid"))
        else:
            names.last = record["uuid"]
    return names


def _copied(transcript: Path, session: str, names: _Names, title: str) -> Iterator[Record]:
    """The records of the copy, in their order."""
    at, replacements = now(), []
    with open_transcript(transcript) as file:
        for record in records(file):
            if _is_chained(record) and record["type"] != "progress":
                yield _renamed(record, transcript.stem, session, names, at)
            elif record.get("type") == "content-replacement" and record.get("sessionId") == transcript.stem:
                more = record.get("replacements")
                replacements += more if isinstance(more, list) else []
    beside = {"sessionId": session, "timestamp": at}
    if replacements:
        yield {"type": "content-replacement", "replacements": replacements, "uuid": str(uuid.uuid4()), **beside}
    yield {"type": "custom-title", "customTitle": title, "uuid": str(uuid.uuid4()), **beside}


def _renamed(record: Record, source: str, session: str, names: _Names, at: str) -> Record:
    logical = record.get("logicalParentUuid")
    copy = {
        **{name: value for name, value in record.items() if name not in _NOT_COPIED},
        "uuid": names.new[record["uuid"]],
        "parentUuid": names.parent_of(record),
        "logicalParentUuid": names.of(logical) if logical else logical,
        "sessionId": session,
        # The newest leaf is where the conversation goes on.
        "timestamp": at if record["uuid"] == names.last else record.get("timestamp", at),
        "isSidechain": False,
        "forkedFrom": {"sessionId": source, "messageUuid": record["uuid"]},
    }
    if isinstance(record.get("compactMetadata"), Mapping):
        copy["compactMetadata"] = _with_new_names(record["compactMetadata"], names)
    return copy


def _with_new_names(value: Any, names: _Names) -> Any:
    """The same, with each name of a record in it replaced."""
    if isinstance(value, Mapping):
        return {key: _with_new_names(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_new_names(member, names) for member in value]
    return names.of(value) or value


def _chained(transcript: Path) -> Iterator[Record]:
    with open_transcript(transcript) as file:
        yield from (record for record in records(file) if _is_chained(record))


def _is_chained(record: Record) -> bool:
    return text_in(record, "type") in CHAINED and isinstance(record.get("uuid"), str) and not record.get("isSidechain")
