"""Words about the connection: who the client is, its requests and their answers, calls to the agent end, the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from middleware.errors import Failure
from middleware.profile import ClientProfile

from .base import Key, Message, RequestId, ToAgent, ToClient


@attrs.frozen(kw_only=True)
class Initialized(ToAgent):
    """The client said who it is and what it can do. Comes first, once."""

    profile: ClientProfile


@attrs.frozen(kw_only=True)
class Closing(ToAgent):
    """The client is gone or the program ends: no new work, open asks are withdrawn, the agent closes its sessions."""


@attrs.frozen(kw_only=True)
class Request(ToAgent):
    """A request of the client that an end serves, such as `session/new`; `params` is the ACP type of the method."""

    request: RequestId
    method: str
    params: Any
    session: str | None = None

    @property
    def opens(self) -> Key:
        return "request", self.request

    @property
    def ends_session(self) -> bool:
        """Whether the session's work is over with it, so that it is cancelled first (reference C3)."""
        return self.session is not None and self.method in ("session/close", "session/delete")

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (RequestFailed(request=self.request, failure=failure),)


@attrs.frozen(kw_only=True)
class CancelRequest(ToAgent):
    """`$/cancel_request`: the client gives up one of its requests, which must be answered all the same."""

    request: RequestId


@attrs.frozen(kw_only=True)
class Response(ToClient):
    """The answer of a `Request`; `result` is the ACP type of the method, or None."""

    request: RequestId
    result: Any = None

    @property
    def answers(self) -> Key:
        return "request", self.request


@attrs.frozen(kw_only=True)
class RequestFailed(ToClient):
    """The answer of a `Request` or `Prompt` that was not served."""

    request: RequestId
    failure: Failure

    @property
    def answers(self) -> Key:
        return "request", self.request


@attrs.frozen(kw_only=True)
class AuthStatus(ToClient):
    """Who the agent is signed in as: another one than was told before.

    `label` is for the person, `detail` says more of it. `account` has those of `plan`, `email` and `organization` that
    are known.
    """

    kind: Literal["none", "gateway", "external", "api_key", "account"]
    label: str
    detail: str | None = None
    account: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class AgentCall(ToAgent):
    """A stage asks the agent end for slow work, such as the status of the MCP servers. Bound it with a timer."""

    session: str
    call: str
    name: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def opens(self) -> Key:
        return "call", self.call

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (AgentReply(session=self.session, call=self.call, failure=failure),)


@attrs.frozen(kw_only=True)
class AgentReply(ToClient):
    """The answer of an `AgentCall`: a result, or why there is none."""

    session: str
    call: str
    result: Any = None
    failure: Failure | None = None

    @property
    def answers(self) -> Key:
        return "call", self.call
