"""A judge of whole conversations: every JSON-RPC message of both ends against the official ACP schema.

    judge = Judge()
    judge.from_client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
    judge.from_agent({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})
    assert not judge.unanswered()

For tests that drive the real program. It knows nothing of `middleware`: a mistake in the generated types cannot hide
itself.
"""

from __future__ import annotations

import re
import threading
from typing import Any, Literal, TypeAlias

from tests.acp.official import DEFINITIONS, problems

End: TypeAlias = Literal["agent", "client"]

OTHER: dict[End, End] = {"agent": "client", "client": "agent"}


def _named(envelope: str) -> list[str]:
    """The definitions with a method that an envelope such as `AgentRequest` lists."""
    names = re.findall(r"'#/\$defs/(\w+)'", str(DEFINITIONS[envelope]))
    return [name for name in names if "x-method" in DEFINITIONS[name]]


def _table(part: str) -> dict[tuple[End, str], str]:
    """(sender, method) -> definition."""
    ends: tuple[tuple[str, End], ...] = (("Agent", "agent"), ("Client", "client"))
    return {(end, DEFINITIONS[name]["x-method"]): name for prefix, end in ends for name in _named(prefix + part)}


REQUESTS = _table("Request")
RESULTS = _table("Response")
NOTIFICATIONS: dict[tuple[End, str], str] = _table("Notification") | {
    ("agent", "$/cancel_request"): "CancelRequestNotification",
    ("client", "$/cancel_request"): "CancelRequestNotification",
}


class Judge:
    """Is fed every message, in the order in which it was sent; raises AssertionError with method, path and problem.

    A method that starts with `_` is an extension and only has to be JSON-RPC. Thread-safe: each direction may be fed by
    a thread of its own.
    """

    def __init__(self) -> None:
        self._open: dict[End, dict[int | str | None, str]] = {"agent": {}, "client": {}}  # by who asked
        self._lock = threading.Lock()

    def from_agent(self, message: object) -> None:
        """A message that the agent wrote."""
        with self._lock:
            self._judge("agent", message)

    def from_client(self, message: object) -> None:
        """A message that the client wrote."""
        with self._lock:
            self._judge("client", message)

    def unanswered(self) -> list[tuple[End, str]]:
        """(who asked, method) of each request that has no answer yet."""
        with self._lock:
            return [(end, method) for end, requests in self._open.items() for method in requests.values()]

    def _judge(self, sender: End, message: object) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise AssertionError(f"{sender}: no JSON-RPC 2.0 message: {message!r}")
        id_ = message.get("id")
        if isinstance(id_, bool) or not isinstance(id_, int | str | None):
            raise AssertionError(f"{sender}: the id {id_!r} is neither a string nor an integer")
        if "method" not in message:
            self._response(sender, message)
        elif "result" in message or "error" in message:
            raise AssertionError(f"{sender}: request and response in one: {message!r}")
        else:
            self._call(sender, message)

    def _call(self, sender: End, message: dict[str, Any]) -> None:
        method = message["method"]
        if not isinstance(method, str):
            raise AssertionError(f"{sender}: the method {method!r} is no string")
        params = message.get("params")
        if params is not None and not isinstance(params, dict | list):
            raise AssertionError(f"{sender}: {method}: params are neither an object nor a list")
        request = "id" in message
        if request:
            if message["id"] in self._open[sender]:
                raise AssertionError(f"{sender}: {method}: the id {message['id']!r} is that of an open request")
            self._open[sender][message["id"]] = method
        if not method.startswith("_"):
            definition = (REQUESTS if request else NOTIFICATIONS).get((sender, method))
            if definition is None:
                kind = "request" if request else "notification"
                raise AssertionError(f"{sender}: {method} is no {kind} that the {sender} sends")
            _check(f"{sender}: params of {method}", definition, {} if params is None else params)

    def _response(self, sender: End, message: dict[str, Any]) -> None:
        if "id" not in message or ("result" in message) == ("error" in message):
            raise AssertionError(f"{sender}: neither a request nor a response: {message!r}")
        asked = self._open[OTHER[sender]]
        if message["id"] is None and "error" in message and None not in asked:
            method = "a message that could not be read"  # JSON-RPC 5.1: then, and only then, the id is null
        elif message["id"] not in asked:
            raise AssertionError(f"{sender}: answer to {message['id']!r}, which is no open request: {message!r}")
        else:
            method = asked.pop(message["id"])
        if "error" in message:
            _check(f"{sender}: error of {method}", "Error", message["error"])
        elif not method.startswith("_"):
            _check(f"{sender}: result of {method}", RESULTS[sender, method], message["result"])


def _check(what: str, definition: str, value: object) -> None:
    if found := problems(definition, value):
        raise AssertionError(f"{what}: {'; '.join(found)}")
