"""What is legal at this point of the conversation: the stage next to the client.

Toward the agent it refuses what no other stage should have to think about (not initialised, unknown session, a prompt
that no Claude could be given). Toward the client it watches that what the other stages say is legal ACP: one answer a
request, calls announced before they change, nothing of a session that is not open. In tests it is strict and raises;
in use it logs, and drops only what would break a client.

The shape of single messages is the types' business (`middleware.acp`), not this stage's.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from loguru import logger

from middleware import acp
from middleware.errors import Failure, IllegalMessage
from middleware.messages import (
    Cancel,
    Initialized,
    Message,
    PermissionRequest,
    Prompt,
    Request,
    RequestFailed,
    RequestId,
    Response,
    SessionClosed,
    SessionOpened,
    Text,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
    Usage,
)
from middleware.stage import Context, Outcome, Stage, on

_UNSUPPORTED: Mapping[type, str] = {acp.AudioContent: "audio"}
"""Prompt blocks that ACP has and Claude Code cannot be given."""

REMEMBERED = 2048
"""Tool calls that are remembered in a session, so that late updates are told from wrong ones."""


@attrs.define
class _Session:
    """The calls that the client holds: open ones, and whether one has ended."""

    calls: dict[str, bool] = attrs.field(factory=dict)


@attrs.define(eq=False)
class Validation(Stage):
    """Legal ACP in both directions.

    Args:
        strict: raise `IllegalMessage` for what the other stages did wrong, instead of logging it.
    """

    strict: bool = False
    _initialized: bool = attrs.field(default=False, init=False)
    _requests: set[RequestId] = attrs.field(factory=set, init=False)
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    # ------------------------------------------------------------------------------------------ toward the agent

    @on(Initialized)
    def _initialize(self, message: Initialized, context: Context) -> Outcome:
        self._initialized = True
        return message

    @on(Request, Prompt)
    def _request(self, message: Request | Prompt, context: Context) -> Outcome:
        failure = self._refusal(message)
        if failure is not None:
            return RequestFailed(request=message.request, failure=failure)
        self._requests.add(message.request)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        if message.session not in self._sessions:
            logger.debug("a cancel for {}, which is no open session", message.session)
            return None
        return message

    def _refusal(self, message: Request | Prompt) -> Failure | None:
        if not self._initialized:
            return Failure.invalid_request("", "first ACP request must be initialize")
        if isinstance(message, Prompt):
            if message.session not in self._sessions:
                return Failure.session_not_found(message.session)
            for index, block in enumerate(message.content):
                kind = _UNSUPPORTED.get(type(block))
                if kind is not None:
                    return Failure.invalid_params(
                        f"Content blocks of type {kind} are not supported (prompt[{index}])", {"type": kind}
                    )
        return None

    # ------------------------------------------------------------------------------------------ toward the client

    @on(Response, RequestFailed, TurnEnded)
    def _answer(self, message: Response | RequestFailed | TurnEnded, context: Context) -> Outcome:
        if message.request not in self._requests:
            return self._illegal(message, f"request {message.request} has its answer, or was never made")
        self._requests.discard(message.request)
        return message

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._sessions.setdefault(message.session, _Session())
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    @on(Text, Usage, Update)
    def _update(self, message: Text | Usage | Update, context: Context) -> Outcome:
        if message.session not in self._sessions:
            return self._illegal(message, f"session {message.session} is not open")
        return message

    @on(ToolCall)
    def _tool_call(self, message: ToolCall, context: Context) -> Outcome:
        session = self._sessions.get(message.session)
        if session is None:
            return self._illegal(message, f"session {message.session} is not open")
        call = message.call.tool_call_id
        if call in session.calls:
            return self._illegal(message, f"tool call {call} was announced before")
        session.calls[call] = message.call.status in ("completed", "failed")
        if len(session.calls) > REMEMBERED:
            ended = next((known for known, over in session.calls.items() if over), call)
            del session.calls[ended]
        return message

    @on(ToolCallUpdate)
    def _tool_call_update(self, message: ToolCallUpdate, context: Context) -> Outcome:
        session = self._sessions.get(message.session)
        if session is None:
            return self._illegal(message, f"session {message.session} is not open")
        call, status = message.change.tool_call_id, message.change.status
        if call not in session.calls:
            return self._illegal(message, f"tool call {call} was never announced")
        if session.calls[call] and status is not None:
            return self._illegal(message, f"tool call {call} has ended")
        session.calls[call] = session.calls[call] or status in ("completed", "failed")
        return message

    @on(PermissionRequest)
    def _permission(self, message: PermissionRequest, context: Context) -> Outcome:
        session = self._sessions.get(message.session)
        if session is not None and message.tool_use is not None and message.tool_use not in session.calls:
            self._illegal(message, f"tool call {message.tool_use} was not announced before its permission is asked")
        return message

    def _illegal(self, message: Message, what: str) -> Outcome:
        """Drop a message that no client may be sent."""
        if self.strict:
            raise IllegalMessage(f"{type(message).__name__}: {what}")
        logger.error("not sent, since it is no legal ACP: {}: {}", type(message).__name__, what)
        return None
