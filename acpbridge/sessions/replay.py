"""A session's past, told again: the records of its transcript as the messages that a live turn gives (reference 9.7).

A record is turned into a frame as Claude Code streams it, read by the same table (`claude.events`), and goes through
the same stages in the same order (`flow.past`), in a pipeline of its own that runs here, on a worker's thread. What it
gives is final: the live pipeline passes it on wrapped (`Replayed`). So a replay looks like the turn did, and no live
stage takes it for something that happens.

What was never the person's is not shown as the person's (`said`). Work in the background is `past_tasks`' business.

What a client holds after a load is what it held before (tests/stdio/test_replay.py compares them), save for

- commands that Claude Code runs by itself, with their output, notices, figures of tokens, and the word that `/clear`
  has emptied the context: they are not in the conversation;
- what an ask showed of a file on the disk, where the call then failed: only the ask knew it;
- a plan that was told again with the next prompts, which is told once;
- the id of a compaction, which is of a frame that no transcript has. What came before one is not told, as Claude has
  only its summary and the messages that it kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from loguru import logger

from acpbridge.claude.events import messages_of
from acpbridge.claude.members import count_in, object_in
from acpbridge.claude.summaries import summary_in
from middleware import Pipeline, StepRunner, acp
from middleware.messages import (
    Compaction,
    Initialized,
    Message,
    ModelNames,
    Replayed,
    SessionOpened,
    Task,
    Text,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    ToolUse,
    Update,
    UserMessage,
    WorkStopped,
)
from middleware.profile import ClientProfile

from . import past_subagents, past_traffic, said
from .past_subagents import Subagent
from .past_tasks import PastTasks
from .past_traffic import Traffic
from .records import blocks_of, content_of, has_results, text_of, uuid_of
from .transcripts import Record, active_branch

_LOGIN = re.compile(r"\brun /login\b", re.IGNORECASE)
_LIMIT = re.compile(r"\b(?:limit|usage)\b", re.IGNORECASE)
"""In a banner that names /login as one way on of several (reference 13, 24)."""

_NOTHING_ASKED = "No response requested."

_OF_THE_SESSION = UserMessage | Compaction
"""What only the main thread's records can say."""

Shown = UserMessage | Text | ToolCall | ToolCallUpdate | Update


@attrs.define(eq=False)
class Replay:
    """The past of one session, a piece at a time. Not for two threads at once.

    Args:
        session: the ACP session id.
        cwd: its working directory.
        transcript: the file to read.
        pipeline: the stages for what is past, see `flow.past`.
        profile: what the client can be shown.
        running: the session works on something, so that its last calls may have no end yet.
        names: what the session calls the models that may answer in it.
        live: its Claude Code has run since before, so that commands in the background may go on.

    When all pieces were taken, `told` are the subagents of which the client was told, by task, and `traffic` is what
    passed between them (for a client with child sessions only).
    """

    session: str
    cwd: str
    transcript: Path
    pipeline: Pipeline
    profile: ClientProfile
    running: bool = False
    live: bool = False
    names: Mapping[str, acp.SessionConfigSelectOption] = attrs.field(factory=dict)
    traffic: Traffic = attrs.field(factory=Traffic, init=False)
    told: list[str] = attrs.field(factory=list, init=False)
    _compaction: Mapping[str, Any] = attrs.field(factory=dict, init=False)  # the figures of the last one
    _runner: StepRunner = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._runner = StepRunner(self.pipeline, raise_failures=False)
        self._runner.feed(
            Initialized(profile=self.profile),
            SessionOpened(session=self.session, cwd=self.cwd),
            ModelNames(session=self.session, entries=self.names),
        )
        self._told()

    def pieces(self, size: int = 64) -> Iterator[list[Replayed]]:
        """What the client is told, about `size` messages a piece. Blocking.

        Raises:
            OSError: the transcript cannot be read.
        """
        piece: list[Replayed] = []
        for messages in self._past():
            self._runner.feed(*messages)
            piece += (Replayed(session=self.session, message=message) for message in self._told())
            if len(piece) >= size:
                yield piece
                piece = []
        if piece:
            yield piece

    def _told(self) -> list[Shown]:
        self._runner.run()
        told = [message for message in self._runner.client if isinstance(message, Shown) and not _is_empty(message)]
        for kept in (self._runner.client, self._runner.agent, self._runner.fed, self._runner.sent):
            kept.clear()
        return told

    def _past(self) -> Iterator[list[Message]]:
        subagents = past_subagents.subagents_of(self.transcript)
        children = {subagent.call: subagent for subagent in subagents if subagent.call is not None}
        tasks = PastTasks(self.session)
        if self.profile.subagents:
            self.traffic = past_traffic.read(self.session, self.transcript, subagents)
            tasks.elsewhere = {subagent.task for subagent in subagents}
        for record in active_branch(self.transcript):
            messages = tasks.with_tasks(record, self._messages(record))
            begins = any(isinstance(message, UserMessage) for message in messages)
            yield [WorkStopped(session=self.session), *messages] if begins else messages
            yield from self._begun(children, messages)
        if not self.live:
            yield tasks.unfinished()
        if not self.running:
            yield [WorkStopped(session=self.session)]
        for task in reversed(self.told):
            yield [self.traffic.ends.get(task) or Task(session=self.session, task=task, state="ended")]
        if not self.running:
            yield [WorkStopped(session=self.session)]  # what was left open by those in the background

    def _begun(self, children: dict[str, Subagent], messages: list[Message]) -> Iterator[list[Message]]:
        """What the subagents did that these messages began, behind the calls."""
        for use in messages:
            # Each once, whatever the files say: one may name itself.
            subagent = children.pop(use.tool_use, None) if isinstance(use, ToolUse) else None
            if subagent is not None:
                yield from self._subagent(children, subagent)

    def _subagent(self, children: dict[str, Subagent], subagent: Subagent) -> Iterator[list[Message]]:
        self.told.append(subagent.task)
        yield list(past_subagents.begins(self.session, subagent))
        try:
            for record in subagent.records():
                # What it was told first is in the call, nothing that stands in the person's place was the person's, and
                # a compaction of its context is none of the session's.
                messages = [m for m in self._messages(record, subagent.call) if not isinstance(m, _OF_THE_SESSION)]
                yield messages
                yield from self._begun(children, messages)
        except OSError as error:
            logger.warning("session {}: the transcript of a subagent cannot be read: {}", self.session, error)

    def _messages(self, record: Record, parent: str | None = None) -> list[Message]:
        """What a record means, with each message to a subagent that has arrived in place of the call that sent it."""
        arrived = self.traffic.arrived.get(uuid_of(record) or "")
        if arrived is not None:
            return [arrived]
        if record.get("subtype") == "compact_boundary":
            self._compaction = object_in(record, "compactMetadata")  # its summary is the next record's
        messages: list[Message] = []
        for message in messages_of_record(self.session, record, parent=parent):
            if isinstance(message, Compaction):
                message = _with_figures(message, self._compaction)
            sent = self.traffic.sent.get(message.tool_use) if isinstance(message, ToolUse | ToolResult) else None
            if sent is None:
                messages.append(message)
            elif isinstance(message, ToolUse):
                messages.append(sent)
        return messages


def _with_figures(compaction: Compaction, figures: Mapping[str, Any]) -> Compaction:
    """A compaction with what its boundary says of it, as the stream's does (`News`)."""
    if not figures:
        return compaction
    return attrs.evolve(
        compaction,
        trigger="automatic" if figures.get("trigger") == "auto" else "manual",
        tokens_before=count_in(figures, "preTokens"),
        tokens=count_in(figures, "postTokens"),
        milliseconds=count_in(figures, "durationMs"),
    )


def messages_of_record(session: str, record: Record, parent: str | None = None) -> list[Message]:
    """What a record of a transcript means; nothing for one that is not shown.

    Args:
        session: the ACP session id.
        record: as Claude Code wrote it.
        parent: the call that began the subagent whose record it is.
    """
    if record.get("isMeta") or record.get("teamName"):
        return []
    match record.get("type"):
        case "assistant" if not _is_hidden_answer(record):
            return list(messages_of(session, {**_frame(record), "parent_tool_use_id": parent}))
        case "user" if record.get("isCompactSummary"):
            summary = summary_in(content_of(record))
            return [Compaction(session=session, state="completed", compaction=uuid_of(record), summary=summary)]
        case "user":
            frame = {**_frame(record), "parent_tool_use_id": parent}
            results = messages_of(session, frame) if has_results(record) else ()
            return [*results, *said.by_the_person(session, record, content_of(record))]
        case "attachment":
            return list(said.while_a_turn_ran(session, record))
    return []


def _frame(record: Record) -> dict[str, Any]:
    """The record under the names that the stream has for its members."""
    frame = {"type": record.get("type"), "message": record.get("message"), "uuid": record.get("uuid")}
    if "toolUseResult" in record:
        frame["tool_use_result"] = record["toolUseResult"]
    if isinstance(record.get("toolResultMeta"), list):
        frame["tool_result_meta"] = record["toolResultMeta"]
    elif isinstance(record.get("toolDenialKind"), str):
        calls = [block.get("tool_use_id") for block in blocks_of(record)]
        frame["tool_result_meta"] = [{"id": call, "non_execution_kind": record["toolDenialKind"]} for call in calls]
    return frame


def _is_empty(message: Shown) -> bool:
    return isinstance(message, Text) and not message.text


def _is_hidden_answer(record: Record) -> bool:
    """Claude Code's own words in place of an answer, that belong to no answer."""
    message = record.get("message")
    if not isinstance(message, dict) or message.get("model") != "<synthetic>":
        return False
    content = content_of(record)
    text, alone = text_of(content).strip(), not isinstance(content, list) or len(content) == 1
    return text == _NOTHING_ASKED or (alone and _LOGIN.search(text) is not None and _LIMIT.search(text) is None)
