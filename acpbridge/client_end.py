"""The client end: lines of JSON-RPC on one side, the words of `middleware.messages` on the other.

The first stage of the program's pipeline, so that the state of the protocol (who waits for which answer) belongs to one
thread like all other state. How this version of ACP words a message on the wire is decided here and in `wire`, and
nowhere else. JSON-RPC itself is `jsonrpc`'s business, what is legal is the `Validation` stage's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from loguru import logger

from middleware import acp
from middleware.errors import Failure
from middleware.ids import new_uuid
from middleware.messages import (
    Ask,
    AskWithdrawn,
    AuthStatus,
    Cancel,
    CancelRequest,
    Closing,
    Elicitation,
    ElicitationCompleted,
    ElicitationReply,
    Initialized,
    Message,
    PermissionReply,
    PermissionRequest,
    Prompt,
    Question,
    Replayed,
    Request,
    RequestFailed,
    Response,
    Text,
    ToAgent,
    ToClient,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
    Update,
    Usage,
    UserMessage,
)
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on

from . import handshake, jsonrpc, wire


@attrs.frozen(kw_only=True)
class Line(ToAgent):
    """A line that the client wrote."""

    data: bytes


@attrs.frozen(kw_only=True)
class LineTooLong(ToAgent):
    """A line that the client wrote and that was skipped, since it is longer than `limit` bytes."""

    limit: int


@attrs.frozen(kw_only=True)
class Written(ToClient):
    """A line for the client."""

    data: bytes


@attrs.define(eq=False)
class ClientEnd(Stage):
    """The protocol's state for one connection.

    Args:
        answered: an `initialize` that has its answer already (`handshake.early_answer`).
        hide_claude_auth: see `login.methods`.
        new_uuid: where the uuids of prompts come from.
    """

    answered: bytes | None = None
    hide_claude_auth: bool = False
    new_uuid: Callable[[], str] = new_uuid
    _peer: jsonrpc.Peer = attrs.field(factory=jsonrpc.Peer, init=False)
    _calls: dict[int, Ask] = attrs.field(factory=dict, init=False)  # by the id of our request to the client

    # ------------------------------------------------------------------------------------------ from the client

    @on(Line)
    def _line(self, message: Line, context: Context) -> Outcome:
        early, self.answered = message.data == self.answered, None
        match self._peer.receive(message.data):
            case jsonrpc.Request() as request:
                outcome = self._request(request)
                return [item for item in outcome if not isinstance(item, Written)] if early else outcome
            case jsonrpc.Notification() as notification:
                return self._notification(notification)
            case jsonrpc.Reply(call=call, result=result):
                return self._reply(call, result)
            case jsonrpc.ErrorReply(call=call, error=error):
                return self._no_reply(call, error)
            case jsonrpc.Refused(answer=answer):
                return Written(data=answer)
        return None

    @on(LineTooLong)
    def _too_long(self, message: LineTooLong, context: Context) -> Outcome:
        error = Failure.invalid_request(f"a message may have at most {message.limit} bytes")
        return Written(data=jsonrpc.refusal(error))

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Outcome:
        """The client reads no more requests; whoever waits for its answers gets none."""
        self._peer.close()
        self._calls.clear()
        return message

    def _request(self, request: jsonrpc.Request) -> tuple[Message, ...]:
        try:
            return self._initialize(request) if request.method == "initialize" else (self._served(request),)
        except acp.InvalidAcp as error:
            problems = [{"path": problem.path, "problem": problem.what} for problem in error.problems]
            return (self._fail(request.id, Failure.invalid_params(str(error), problems)),)
        except Exception as error:
            # The runner answers for a stage that fails on a request, but a line is none yet.
            logger.opt(exception=error).error("a request for {} could not be taken", _short(request.method))
            return (self._fail(request.id, Failure.internal("the agent failed; its log says more")),)

    def _served(self, request: jsonrpc.Request) -> Message:
        name, given = wire.current(request.method, request.params)
        method = acp.METHODS.get((name, "request"))
        if method is None or method.side == "client":
            return self._fail(request.id, Failure.method_not_found(request.method))
        params = acp.structure(wire.lenient_params(name, given), method.params)
        if isinstance(params, acp.PromptRequest):
            return Prompt(
                session=params.session_id,
                request=request.id,
                prompt=self.new_uuid(),
                content=tuple(params.prompt),
                meta=params.meta,
            )
        session = getattr(params, "session_id", None)
        return Request(request=request.id, method=name, params=params, session=session)

    def _initialize(self, request: jsonrpc.Request) -> tuple[Message, ...]:
        """Answered here, so that it waits for nothing (the SDK above all)."""
        asked = acp.structure(wire.lenient_params("initialize", request.params), acp.InitializeRequest)
        if asked.protocol_version < 1:
            return (self._fail(request.id, wire.unsupported_version(asked.protocol_version)),)
        capabilities = request.params.get("clientCapabilities") if isinstance(request.params, dict) else None
        profile = ClientProfile(
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            name=asked.client_info.name if asked.client_info is not None else "",
        )
        result = handshake.result(request.params, hide_claude_auth=self.hide_claude_auth)
        answer = self._peer.respond(request.id, result)
        return (Written(data=answer), Initialized(profile=profile))

    def _notification(self, notification: jsonrpc.Notification) -> Outcome:
        method = acp.METHODS.get((notification.method, "notification"))
        if method is not None and method.side != "client":
            try:
                params = acp.structure(notification.params, method.params)
            except acp.InvalidAcp as error:
                logger.warning("the notification {} is ignored: {}", notification.method, error)
                return None
            if isinstance(params, acp.CancelNotification):
                return Cancel(session=params.session_id)
            if isinstance(params, acp.CancelRequestNotification) and params.request_id is not None:
                return CancelRequest(request=params.request_id)
        logger.debug("the notification {} is ignored", _short(notification.method))
        return None

    def _reply(self, call: int, result: Any) -> Outcome:
        ask = self._calls.pop(call, None)
        if ask is None:
            return None
        if isinstance(ask, Elicitation):
            return wire.elicitation_reply(ask, result)
        try:
            reply = acp.structure(result, acp.RequestPermissionResponse)
        except acp.InvalidAcp as error:
            failure = Failure.invalid_params(f"the answer to session/request_permission: {error}")
            return PermissionReply(session=ask.session, ask=ask.ask, failure=failure)
        chosen = reply.outcome if isinstance(reply.outcome, acp.SelectedPermissionOutcome) else None
        # Clients differ in where they say more; what stands at the answer itself wins.
        said = {**((chosen.meta if chosen is not None else None) or {}), **(reply.meta or {})}
        option = chosen.option_id if chosen is not None else None
        return PermissionReply(session=ask.session, ask=ask.ask, option=option, meta=said or None)

    def _no_reply(self, call: int, error: Failure) -> Outcome:
        ask = self._calls.pop(call, None)
        if ask is None:
            return None
        if isinstance(ask, Elicitation):
            return ElicitationReply(session=ask.session, ask=ask.ask, failure=error)
        return PermissionReply(session=ask.session, ask=ask.ask, failure=error)

    # ------------------------------------------------------------------------------------------ to the client

    @on(Response)
    def _response(self, message: Response, context: Context) -> Outcome:
        return self._respond(message.request, lambda: acp.unstructure(message.result))

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Outcome:
        return self._fail(message.request, message.failure)

    @on(TurnEnded)
    def _turn_ended(self, message: TurnEnded, context: Context) -> Outcome:
        if message.failure is not None:
            return self._fail(message.request, message.failure)
        return self._respond(message.request, lambda: acp.unstructure(wire.prompt_response(message)))

    @on(Replayed)
    def _replayed(self, message: Replayed, context: Context) -> Outcome:
        return self._update(message.message, context)

    @on(Text, Usage, ToolCall, ToolCallUpdate, Update, UserMessage)
    def _update(
        self, message: Text | Usage | ToolCall | ToolCallUpdate | Update | UserMessage, context: Context
    ) -> Outcome:
        return Written(data=self._peer.notify("session/update", wire.session_update(message)))

    @on(PermissionRequest)
    def _permission(self, message: PermissionRequest, context: Context) -> Outcome:
        if self._peer.closed:
            return PermissionReply(session=message.session, ask=message.ask)
        call, line = self._peer.call("session/request_permission", acp.unstructure(wire.permission_request(message)))
        self._calls[call] = message
        return Written(data=line)

    @on(Elicitation)
    def _elicitation(self, message: Elicitation, context: Context) -> Outcome:
        if self._peer.closed:
            return ElicitationReply(session=message.session, ask=message.ask)
        if isinstance(message, Question) and message.options:
            call, line = self._peer.call("session/request_permission", acp.unstructure(wire.choice(message)))
        else:
            call, line = self._peer.call("elicitation/create", wire.elicitation(message))
        self._calls[call] = message
        return Written(data=line)

    @on(ElicitationCompleted)
    def _elicitation_completed(self, message: ElicitationCompleted, context: Context) -> Outcome:
        return Written(data=self._peer.notify("elicitation/complete", {"elicitationId": message.elicitation}))

    @on(AuthStatus)
    def _auth_status(self, message: AuthStatus, context: Context) -> Outcome:
        return Written(data=self._peer.notify("_auth/status_update", wire.auth_status(message)))

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Outcome:
        for call, ask in self._calls.items():
            if (ask.session, ask.ask) == (message.session, message.ask):
                del self._calls[call]
                line = self._peer.cancel(call)
                return Written(data=line) if line is not None else None
        return None

    @on(Ask)
    def _unworded(self, message: Ask, context: Context) -> Outcome:
        """An ask that no stage has put into the client's words cannot be asked."""
        logger.error("session {}: {} cannot be asked of the client", message.session, type(message).__name__)
        return message.denied("The client cannot be asked.")

    @on(Written)
    def _written(self, message: Written, context: Context) -> Outcome:
        return message

    @on(ToClient)
    def _bookkeeping(self, message: ToClient, context: Context) -> Outcome:
        """What the stages told each other ends here."""
        return None

    def close(self, context: Context) -> Iterable[Message]:
        """Whoever is still owed an answer gets one: what was being worked on when the agent ended."""
        failure = Failure.internal("The agent is closing.")
        return [self._fail(request, failure) for request in tuple(self._peer.requests)]

    def _respond(self, request: int | str, result: Callable[[], Any]) -> Message:
        try:
            return Written(data=self._peer.respond(request, result()))
        except jsonrpc.ProtocolError:
            raise
        except Exception as error:
            # Whatever the result is made of, its request must not stay without an answer.
            logger.opt(exception=error).error("the result of request {} cannot be written", _short(request))
            return self._fail(request, Failure.internal("the agent failed; its log says more"))

    def _fail(self, request: int | str, failure: Failure) -> Message:
        try:
            return Written(data=self._peer.fail(request, failure))
        except (TypeError, ValueError) as error:
            logger.opt(exception=error).error("the data of the error of request {} cannot be written", _short(request))
            return Written(data=self._peer.fail(request, attrs.evolve(failure, data=None)))


def _short(text: int | str) -> str:
    """What a client chose, as it may stand in a log line."""
    return ascii(str(text)[:80])
