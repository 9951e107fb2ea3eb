"""What passed between a session and its subagents in the past, and how each of them ended (reference 7.9).

Read out of all transcripts before anything of them is told again: a message stands in the transcript of who sent it
and in that of who was sent it, and a subagent's end in neither's own place. Blocking: for worker threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from loguru import logger

from acpbridge.claude.members import text_in
from middleware.messages import SubagentMessage, Task
from middleware.subagents.calls import LAUNCHES, SEND, recipient_of

from .past_subagents import Subagent
from .records import blocks_of, content_of, model_of, origin_of, text_of, uuid_of
from .transcripts import Record, active_branch

_FRAME = re.compile(
    r"\AThe coordinator sent a message while you were working:\n(.*)\n\nAddress this before completing your current "
    r"task\.\s*\Z",
    re.DOTALL,
)
"""How Claude Code wraps a message for the subagent that gets it."""

_TASK = re.compile(r"<task-id>(.*?)</task-id>")
_STATUS = re.compile(r"<status>(.*?)</status>")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_STOPPED = re.compile(r"\b(cancelled|canceled|interrupted|stopped|killed)\b", re.IGNORECASE)
_DENIALS = frozenset({"interrupted", "user-rejected"})
"""How the result of a launch is marked whose turn the person stopped; its text does not always say so."""


@attrs.frozen
class Traffic:
    """What the transcripts of a session say beside the work itself.

    `sent` are the messages that have arrived, by the call that sent them; `arrived` by the record with which each did.
    `ends` are the ends of the subagents and `models` the last ones that answered in them, by task; `missing` is how
    many were launched of whom nothing is left.
    """

    sent: Mapping[str, SubagentMessage] = attrs.field(factory=dict)
    arrived: Mapping[str, SubagentMessage] = attrs.field(factory=dict)
    ends: Mapping[str, Task] = attrs.field(factory=dict)
    models: Mapping[str, str] = attrs.field(factory=dict)
    missing: int = 0


@attrs.frozen
class _Sent:
    call: str
    sender: str
    to: Any
    text: str
    at: str


@attrs.frozen
class _Result:
    is_error: bool
    text: str
    denial: str | None
    structured: Mapping[str, Any]

    @property
    def stopped(self) -> bool:
        return self.denial in _DENIALS or _STOPPED.search(self.text) is not None


@attrs.define
class _Found:
    """What is found in the records, before any of it is put together."""

    launches: list[str] = attrs.field(factory=list)
    sends: list[_Sent] = attrs.field(factory=list)
    awaited: set[str] = attrs.field(factory=set)  # calls whose results matter: all others are large, and not kept
    results: dict[str, _Result] = attrs.field(factory=dict)
    arrivals: list[tuple[Subagent, str, str]] = attrs.field(factory=list)  # to whom, with which record, what
    ends: dict[str, tuple[str, str | None]] = attrs.field(factory=dict)  # a task -> status and summary, the last ones
    models: dict[str, str] = attrs.field(factory=dict)

    def take(self, records: Iterable[Record], owner: str, subagent: Subagent | None) -> None:
        """The records of the session `owner`."""
        for record in records:
            for block in blocks_of(record):
                if block.get("type") == "tool_use":
                    self._use(block, owner, record)
                elif block.get("type") == "tool_result" and str(block.get("tool_use_id")) in self.awaited:
                    self.results[str(block.get("tool_use_id"))] = _result(block, record)
            if subagent is not None and (model := model_of(record)) is not None:
                self.models[subagent.task] = model
            kind, text = _injected(record)
            if kind == "coordinator" and subagent is not None and (uuid := uuid_of(record)) is not None:
                self.arrivals.append((subagent, uuid, text))
            elif kind == "task-notification" and (task := _TASK.search(text)) and (status := _STATUS.search(text)):
                summary = _SUMMARY.search(text)
                self.ends[task[1]] = (status[1], summary[1] if summary is not None else None)

    def _use(self, block: Mapping[str, Any], owner: str, record: Record) -> None:
        call, given = block.get("id"), block.get("input")
        given = given if isinstance(given, dict) else {}
        if not isinstance(call, str):
            return
        if text_in(block, "name") in LAUNCHES:
            self.launches.append(call)
            self.awaited.add(call)
        elif block.get("name") == SEND:
            text = given.get("message") or given.get("content")
            if isinstance(text, str) and text.strip():
                to = given.get("to") or given.get("recipient")
                self.awaited.add(call)
                self.sends.append(_Sent(call, owner, to, text.strip(), str(record.get("timestamp") or "")))


def read(session: str, transcript: Path, subagents: Iterable[Subagent]) -> Traffic:
    """What the transcripts say. A subagent's that cannot be read is left out, with a log line.

    Raises:
        OSError: the main thread's transcript cannot be read.
    """
    subagents, found, unreadable = list(subagents), _Found(), set()
    found.take(active_branch(transcript), session, None)
    for subagent in subagents:
        try:
            found.take(subagent.records(), subagent.task, subagent)
        except OSError as error:
            logger.warning("session {}: the transcript of a subagent cannot be read: {}", session, error)
            unreadable.add(subagent.call)
    found.sends.sort(key=lambda sent: sent.at)
    known = {subagent.call for subagent in subagents} - unreadable
    lost = [call for call in found.launches if call not in known and _had_a_child(found.results.get(call))]
    pairs = list(_matched(session, found))
    return Traffic(
        sent={message.message: attrs.evolve(message, seen_by="sender") for _, message in pairs if message.sender},
        arrived=dict(pairs),
        ends={subagent.task: _end(session, subagent, found) for subagent in subagents},
        models=found.models,
        missing=len(lost),
    )


def _had_a_child(result: _Result | None) -> bool:
    """A launch that failed may have come to nothing; one that did not has begun somebody's work."""
    return result is not None and not result.is_error


def _matched(session: str, found: _Found) -> Iterator[tuple[str, SubagentMessage]]:
    """Each message that has arrived, with the record: the first that was sent to whom it reached, and says that."""
    open_sends = [sent for sent in found.sends if not _is_refused(found.results.get(sent.call))]
    for subagent, uuid, text in found.arrivals:
        result_of = found.results.get
        sent = next((s for s in open_sends if s.text in text and _reaches(s, result_of(s.call), subagent)), None)
        framed = _FRAME.match(text)
        message = SubagentMessage(
            session=session,
            message=sent.call if sent is not None else uuid,
            text=sent.text if sent is not None else (framed[1] if framed is not None else text).strip(),
            recipient=subagent.task,
            sender=sent.sender if sent is not None else None,
        )
        if sent is not None:
            open_sends.remove(sent)
        yield uuid, message


def _is_refused(result: _Result | None) -> bool:
    return result is not None and (result.is_error or result.structured.get("success") is False)


def _reaches(sent: _Sent, result: _Result | None, subagent: Subagent) -> bool:
    reached = recipient_of(result.structured) if result is not None else None
    if reached is not None:
        return reached == subagent.task
    return sent.to in (subagent.task, f"agent-{subagent.task}", subagent.name or subagent.purpose)


def _end(session: str, subagent: Subagent, found: _Found) -> Task:
    """How a subagent ended, as far as that is known."""
    status, summary, error = None, None, None
    result = found.results.get(subagent.call or "")
    if subagent.task in found.ends:
        status, summary = found.ends[subagent.task]
    elif subagent.stopped:
        status = "stopped"
    elif result is not None and result.is_error:
        status, error = ("cancelled", None) if result.stopped else ("failed", result.text or None)
    return Task(session=session, task=subagent.task, state="ended", status=status, summary=summary, error=error)


def _injected(record: Record) -> tuple[str | None, str]:
    """Who put a message into a transcript in the person's place, and what it says."""
    attachment = record.get("attachment")
    if record.get("type") == "attachment" and isinstance(attachment, dict):
        mode = attachment.get("commandMode")
        kind = origin_of(attachment) or (mode if isinstance(mode, str) else None)
        return kind, text_of(attachment.get("prompt"))
    return (origin_of(record), text_of(content_of(record))) if record.get("type") == "user" else (None, "")


def _result(block: Mapping[str, Any], record: Record) -> _Result:
    structured, denial = record.get("toolUseResult"), record.get("toolDenialKind")
    return _Result(
        is_error=block.get("is_error") is True,
        text=text_of(block.get("content")),
        denial=denial if isinstance(denial, str) else None,
        structured=structured if isinstance(structured, dict) else {},
    )
