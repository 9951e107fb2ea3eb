"""The subagents of a session from before, out of the files that Claude Code keeps of each (reference 7.8, 7.9).

    <transcript without its suffix>/subagents/agent-<task id>.jsonl        what it did
    <transcript without its suffix>/subagents/agent-<task id>.meta.json    which call began it, what it is called

What passed between them is in `past_traffic`, who began whom in `subagent_history`; what is shown of them, and in which
session, is decided in the stage `Subagents`. Blocking: for worker threads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from loguru import logger

from middleware.messages import Message, SubagentPlace, Task

from .places import subagent_transcripts
from .transcripts import Record, active_branch

FORK = "<fork-boilerplate>"
"""What stands in the message that gives a fork its directive. All before it is its parent's conversation."""


@attrs.frozen
class Subagent:
    """A subagent's transcript, and what the small file beside it says; nothing where there is none."""

    path: Path
    about: Mapping[str, Any]

    @property
    def task(self) -> str:
        """Its task id, which is its agent id and its session id too."""
        return self.path.stem.removeprefix("agent-")

    @property
    def call(self) -> str | None:
        """The call that began it."""
        return self._text("toolUseId")

    @property
    def name(self) -> str | None:
        return self._text("name")

    @property
    def purpose(self) -> str | None:
        return self._text("description")

    @property
    def kind(self) -> str | None:
        return self._text("agentType")

    @property
    def in_background(self) -> bool | None:
        shape = self._text("requestShape")
        return None if shape is None else shape == "background"

    @property
    def stopped(self) -> bool:
        """The person stopped it."""
        return self.about.get("stoppedByUser") is True

    @property
    def cwd(self) -> str | None:
        """Where it works, when that is another place than its parent's."""
        told = self._text("worktreePath") or self._text("inheritedWorktreePath") or self._text("cwd")
        return (_first_cwd(self.path) or told) if told is not None else None

    def records(self) -> Iterator[Record]:
        """What it did: its records, of a fork without its parent's.

        Raises:
            OSError: the transcript cannot be read.
        """
        records = active_branch(self.path, side=True)
        if self.kind == "fork" and any(_is_directive(record) for record in active_branch(self.path, side=True)):
            for record in records:
                if _is_directive(record):
                    break
        yield from records

    def _text(self, key: str) -> str | None:
        value = self.about.get(key)
        return value if isinstance(value, str) and value else None


def subagents_of(transcript: Path) -> list[Subagent]:
    """The subagents of a session, in no particular order."""
    return [Subagent(path, _about(path)) for path in subagent_transcripts(transcript)]


def begins(session: str, subagent: Subagent) -> Iterator[Message]:
    """The words in which Claude Code told that a subagent began its work."""
    cwd = subagent.cwd
    if cwd is not None:
        yield SubagentPlace(session=session, agent=subagent.task, cwd=cwd)
    yield Task(
        session=session,
        task=subagent.task,
        state="running",
        tool_use=subagent.call,
        subagent=True,
        background=subagent.in_background,
        subagent_type=subagent.kind,
        description=subagent.purpose,
    )


def _is_directive(record: Record) -> bool:
    return record.get("type") == "user" and FORK in json.dumps(record.get("message"))


def _first_cwd(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            record = json.loads(file.readline())
    except (OSError, ValueError):
        return None
    cwd = record.get("cwd") if isinstance(record, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None


def _about(path: Path) -> Mapping[str, Any]:
    try:
        about = json.loads(path.with_suffix(".meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logger.info("what {} is about is not known: {}", path.name, type(error).__name__)
        return {}
    return about if isinstance(about, dict) else {}
