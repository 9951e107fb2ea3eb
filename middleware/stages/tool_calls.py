"""The tool calls that the client has: announced first, refined while their input comes, closed once.

A call can surface in three ways, whichever comes first: its streamed start, its complete message, or the permission
that is asked for it. Owns, by session, the calls that are open and what of each the client was told already. How a tool
looks is in `middleware.tools`; what may still be shown around a cancel is `CancelDrop`'s question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from middleware import acp
from middleware.errors import Failure
from middleware.messages import (
    Message,
    MessageStarted,
    PermissionRequest,
    SessionClosed,
    SessionOpened,
    Task,
    ToolCall,
    ToolCallUpdate,
    ToolInput,
    ToolProgress,
    ToolResult,
    ToolUse,
    TurnEnded,
    WorkStopped,
)
from middleware.stage import Context, Outcome, Stage, on
from middleware.tools import describe_result, describe_use

from .partial_json import PartialObject

NEVER_RAN = "Claude stopped this tool call before it ran."
STOPPED = "The turn was cancelled before this tool call returned a result."
NO_RESULT = "Claude ended the turn without returning a result for this tool."

_FIELDS = ("status", "title", "kind", "content", "locations", "raw_input", "raw_output")

Lane = str | None


@attrs.define
class _Call:
    """A call that the client has and that has not ended. `told` is the last value of each field that it was sent."""

    tool_use: str
    name: str
    parent: Lane
    input: Mapping[str, Any] = attrs.field(factory=dict)
    dispatched: bool = False  # its complete input is known: it may have run
    told: dict[str, Any] = attrs.field(factory=dict)


@attrs.define
class _Session:
    cwd: str = ""
    calls: dict[str, _Call] = attrs.field(factory=dict)
    streaming: dict[tuple[Lane, int], tuple[_Call, PartialObject]] = attrs.field(factory=dict)
    background: set[str] = attrs.field(factory=set)  # calls whose work goes on beside the turn


@attrs.define(eq=False)
class ToolCalls(Stage):
    """Tool uses, results and asks in; `tool_call` and `tool_call_update` out (reference 4.2, 4.7, 4.8)."""

    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    # ------------------------------------------------------------------------------------------ surfaces

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._session(message.session).cwd = message.cwd
        return message

    @on(MessageStarted)
    def _started(self, message: MessageStarted, context: Context) -> Outcome:
        streaming = self._session(message.session).streaming
        for lane in [lane for lane in streaming if lane[0] == message.parent]:
            del streaming[lane]  # the blocks of a new message are counted from zero again
        return message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call = session.calls.get(message.tool_use)
        if call is None:
            call = _Call(message.tool_use, message.name, message.parent, message.input)
            call.dispatched = message.whole
            yield from self._announce(message.session, call)
        elif message.whole:
            call.input, call.dispatched = message.input, True
            yield from self._refine(message.session, call)
        if not message.whole and message.block is not None:
            session.streaming[message.parent, message.block] = (call, PartialObject())

    @on(ToolInput)
    def _input(self, message: ToolInput, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call, partial = session.streaming.get((message.parent, message.block), (None, None))
        if call is None or partial is None or call.dispatched:
            return
        known = partial.feed(message.json)
        if known is not None:
            call.input = known
            yield from self._refine(message.session, call, content=False)

    @on(PermissionRequest)
    def _permission(self, message: PermissionRequest, context: Context) -> Iterator[Message]:
        """The call that a permission is asked for is announced before it, and shown in it as it is shown elsewhere."""
        session = self._session(message.session)
        if message.tool_use is None:
            yield message
            return
        call = session.calls.get(message.tool_use)
        if call is None:
            call = _Call(message.tool_use, message.name, None, message.input, dispatched=True)
            yield from self._announce(message.session, call)
        elif not call.dispatched:
            call.input, call.dispatched = message.input, True
            yield from self._refine(message.session, call)
        view = describe_use(message.name, message.input, cwd=session.cwd)
        yield attrs.evolve(
            message,
            call=attrs.evolve(
                message.call,
                name=message.name,
                status="pending",
                title=message.call.title or view.title,
                kind=view.kind,
                content=message.call.content or list(view.content),
                locations=[*(view.locations or ()), *(message.call.locations or ())] or None,
                raw_input=dict(message.input),
            ),
        )

    # ------------------------------------------------------------------------------------------ progress and end

    @on(ToolProgress)
    def _progress(self, message: ToolProgress, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call = session.calls.get(message.tool_use) or session.calls.get(message.parent or "")
        if call is not None:
            yield from self._update(message.session, call, status="in_progress")

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call = session.calls.pop(message.tool_use, None)
        if call is None:
            return  # it ended before, or its start was dropped: the client holds no such call
        view = describe_result(call.name, message)
        meta: dict[str, Any] = {"toolName": call.name}
        if message.non_execution is not None:
            meta["nonExecutionKind"] = message.non_execution
        if message.user_feedback is not None:
            meta["userFeedback"] = message.user_feedback
        yield from self._update(
            message.session,
            call,
            meta=meta,
            status=view.status,
            content=list(view.content) if view.content is not None else None,
            raw_output=view.raw_output,
        )

    @on(Task)
    def _task(self, message: Task, context: Context) -> Outcome:
        session = self._session(message.session)
        if message.tool_use is not None:
            if message.state == "running" and message.background:
                session.background.add(message.tool_use)
            elif message.state == "ended":
                session.background.discard(message.tool_use)
        return message

    @on(WorkStopped)
    def _stopped(self, message: WorkStopped, context: Context) -> Iterator[Message]:
        """Close what a cancel left open, before the prompts are answered (C26, C28). Nothing can reopen it."""
        session = self._session(message.session)
        for call in self._foreground(session):
            yield from self._fail(message.session, call, STOPPED if call.dispatched else NEVER_RAN)
        yield message

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        """A turn that ended by itself leaves no call open; one that ran without a result is an error (02.6)."""
        if message.stop_reason == "cancelled" and message.failure is None:
            yield message  # `WorkStopped` closed what was to be closed; the rest belongs to work that goes on
            return
        session = self._session(message.session)
        stuck = []
        for call in self._foreground(session):
            if call.dispatched:
                stuck.append(call.tool_use)
            yield from self._fail(message.session, call, NO_RESULT if call.dispatched else NEVER_RAN)
        if stuck and message.failure is None and message.stop_reason == "end_turn":
            message = attrs.evolve(
                message,
                failure=Failure.internal(
                    f"Claude ended the turn without returning results for tool calls: {', '.join(stuck)}",
                    {"errorKind": "incomplete_tool_call"},
                ),
            )
        yield message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        session = self._sessions.pop(message.session, None)
        for call in list(session.calls.values()) if session else ():
            yield ToolCallUpdate(session=message.session, change=_failed(call, STOPPED))
        yield message

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _foreground(self, session: _Session) -> list[_Call]:
        """The open calls of work that has ended: all but those of a running background subagent, and its launch."""
        return [
            call
            for call in session.calls.values()
            if call.tool_use not in session.background and call.parent not in session.background
        ]

    def _announce(self, name: str, call: _Call) -> Iterator[Message]:
        session = self._session(name)
        session.calls[call.tool_use] = call
        view = describe_use(call.name, call.input, cwd=session.cwd)
        announced = acp.ToolCall(
            tool_call_id=call.tool_use,
            name=call.name,
            status="pending",
            title=view.title,
            kind=view.kind,
            content=list(view.content),
            locations=list(view.locations or ()),
            raw_input=dict(call.input),
            meta=_meta(call, {"toolName": call.name}),
        )
        call.told = {field: getattr(announced, field) for field in _FIELDS}
        yield ToolCall(session=name, call=announced)

    def _refine(self, name: str, call: _Call, *, content: bool = True) -> Iterator[Message]:
        view = describe_use(call.name, call.input, cwd=self._session(name).cwd)
        yield from self._update(
            name,
            call,
            title=view.title,
            kind=view.kind,
            content=list(view.content) if content else None,
            locations=list(view.locations) if view.locations is not None else None,
            raw_input=dict(call.input),
        )

    def _update(self, name: str, call: _Call, meta: dict[str, Any] | None = None, **fields: Any) -> Iterator[Message]:
        """Send the fields that changed; nothing when none did (the reference's field tracker, 4.7)."""
        changed = {key: value for key, value in fields.items() if value is not None and call.told.get(key) != value}
        if not changed:
            return
        call.told.update(changed)
        change = acp.ToolCallUpdate(
            tool_call_id=call.tool_use, meta=_meta(call, meta or {"toolName": call.name}), **changed
        )
        yield ToolCallUpdate(session=name, change=change)

    def _fail(self, name: str, call: _Call, text: str) -> Iterator[Message]:
        del self._session(name).calls[call.tool_use]
        yield ToolCallUpdate(session=name, change=_failed(call, text))


def _failed(call: _Call, text: str) -> acp.ToolCallUpdate:
    return acp.ToolCallUpdate(
        tool_call_id=call.tool_use,
        status="failed",
        content=[acp.Content(content=acp.TextContent(text=text))],
        meta=_meta(call, {"toolName": call.name}),
    )


def _meta(call: _Call, claude_code: dict[str, Any]) -> dict[str, Any]:
    if call.parent is not None:
        claude_code = {**claude_code, "parentToolUseId": call.parent}
    return {"claudeCode": claude_code}
