"""How a compaction is shown: as a `compaction_update` to a client that takes them, else as a tool call (10.12).

Owns, by session, the compaction that is open, so that one that is interrupted is closed before its prompt is answered
and nothing of it is shown later; and the error of one that failed, which Claude Code says again in its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from middleware import acp
from middleware.messages import (
    AgentGone,
    Cancel,
    CancelRequest,
    Compaction,
    CompactionSummary,
    Message,
    Prompt,
    PromptEchoed,
    PromptState,
    RequestFailed,
    RequestId,
    SessionClosed,
    SessionRestarted,
    Text,
    Thought,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
)
from middleware.stage import Context, Outcome, on

from .client_aware import ClientAware

TITLE = "Compact conversation"

INTERRUPTED = "Compaction failed: the turn ended before it was done."


@attrs.define
class _Session:
    open: str | None = None  # the compaction's id
    lives: bool = False  # a sign of life of it was told
    streamed: str = ""  # what of its summary was told
    stopping: bool = False  # the person cancelled: that it fails now is no failure
    late: bool = False  # one was interrupted: what comes before the next prompt begins is of it
    error: str | None = None  # why one failed in this turn


@attrs.define(eq=False)
class Compactions(ClientAware):
    """`Compaction` in; `compaction_update`, or `tool_call` and `tool_call_update`, out."""

    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _prompts: dict[RequestId, str] = attrs.field(factory=dict, init=False)  # the sessions of those without an answer

    # ------------------------------------------------------------------------------------------ from the client

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._prompts[message.request] = message.session
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        self._stop(message.session)
        return message

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Outcome:
        self._stop(self._prompts.get(message.request))
        return message

    def _stop(self, name: str | None) -> None:
        session = self._sessions.get(name) if name is not None else None
        if session is not None and session.open is not None:
            session.stopping = True

    # ------------------------------------------------------------------------------------------ its course

    @on(PromptState, PromptEchoed)
    def _begins(self, message: PromptState | PromptEchoed, context: Context) -> Outcome:
        session = self._sessions.get(message.session)
        if session is not None and (isinstance(message, PromptEchoed) or message.state == "started"):
            session.late = session.stopping = False
        return message

    @on(Compaction)
    def _compaction(self, message: Compaction, context: Context) -> Iterator[Message]:
        session = self._sessions.setdefault(message.session, _Session())
        if session.late:
            return
        if message.state == "in_progress":
            if session.open is not None:
                yield from self._lives(message.session, session)
            elif message.compaction is not None:
                session.open, session.lives, session.streamed = message.compaction, False, ""
                yield self._begun(message.session, message.compaction)
        elif message.state == "failed" and session.stopping:
            yield from self._interrupt(message.session, session)
        else:
            session.error = message.error if message.state == "failed" else None
            known, session.open = session.open, None
            name = known or message.compaction
            if name is not None:
                yield self._ended(message, name, session.streamed if known else "", known=known is not None)

    @on(CompactionSummary)
    def _summary(self, message: CompactionSummary, context: Context) -> Iterator[Message]:
        """Its summary is written: the client reads along, or is told once that something happens."""
        session = self._sessions.get(message.session)
        if session is None or session.open is None or session.late:
            return
        yield from self._lives(message.session, session)
        if self._takes_updates:
            session.streamed += message.text
            content = acp.TextContent(text=message.text)
            update = acp.CompactionSummaryChunk(compaction_id=session.open, content=content)
            yield Update(session=message.session, update=update)

    def _lives(self, name: str, session: _Session) -> Iterator[Message]:
        if not session.lives and not self._takes_updates and session.open is not None:
            session.lives = True
            change = acp.ToolCallUpdate(tool_call_id=session.open, status="in_progress")
            yield ToolCallUpdate(session=name, change=change)

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        """What Claude Code says of a failure is known from the failure, and of an interruption from the cancel."""
        session = self._sessions.get(message.session)
        if session is None or message.parent is not None or isinstance(message, Thought):
            return message
        if session.late and message.synthetic:
            return None
        if session.error is not None and message.text.strip() == session.error.strip():
            session.error = None
            return None
        return message

    # ------------------------------------------------------------------------------------------ its interruption

    @on(TurnEnded)
    def _turn_ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        self._prompts.pop(message.request, None)
        yield from self._over(message.session)
        yield message

    @on(AgentGone, SessionRestarted)
    def _gone(self, message: AgentGone | SessionRestarted, context: Context) -> Iterator[Message]:
        yield from self._over(message.session)
        yield message

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Outcome:
        self._prompts.pop(message.request, None)
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        yield from self._over(message.session)
        self._sessions.pop(message.session, None)
        yield message

    def _over(self, name: str) -> Iterator[Message]:
        """What is still open has been interrupted."""
        session = self._sessions.get(name)
        if session is not None:
            session.error = None
            yield from self._interrupt(name, session)

    def _interrupt(self, name: str, session: _Session) -> Iterator[Message]:
        open_, session.open = session.open, None
        if open_ is None:
            return
        session.late = True
        if self._takes_updates:
            yield Update(session=name, update=acp.CompactionUpdate(compaction_id=open_, status="cancelled"))
        else:
            yield ToolCallUpdate(
                session=name, change=acp.ToolCallUpdate(tool_call_id=open_, status="failed", content=_text(INTERRUPTED))
            )

    # ------------------------------------------------------------------------------------------ its words

    @property
    def _takes_updates(self) -> bool:
        return self._profile.has("session", "compaction")

    def _begun(self, session: str, name: str) -> Message:
        if self._takes_updates:
            return Update(session=session, update=acp.CompactionUpdate(compaction_id=name, status="in_progress"))
        return _call(session, name, "in_progress", None, None)

    def _ended(self, message: Compaction, name: str, streamed: str, *, known: bool) -> Message:
        """Its end; of one whose beginning was never told, all of it."""
        assert message.state != "in_progress"
        if self._takes_updates:
            repeated = message.summary is None or message.summary.strip() == streamed.strip()
            summary = None if repeated else [acp.TextContent(text=str(message.summary))]
            update = acp.CompactionUpdate(
                compaction_id=name, status=message.state, summary=summary, error=message.error
            )
            return Update(session=message.session, update=update)
        content = _text(f"Compaction failed: {message.error}" if message.state == "failed" else message.summary)
        if not known:
            return _call(message.session, name, message.state, content, facts(message))
        change = acp.ToolCallUpdate(tool_call_id=name, status=message.state, content=content, raw_output=facts(message))
        return ToolCallUpdate(session=message.session, change=change)


def facts(message: Compaction) -> Mapping[str, Any] | None:
    """What is known of a compaction, in the reference's names."""
    known = {
        "trigger": message.trigger,
        "preTokens": message.tokens_before,
        "postTokens": message.tokens,
        "durationMs": message.milliseconds,
    }
    return {name: value for name, value in known.items() if value is not None} or None


def _call(
    session: str,
    name: str,
    status: acp.ToolCallStatus,
    content: list[acp.Content] | None,
    raw: Mapping[str, Any] | None,
) -> ToolCall:
    call = acp.ToolCall(
        tool_call_id=name,
        title=TITLE,
        kind="think",
        status=status,
        content=content or [],
        raw_output=raw,
        meta={"claudeCode": {"toolName": "compact"}},
    )
    return ToolCall(session=session, call=call)


def _text(text: str | None) -> list[acp.Content] | None:
    return [acp.Content(content=acp.TextContent(text=text))] if text else None
