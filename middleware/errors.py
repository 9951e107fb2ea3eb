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
UNSUPPORTED_PROTOCOL_VERSION = -32022
REQUEST_CANCELLED = -32800

_WORDS = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid request",
    METHOD_NOT_FOUND: '"Method not found"',
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    AUTH_REQUIRED: "Authentication required",
    RESOURCE_NOT_FOUND: "Resource not found",
    UNSUPPORTED_PROTOCOL_VERSION: "Unsupported protocol version",
    REQUEST_CANCELLED: "Request cancelled",
}


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
    def of(cls, code: int, detail: str = "", data: Any = None) -> Failure:
        """The failure of a code in its fixed words, and the detail.

        Raises:
            KeyError: a code that has no words; make the `Failure` yourself.
        """
        return cls(code, f"{_WORDS[code]}: {detail}" if detail else _WORDS[code], data)

    @classmethod
    def invalid_request(cls, detail: str = "", data: Any = None) -> Failure:
        return cls.of(INVALID_REQUEST, detail, data)

    @classmethod
    def method_not_found(cls, method: str) -> Failure:
        """The quotes around the first three words are part of the text that clients know."""
        return cls.of(METHOD_NOT_FOUND, method, {"method": method})

    @classmethod
    def invalid_params(cls, detail: str = "", data: Any = None) -> Failure:
        return cls.of(INVALID_PARAMS, detail, data)

    @classmethod
    def internal(cls, detail: str = "", data: Any = None) -> Failure:
        return cls.of(INTERNAL_ERROR, detail, data)

    @classmethod
    def auth_required(cls, detail: str = "", data: Any = None) -> Failure:
        return cls.of(AUTH_REQUIRED, detail, data)

    @classmethod
    def session_not_found(cls, session: str) -> Failure:
        """Clients read this code as "no such session" (examples/clients 11)."""
        return cls.of(RESOURCE_NOT_FOUND, session, {"sessionId": session})


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
