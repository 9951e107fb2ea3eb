"""A client of the scripted model, for the tests that speak HTTP to it."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from acpbridge.testing import ScriptedModel

Event = dict[str, Any]


@contextlib.contextmanager
def connected(model: ScriptedModel) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(urlsplit(model.url).netloc, timeout=20)
    try:
        yield connection
    finally:
        connection.close()


def body(prompt: str, *, stream: bool = True, **more: Any) -> bytes:
    messages = [{"role": "user", "content": prompt}]
    request = {"model": "m", "tools": [{"name": "Agent"}], "messages": messages, "stream": stream, **more}
    return json.dumps(request).encode()


def post(connection: http.client.HTTPConnection, content: bytes) -> http.client.HTTPResponse:
    connection.request("POST", "/v1/messages?beta=true", content, {"x-api-key": "k"})
    return connection.getresponse()


def events(content: bytes) -> list[Event]:
    found = []
    for part in content.decode().split("\n\n")[:-1]:
        name, data = part.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def said(content: bytes) -> str:
    return "".join(e["delta"].get("text", "") for e in events(content) if e["type"] == "content_block_delta")


def answer(scripted: ScriptedModel, prompt: str, **more: Any) -> bytes:
    with connected(scripted) as connection:
        return post(connection, body(prompt, **more)).read()
