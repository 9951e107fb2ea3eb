"""What can go wrong, as values (`Failure`) and as exceptions.

A `Failure` travels in a message and ends as the error of a client's request. An exception is for the programmer: a
stage, a runner or a bridge was written or used wrongly.
"""

from __future__ import annotations

from typing import Any

import attrs

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800


@attrs.frozen
class Failure:
    """Why a request was not served: ACP's error object (code, message, data).

    The texts are the ones that clients of claude-agent-acp know (reference 01.1): a fixed beginning a code, and the
    detail behind a colon.
    """

    code: int
    message: str
    data: Any = None

    @classmethod
    def parse_error(cls) -> Failure:
        return cls(PARSE_ERROR, "Parse error")

    @classmethod
    def invalid_request(cls, detail: str = "", data: Any = None) -> Failure:
        return cls(INVALID_REQUEST, _worded("Invalid request", detail), data)

    @classmethod
    def method_not_found(cls, method: str) -> Failure:
        return cls(METHOD_NOT_FOUND, f'"Method not found": {method}', {"method": method})

    @classmethod
    def invalid_params(cls, detail: str = "", data: Any = None) -> Failure:
        return cls(INVALID_PARAMS, _worded("Invalid params", detail), data)

    @classmethod
    def internal(cls, detail: str = "", data: Any = None) -> Failure:
        return cls(INTERNAL_ERROR, _worded("Internal error", detail), data)

    @classmethod
    def auth_required(cls, detail: str = "", data: Any = None) -> Failure:
        return cls(AUTH_REQUIRED, _worded("Authentication required", detail), data)

    @classmethod
    def session_not_found(cls, session: str) -> Failure:
        return cls(RESOURCE_NOT_FOUND, _worded("Resource not found", session), {"sessionId": session})

    @classmethod
    def request_cancelled(cls) -> Failure:
        return cls(REQUEST_CANCELLED, "Request cancelled")


def _worded(beginning: str, detail: str) -> str:
    return f"{beginning}: {detail}" if detail else beginning


class MiddlewareError(Exception):
    """The parent of every exception that this library raises."""


class StageDefinitionError(MiddlewareError, TypeError):
    """A stage class is wrong: it names something that is no message class, or has two handlers for one class."""


class StageOutputError(MiddlewareError, TypeError):
    """A stage's handler returned something that is not a message."""


class PipelineError(MiddlewareError, ValueError):
    """A pipeline was wired wrongly, or a runner was used in a state that does not allow it."""


class IllegalMessage(MiddlewareError):
    """A strict `Validation` met a message that ACP does not allow at this point."""
