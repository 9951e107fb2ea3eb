"""JSON-RPC 2.0 as a state machine: lines of bytes in, events out; calls and answers in, lines of bytes out.

Here belong the rules of JSON-RPC and of ACP's transport section (reference 1.1): what a line means, which broken input
is answered with which error, that every request is answered exactly once. No I/O, no threads, no locks: one thread owns
a `Peer`. What a method means, and who reads and writes the lines, is somebody else's business (`stdio.py`).

A peer is symmetrical: the agent's side and a client's side (`acpbridge.chat`) use the same class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs
from loguru import logger

from acpbridge.json_lines import decode, encode
from middleware.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Failure

RequestId: TypeAlias = int | str
Params: TypeAlias = dict[str, Any] | list[Any] | None

# A refused message is sent back as the error's data (reference 1.1), as long as that is no burden.
_ECHO_LIMIT: Final = 4096


class ProtocolError(Exception):
    """The program used a `Peer` wrongly (answered a request twice, called after the close). Nothing has changed."""


@attrs.frozen(kw_only=True)
class Request:
    """The far side asks; exactly one `respond` or `fail` with this id is owed."""

    id: RequestId
    method: str
    params: Params


@attrs.frozen(kw_only=True)
class Notification:
    """The far side tells; it is never answered."""

    method: str
    params: Params


@attrs.frozen(kw_only=True)
class Reply:
    """A call of ours succeeded. `result` is any JSON value; a missing one is None."""

    call: int
    result: Any


@attrs.frozen(kw_only=True)
class ErrorReply:
    """A call of ours failed, at the far side or because the connection closed."""

    call: int
    error: Failure


@attrs.frozen(kw_only=True)
class Refused:
    """Broken input: `answer` is the error response, to be written at once."""

    answer: bytes
    error: Failure


@attrs.frozen(kw_only=True)
class Closed:
    """What a close leaves behind: our calls, failed by it, and the far side's requests that still need an answer."""

    failed: tuple[ErrorReply, ...]
    unanswered: tuple[RequestId, ...]


# None: there is nothing to act on (a blank line, a late answer); the reason is in the debug log.
Received: TypeAlias = Request | Notification | Reply | ErrorReply | Refused | None


class Peer:
    """One end of a JSON-RPC connection.

    `receive` never raises, whatever the bytes. The other methods raise `ProtocolError` when they are misused, and
    TypeError or ValueError for a payload that JSON cannot hold (a set, a circular list), before anything has changed.
    """

    def __init__(self) -> None:
        self._next_call = 0
        self._calls: dict[int, str] = {}
        self._requests: dict[RequestId, str] = {}
        self._closed = False

    @property
    def calls(self) -> Mapping[int, str]:
        """Our calls without an answer: call id -> method."""
        return MappingProxyType(self._calls)

    @property
    def requests(self) -> Mapping[RequestId, str]:
        """The far side's requests that we still owe an answer: request id -> method."""
        return MappingProxyType(self._requests)

    @property
    def closed(self) -> bool:
        return self._closed

    def receive(self, line: bytes) -> Received:
        """Take one line, with or without its line ending."""
        if not line or line.isspace():
            return None
        if self._closed:
            logger.debug("JSON-RPC: a line after the close is ignored ({} bytes)", len(line))
            return None
        try:
            message = decode(line)
        except ValueError as problem:
            return _refuse(None, Failure.of(PARSE_ERROR, data={"details": str(problem)}))
        if isinstance(message, list):
            return _refuse(None, Failure.of(INVALID_REQUEST, "JSON-RPC batches are not supported"))
        echo = message if len(line) <= _ECHO_LIMIT else None
        if not isinstance(message, dict):
            return _refuse(None, Failure.of(INVALID_REQUEST, "not a JSON object", echo))
        if "method" not in message and self._is_answer(message):
            return self._take_answer(message)
        return self._take_request(message, echo)

    def call(self, method: str, params: Params = None) -> tuple[int, bytes]:
        """A request of ours: its id (counted from 0) and its line. Its outcome is a `Reply` or an `ErrorReply`."""
        if self._closed:
            raise ProtocolError(f"{method} cannot be called: the connection is closed")
        call = self._next_call
        line = encode(_request(method, params, call))
        self._next_call += 1
        self._calls[call] = method
        return call, line

    def cancel(self, call: int) -> bytes | None:
        """Give up a call: the line of `$/cancel_request`; whatever the far side still answers is dropped.

        None when the call has been answered already (the answer and the wish to cancel crossed).
        """
        if self._calls.pop(call, None) is None:
            return None
        return self.notify("$/cancel_request", {"requestId": call})

    def notify(self, method: str, params: Params = None) -> bytes:
        """The line of a notification of ours."""
        return encode(_request(method, params, None))

    def respond(self, request: RequestId, result: Any) -> bytes:
        """The line that answers a request of the far side; allowed after the close, until each has its answer."""
        self._check_owed(request)
        line = encode({"jsonrpc": "2.0", "id": request, "result": result})
        del self._requests[request]
        return line

    def fail(self, request: RequestId, error: Failure) -> bytes:
        """The line that answers a request of the far side with an error."""
        self._check_owed(request)
        line = refusal(error, request)
        del self._requests[request]
        return line

    def close(self) -> Closed:
        """No more lines will come. Our calls fail; what we owe can still be answered. A second close fails none."""
        self._closed = True
        error = Failure.of(INTERNAL_ERROR, "the other side closed the connection")
        failed = tuple(ErrorReply(call=call, error=error) for call in self._calls)
        self._calls.clear()
        return Closed(failed=failed, unanswered=tuple(self._requests))

    def _check_owed(self, request: RequestId) -> None:
        if request not in self._requests:
            raise ProtocolError(f"no request {_short(request)} waits for an answer: never received, or answered before")

    def _is_answer(self, message: dict[str, Any]) -> bool:
        # A client in JavaScript whose handler returns undefined sends neither member: that is a result of null.
        return "result" in message or "error" in message or _as_id(message.get("id")) in self._calls

    def _take_answer(self, message: dict[str, Any]) -> Reply | ErrorReply | None:
        call = _as_id(message.get("id"))
        if not isinstance(call, int) or call not in self._calls:
            # Also where a client answers a notification with an error (id null).
            logger.debug("JSON-RPC: an answer to no open call is ignored, id {}", _short(message.get("id")))
            return None
        method = self._calls.pop(call)
        error = message.get("error")
        if error is not None or ("error" in message and "result" not in message):
            logger.debug("JSON-RPC: call {} {} failed", call, method)
            return ErrorReply(call=call, error=failure_of(error))
        return Reply(call=call, result=message.get("result"))

    def _take_request(self, message: dict[str, Any], echo: Any) -> Request | Notification | Refused | None:
        method, params, has_id = message.get("method"), message.get("params"), "id" in message
        request = _as_id(message.get("id"))
        if message.get("jsonrpc") != "2.0":
            problem = 'the member "jsonrpc" must be "2.0"'
        elif not isinstance(method, str):
            problem = "neither a request nor a response" if method is None else 'the member "method" must be a string'
        elif has_id and request is None:
            problem = 'the member "id" must be a string or an integer'
        elif request in self._requests:
            # Answered with that id, as the sender expects; the first request with it keeps its own answer.
            return _refuse(request, Failure.of(INVALID_REQUEST, "a request with this id is still in progress"))
        elif params is not None and not isinstance(params, dict | list):
            if request is None:
                logger.debug("JSON-RPC: notification {} with unusable params is ignored", _short(method))
                return None
            return _refuse(request, Failure.of(INVALID_PARAMS, "an object or an array is expected"))
        elif request is None:
            return Notification(method=method, params=params)
        else:
            self._requests[request] = method
            return Request(id=request, method=method, params=params)
        # An id in flight would make this error look like the answer of a request that is still worked on.
        return _refuse(None if request in self._requests else request, Failure.of(INVALID_REQUEST, problem, echo))


def error_member(failure: Failure) -> dict[str, Any]:
    """A failure as the `error` member of a response."""
    wire: dict[str, Any] = {"code": failure.code, "message": failure.message}
    if failure.data is not None:
        wire["data"] = failure.data
    return wire


def failure_of(value: object) -> Failure:
    """What the far side sent as `error`; a malformed one is still an error."""
    if not isinstance(value, dict):
        return Failure.of(INTERNAL_ERROR, "the other side failed without a usable error object", value)
    code, message = value.get("code"), value.get("message")
    return Failure(
        code=code if type(code) is int else INTERNAL_ERROR,
        message=message if isinstance(message, str) else "Internal error",
        data=value.get("data"),
    )


def refusal(error: Failure, request: RequestId | None = None) -> bytes:
    """The line of an error response that belongs to no request we know of (id null unless given)."""
    return encode({"jsonrpc": "2.0", "id": request, "error": error_member(error)})


def _request(method: str, params: Params, request: RequestId | None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if request is not None:
        message["id"] = request
    if params is not None:
        message["params"] = params
    return message


def _refuse(request: RequestId | None, error: Failure) -> Refused:
    logger.debug("JSON-RPC: input is refused, id {}: {} {}", _short(request), error.code, error.message)
    return Refused(answer=refusal(error, request), error=error)


def _as_id(value: object) -> RequestId | None:
    """The id as an int or str, else None. 1.0 is the integer 1 in JSON; true is no id, though True == 1 in Python."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, int | str) else None


def _short(value: object) -> str:
    """A value of the far side as it may stand in a log line: no control characters, no more than 80 characters."""
    if isinstance(value, str):
        text = ascii(value[:80])
    else:
        text = str(value) if value is None or isinstance(value, int) else f"of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "..."
