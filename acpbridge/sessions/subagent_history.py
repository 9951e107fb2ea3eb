"""Who began which subagent of a session from before, so that one that is resumed has its place (reference 7.8).

The parent is whoever's transcript has the call, wherever in it: also before a compaction, where a replay does not look.
Blocking: for worker threads.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import attrs
from loguru import logger

from middleware.messages import PastSubagent, SubagentHistory

from .past_subagents import FORK, Subagent, subagents_of
from .past_traffic import Traffic

_SIDE = '"isSidechain":true'


def history(
    session: str, transcript: Path, *, told: Collection[str] = (), traffic: Traffic | None = None
) -> SubagentHistory:
    """All subagents of a session whose call is known, each with whose call it was, parents first.

    Args:
        session: the ACP session id.
        transcript: of the main thread.
        told: of whom a replay has told the client in this connection.
        traffic: what the replay found in the transcripts beside their work.
    """
    subagents = subagents_of(transcript)
    texts = {subagent.task: _own_text(subagent) for subagent in subagents}
    main = _main_text(transcript)
    found = []
    for subagent in subagents:
        call = f'"{subagent.call}"' if subagent.call is not None else None
        makers = [task for task, text in texts.items() if task != subagent.task and call and call in text]
        if call is None or (call not in main and not makers):
            logger.info("session {}: whose subagent {} is, is not known", session, subagent.task)
            continue
        past = PastSubagent(
            task=subagent.task,
            parent=None if call in main else makers[0],
            call=subagent.call,
            title=subagent.name or subagent.purpose,
            description=subagent.kind,
            cwd=subagent.cwd,
        )
        found.append(_as_told(past, traffic or Traffic()) if subagent.task in told else past)
    return SubagentHistory(session=session, subagents=tuple(_parents_first(found)))


def _as_told(past: PastSubagent, traffic: Traffic) -> PastSubagent:
    """With what the client was told of it."""
    end = traffic.ends.get(past.task)
    return attrs.evolve(
        past,
        told=True,
        status=end.status if end is not None else None,
        error=end.error or end.summary if end is not None and end.status == "failed" else None,
        model=traffic.models.get(past.task),
        homeless=past.cwd is not None and not os.path.isdir(past.cwd),
    )


def _parents_first(found: Iterable[PastSubagent]) -> Iterator[PastSubagent]:
    waiting, known = list(found), set[str | None]({None})
    while ready := [past for past in waiting if past.parent in known]:
        yield from ready
        known |= {past.task for past in ready}
        waiting = [past for past in waiting if past not in ready]
    yield from waiting  # a circle, or a parent whose own call is not known: no line of theirs ends at the root


def _own_text(subagent: Subagent) -> str:
    """All that a subagent's transcript says; of a fork's what comes behind its directive's beginning."""
    text = _content(subagent.path)
    return text.partition(FORK)[2] or text if subagent.kind == "fork" else text


def _main_text(transcript: Path) -> str:
    """What the main thread's says, without what older versions wrote of subagents into the same file."""
    text = _content(transcript)
    return "\n".join(line for line in text.splitlines() if _SIDE not in line) if _SIDE in text else text


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        logger.warning("the transcript {} cannot be read: {}", path.name, error)
        return ""
