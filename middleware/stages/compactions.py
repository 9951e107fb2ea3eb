"""How a compaction is shown: as a `compaction_update` to a client that takes them, else as a tool call (10.12).

Owns the compaction that is open in each session, so that one that is interrupted is closed before its prompt is
answered.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware import acp
from middleware.messages import (
    AgentGone,
    Compaction,
    Initialized,
    Message,
    SessionClosed,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
)
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on

TITLE = "Compact conversation"

INTERRUPTED = "Compaction failed: the turn ended before it was done."


@attrs.define(eq=False)
class Compactions(Stage):
    """`Compaction` in; `compaction_update`, or `tool_call` and `tool_call_update`, out."""

    _profile: ClientProfile = attrs.field(factory=ClientProfile, init=False)
    _open: dict[str, str] = attrs.field(factory=dict, init=False)  # by session, the compaction's id

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        self._profile = message.profile
        return message

    @on(Compaction)
    def _compaction(self, message: Compaction, context: Context) -> Iterator[Message]:
        known = self._open.get(message.session)
        if message.state == "in_progress":
            if known is None and message.compaction is not None:
                self._open[message.session] = message.compaction
                yield from self._begun(message.session, message.compaction)
            return
        name = self._open.pop(message.session, None) or message.compaction
        if name is None:
            return  # the end of one that was closed with its turn
        if self._profile.has("session", "compaction"):
            summary = [acp.TextContent(text=message.summary)] if message.summary else None
            update = acp.CompactionUpdate(
                compaction_id=name, status=message.state, summary=summary, error=message.error
            )
            yield Update(session=message.session, update=update)
            return
        if known is None:
            yield from self._begun(message.session, name)
        yield from self._ended(message, name)

    @on(TurnEnded, AgentGone)
    def _over(self, message: TurnEnded | AgentGone, context: Context) -> Iterator[Message]:
        """What is still open has been interrupted."""
        name = self._open.pop(message.session, None)
        if name is not None and self._profile.has("session", "compaction"):
            update = acp.CompactionUpdate(compaction_id=name, status="cancelled")
            yield Update(session=message.session, update=update)
        elif name is not None:
            yield _change(message.session, name, "failed", INTERRUPTED)
        yield message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._open.pop(message.session, None)
        return message

    def _begun(self, session: str, name: str) -> Iterator[Message]:
        if self._profile.has("session", "compaction"):
            yield Update(session=session, update=acp.CompactionUpdate(compaction_id=name, status="in_progress"))
            return
        call = acp.ToolCall(
            tool_call_id=name,
            title=TITLE,
            kind="think",
            status="in_progress",
            meta={"claudeCode": {"toolName": "compact"}},
        )
        yield ToolCall(session=session, call=call)

    def _ended(self, message: Compaction, name: str) -> Iterator[Message]:
        text = f"Compaction failed: {message.error}" if message.state == "failed" else message.summary
        yield _change(message.session, name, message.state, text)


def _change(session: str, name: str, status: acp.ToolCallStatus, text: str | None) -> ToolCallUpdate:
    content = [acp.Content(content=acp.TextContent(text=text))] if text else None
    change = acp.ToolCallUpdate(tool_call_id=name, status=status, content=content)
    return ToolCallUpdate(session=session, change=change)
