"""The subagents of a session from before, out of the files that Claude Code keeps of each (reference 7.8, 7.9).

    <transcript without its suffix>/subagents/agent-<task id>.jsonl        what it did
    <transcript without its suffix>/subagents/agent-<task id>.meta.json    which call began it, what it is called

What is shown of them, and in which session, is decided in the stage `Subagents`. Blocking: for worker threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from middleware.messages import Message, PastSubagent, SubagentHistory, SubagentPlace, Task

from .places import subagent_transcripts


def task_of(path: Path) -> str:
    """The task id of a subagent, by its transcript."""
    return path.stem.removeprefix("agent-")


def begins(session: str, path: Path, call: str) -> Iterator[Message]:
    """The words in which Claude Code told that a subagent began its work."""
    about = _about(path)
    cwd = _cwd(about)
    if cwd is not None:
        yield SubagentPlace(session=session, agent=task_of(path), cwd=cwd)
    yield Task(
        session=session,
        task=task_of(path),
        state="running",
        tool_use=call,
        subagent=True,
        subagent_type=_text(about, "agentType"),
        description=_text(about, "description"),
    )


def ends(session: str, path: Path) -> Task:
    """That it works no more. How it ended is known of one that the person stopped; else its report says it."""
    status = "stopped" if _about(path).get("stoppedByUser") is True else None
    return Task(session=session, task=task_of(path), state="ended", status=status)


def history(session: str, transcript: Path, *, told: bool) -> SubagentHistory:
    """All subagents of a session whose call is known, each with whose call it was.

    Args:
        session: the ACP session id.
        transcript: of the main thread.
        told: the client was told of them in this connection, by a replay.
    """
    paths = subagent_transcripts(transcript)
    texts = {path: _content(path) for path in (transcript, *paths)}
    found = []
    for path in paths:
        about = _about(path)
        call = _text(about, "toolUseId")
        makers = [maker for maker, text in texts.items() if maker != path and call and f'"{call}"' in text]
        if not makers:
            logger.info("session {}: whose subagent {} is, is not known", session, task_of(path))
            continue
        found.append(
            PastSubagent(
                task=task_of(path),
                parent=None if makers[0] == transcript else task_of(makers[0]),
                call=call,
                title=_text(about, "name") or _text(about, "description"),
                description=_text(about, "agentType"),
                cwd=_cwd(about),
                told=told,
            )
        )
    return SubagentHistory(session=session, subagents=tuple(found))


def _about(path: Path) -> Mapping[str, Any]:
    """The small file beside a transcript; empty where there is none that can be read."""
    try:
        about = json.loads(path.with_suffix(".meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        logger.info("what {} is about is not known: {}", path.name, type(error).__name__)
        return {}
    return about if isinstance(about, dict) else {}


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        logger.warning("the transcript {} cannot be read: {}", path.name, error)
        return ""


def _text(about: Mapping[str, Any], key: str) -> str | None:
    value = about.get(key)
    return value if isinstance(value, str) and value else None


def _cwd(about: Mapping[str, Any]) -> str | None:
    """Where it works, when that is another place than its parent's."""
    return _text(about, "worktreePath") or _text(about, "inheritedWorktreePath") or _text(about, "cwd")
