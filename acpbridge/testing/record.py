"""What the scripted model was asked: one `ModelRequest` for each HTTP request, and the list of them, on which tests
wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import attrs

from acpbridge.testing.requests import NOTHING_DUE, Due, Kind

Outcome: TypeAlias = Literal["open", "answered", "failed", "client gone", "cut", "stopped"]
"""open: being answered. answered: completely. failed: with an error, scripted or not. client gone: the connection was
closed before the end of the answer (an interrupt does that). cut: a `Cut`. stopped: the model was closed."""


@attrs.define(kw_only=True, eq=False)
class ModelRequest:
    """One HTTP request. `outcome` and `status` change while it is answered, always just before the client can see it;
    all else is set once.

    `number`: from 1. `body`: the parsed JSON, {} without one. `prompt` and `round`: what is being answered (see
    `requests.Due`), of main and subagent requests. `attempt`: from 1, the tries of the same request, up to the one
    that no step of its script lets fail. `status`: of the answer, None before its head. Of the headers only the names
    are kept, in lower case: the API key is among them.
    """

    number: int
    method: str
    path: str
    kind: Kind
    body: dict[str, Any] = attrs.field(repr=False)
    due: Due = NOTHING_DUE
    attempt: int = 1
    session_id: str | None = None
    header_names: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    status: int | None = None
    outcome: Outcome = "open"

    @property
    def prompt(self) -> str:
        """The text of the person's prompt that this request answers."""
        return self.due.prompt

    @property
    def round(self) -> int:
        """The round of the script that was due, from 0."""
        return self.due.round

    @property
    def streaming(self) -> bool:
        """Whether it asked for a stream of events."""
        return bool(self.body.get("stream"))

    @property
    def client_gone(self) -> bool:
        """Whether the client closed the connection before the end of the answer."""
        return self.outcome == "client gone"


class RequestLog:
    """The requests in the order in which they came. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[ModelRequest] = []

    def snapshot(self) -> list[ModelRequest]:
        """The requests so far."""
        with self._changed:
            return list(self._requests)

    def add(self, build: Callable[[int], ModelRequest]) -> ModelRequest:
        """Record a request; `build` gets its number."""
        with self._changed:
            request = build(len(self._requests) + 1)
            self._requests.append(request)
            self._changed.notify_all()
            return request

    def change(self, request: ModelRequest, *, status: int | None = None, outcome: Outcome | None = None) -> None:
        """Record how the answer goes on."""
        with self._changed:
            if status is not None:
                request.status = status
            if outcome is not None:
                request.outcome = outcome
            self._changed.notify_all()

    def wait_for(self, predicate: Callable[[ModelRequest], bool], timeout: float) -> ModelRequest:
        """The first request for which the predicate holds, looked at again at each change. Raises TimeoutError."""

        def find() -> ModelRequest | None:
            return next((request for request in self._requests if predicate(request)), None)

        with self._changed:
            found = self._changed.wait_for(find, timeout)
            if found is None:
                seen = "".join(f"\n  {request!r}" for request in self._requests) or " none at all"
                raise TimeoutError(f"the request did not come within {timeout} s; seen:{seen}")
            return found
