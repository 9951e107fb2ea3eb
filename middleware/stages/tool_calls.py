"""The tool calls that the client has: announced first, refined while their input comes, closed once.

A call can surface in four ways, whichever comes first: its streamed start, its complete message, the permission that is
asked for it, or the hook that says that it is about to run. Owns, by session, the calls that are open and what of each
the client was told already (`open_calls`). How a tool looks is in `middleware.tools`; what may still be shown around a
cancel is `CancelDrop`'s question.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware import acp
from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    MemoryRecalled,
    Message,
    MessageStarted,
    PermissionAsk,
    PermissionRequest,
    Request,
    SessionClosed,
    SessionOpened,
    SessionRestarted,
    SubagentHistory,
    Task,
    ToolCall,
    ToolCallLost,
    ToolCallUpdate,
    ToolDenied,
    ToolGate,
    ToolInput,
    ToolProgress,
    ToolResponse,
    ToolResult,
    ToolUse,
    TurnEnded,
    WorkStopped,
)
from middleware.stage import Context, Outcome, on

from . import call_changes
from .call_changes import Changes
from .client_aware import ClientAware
from .open_calls import Call, Calls, remember
from .partial_json import PartialObject

NEVER_RAN = "Claude stopped this tool call before it ran."
STOPPED = "The turn was cancelled before this tool call returned a result."
NO_RESULT = "Claude ended the turn without returning a result for this tool."

REFINED = 16
"""Refinements of a call while its input streams; the rest of its members comes with the whole of it."""


@attrs.define(eq=False)
class ToolCalls(ClientAware):
    """Tool uses, results and asks in; `tool_call` and `tool_call_update` out (reference 4.2, 4.5 to 4.8)."""

    _sessions: dict[str, Calls] = attrs.field(factory=dict, init=False)

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._session(message.session).cwd = message.cwd
        return message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        if message.ends_session and message.session in self._sessions:
            self._sessions[message.session].closing = True
        return message

    # ------------------------------------------------------------------------------------------ surfaces

    @on(MessageStarted)
    def _started(self, message: MessageStarted, context: Context) -> Outcome:
        streaming = self._session(message.session).streaming
        for lane in [lane for lane in streaming if lane[0] == message.parent]:
            del streaming[lane]  # the blocks of a new message are counted from zero again
        return message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if message.tool_use in session.ended:
            return  # its start was late: the client was told how it ended
        call = session.calls.get(message.tool_use)
        if call is None:
            call = Call(message.tool_use, message.name, message.parent, message.input, dispatched=message.whole)
            yield from self._announce(message.session, call)
        else:
            call.streamed = True
            if message.whole:
                call.input, call.dispatched = message.input, True
                yield from self._send(message.session, self._refined(message.session, call))
        if not message.whole and message.block is not None:
            session.streaming[message.parent, message.block] = (call, PartialObject())

    @on(ToolInput)
    def _input(self, message: ToolInput, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call, partial = session.streaming.get((message.parent, message.block), (None, None))
        if call is None or partial is None or call.dispatched or call.refined >= REFINED:
            return
        known = partial.feed(message.json)
        if known is not None:
            call.input = known
            call.refined += 1
            yield from self._send(message.session, self._refined(message.session, call))

    @on(PermissionAsk)
    def _permission(self, message: PermissionAsk, context: Context) -> Iterator[Message]:
        """The call that a permission is asked for is announced before it (05.1, steps 10 and 11)."""
        asked = message.call if isinstance(message, PermissionRequest) else None
        tool_use = asked.tool_call_id if asked is not None else message.tool_use
        yield from self._surface(message.session, tool_use, message, asked)
        call = self._session(message.session).calls.get(tool_use or "")
        if call is not None and isinstance(message, PermissionRequest):
            message = _filled(message, call)
        yield message

    @on(ToolGate)
    def _gate(self, message: ToolGate, context: Context) -> Iterator[Message]:
        yield from self._surface(message.session, message.tool_use, message, None)
        yield message

    def _surface(
        self, name: str, tool_use: str | None, message: PermissionAsk | ToolGate, asked: acp.ToolCallUpdate | None
    ) -> Iterator[Message]:
        """A call is met by what is asked about it, with its complete input."""
        session = self._session(name)
        if tool_use is None or tool_use in session.ended:
            return
        call = session.calls.get(tool_use)
        if call is None:
            parent = next(iter(session.tasks.get(message.agent or "", ())), None)
            call = Call(tool_use, message.name, parent, message.input, dispatched=True, streamed=False)
            yield from self._announce(name, call, message, asked)
        elif not call.dispatched:
            call.input, call.dispatched = message.input, True
            yield from self._send(name, self._refined(name, call))

    # ------------------------------------------------------------------------------------------ progress and end

    @on(ToolProgress)
    def _progress(self, message: ToolProgress, context: Context) -> Iterator[Message]:
        calls = self._session(message.session).calls
        call = calls.get(message.tool_use) or calls.get(message.parent or "")
        if call is not None:
            yield from self._send(message.session, call_changes.progress(call, message))

    @on(ToolResponse)
    def _response(self, message: ToolResponse, context: Context) -> Iterator[Message]:
        """The tool's own object, before the result or after it. It never says how the call ended (reference 4.6)."""
        session = self._session(message.session)
        call = session.calls.get(message.tool_use)
        if call is None:
            over = session.ended.get(message.tool_use)
            if over is None or not over.late:
                return  # never announced, closed without a result, or told with it
            remember(session.ended, message.tool_use, attrs.evolve(over, late=False))
            call = Call(message.tool_use, over.name, over.parent)
        yield from self._send(message.session, call_changes.response(call, message, session.cwd))

    @on(ToolDenied)
    def _denied(self, message: ToolDenied, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call = session.calls.get(message.tool_use)
        if call is not None:
            session.end(call)
            yield from self._send(message.session, call_changes.denial(call, message))

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        call = session.calls.get(message.tool_use)
        if call is None:
            return  # it ended before, or its start was dropped: the client holds no such call
        in_background = call.terminal and call.tool_use in session.background and not message.is_error
        if in_background:
            session.terminals[call.tool_use] = call
        changes = call_changes.completion(call, message, session.cwd, self._profile, in_background=in_background)
        yield from self._send(message.session, changes)
        session.end(call, late=True)

    @on(MemoryRecalled)
    def _recalled(self, message: MemoryRecalled, context: Context) -> Outcome:
        return ToolCall(session=message.session, call=call_changes.recall(message))

    @on(Task)
    def _task(self, message: Task, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if message.tool_use is not None:
            session.learn(message.task, message.tool_use)
        calls = session.tasks.get(message.task, ())
        if message.state == "running" and message.background:
            session.background.update(calls)
        elif message.state == "ended":
            session.background.difference_update(calls)
            for call in [session.terminals.pop(began) for began in calls if began in session.terminals]:
                yield from self._send(message.session, call_changes.terminal_end(call))
        yield message

    @on(SubagentHistory)
    def _history(self, message: SubagentHistory, context: Context) -> Outcome:
        for past in message.subagents:
            if past.call is not None:
                self._session(message.session).learn(past.task, past.call)
        return message

    @on(WorkStopped)
    def _stopped(self, message: WorkStopped, context: Context) -> Iterator[Message]:
        """Close what a cancel left open, before the prompts are answered (C26, C28). Nothing can reopen it."""
        for call in self._session(message.session).foreground:
            yield from self._fail(message.session, call, STOPPED if call.dispatched else NEVER_RAN)
        yield message

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        """A turn that ended by itself leaves no call open; one that ran without a result is an error (02.6)."""
        if message.stop_reason == "cancelled" and message.failure is None:
            yield message  # `WorkStopped` closed what was to be closed; the rest belongs to work that goes on
            return
        stuck = []
        for call in self._session(message.session).foreground:
            if call.dispatched and call.streamed:
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

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        """With Claude Code its work in the background has ended too: its calls are over before a prompt is answered."""
        session = self._session(message.session)
        without = STOPPED if message.failure is None else NO_RESULT
        for call in list(session.calls.values()):
            yield from self._fail(message.session, call, without if call.dispatched else NEVER_RAN)
        for call in session.terminals.values():
            yield from self._send(message.session, call_changes.terminal_end(call))
        session.terminals.clear()
        session.background.clear()
        yield message

    @on(SessionRestarted, SessionClosed)
    def _over(self, message: SessionRestarted | SessionClosed, context: Context) -> Iterator[Message]:
        """Nothing of this Claude Code follows: what it left open has no result, in the background neither."""
        session = self._sessions.get(message.session)
        if session is not None:
            for call in list(session.calls.values()):
                yield from self._fail(message.session, call, STOPPED)
            for call in session.terminals.values():
                yield from self._send(message.session, call_changes.terminal_end(call))
            del self._sessions[message.session]
            if isinstance(message, SessionRestarted):
                self._sessions[message.session] = Calls(cwd=session.cwd, ended=session.ended)
        yield message

    @on(ToolCallLost)
    def _lost(self, message: ToolCallLost, context: Context) -> Outcome:
        """The client never got the announcement: whatever surfaces next announces the call again."""
        session = self._session(message.session)
        call = session.calls.pop(message.tool_use, None)
        if call is not None:
            session.forget_stream(call)
        return None

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> Calls:
        return self._sessions.setdefault(name, Calls())

    def _announce(
        self,
        name: str,
        call: Call,
        met: PermissionAsk | ToolGate | None = None,
        asked: acp.ToolCallUpdate | None = None,
    ) -> Iterator[Message]:
        session = self._session(name)
        session.calls[call.tool_use] = call
        yield ToolCall(session=name, call=call_changes.announcement(call, session.cwd, self._profile, met, asked))

    def _refined(self, name: str, call: Call) -> Changes:
        return call_changes.refinement(call, self._session(name).cwd, self._profile)

    def _send(self, name: str, changes: Changes) -> Iterator[Message]:
        yield from (ToolCallUpdate(session=name, change=change) for change in changes if change is not None)

    def _fail(self, name: str, call: Call, text: str) -> Iterator[Message]:
        """The call ends without a result."""
        self._session(name).end(call)
        yield from self._send(name, call_changes.failure(call, text))


def _filled(message: PermissionRequest, call: Call) -> PermissionRequest:
    """The request as the client will hold the call: its `toolCall` is an update of it.

    What it shows stays when the rest of the input comes. Where it shows nothing, it is given what the call shows.
    """
    if message.call.content:
        call.asked = list(message.call.content)
        return message
    return attrs.evolve(message, call=attrs.evolve(message.call, content=list(call.told.get("content") or ())))
