"""Anthropic's Messages API as Amazon Bedrock and Google Vertex AI have it: the path says the model, and how to answer.

    POST /model/<model>/invoke                            the whole message, as JSON
    POST /model/<model>/invoke-with-response-stream       AWS's event stream, a chunk an event
    POST /projects/.../models/<model>:rawPredict          the whole message, as JSON
    POST /projects/.../models/<model>:streamRawPredict    the events of Anthropic's own API

Read off Claude Code 2.1.332. Pure: paths and events in, facts and bytes out.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import attrs

from acpbridge.testing.sse import SSE, Event, Wire

_BEDROCK = re.compile(r"/model/([^/]+)/invoke(-with-response-stream)?$")
_VERTEX = re.compile(r"/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/([^/:]+):(stream)?rawPredict$", re.I)


@attrs.frozen
class Call:
    """One way to ask for a message, and how its stream is written."""

    model: str
    streaming: bool
    wire: Wire

    def body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body as Anthropic's own API would have got it."""
        return {**body, "model": self.model, "stream": self.streaming}


def call_of(path: str) -> Call | None:
    """What a path asks for; None when it is neither cloud's."""
    if (found := _BEDROCK.search(path)) is not None:
        return Call(unquote(found[1]), bool(found[2]), Wire(chunk, "application/vnd.amazon.eventstream"))
    if (found := _VERTEX.search(path)) is not None:
        return Call(unquote(found[1]), bool(found[2]), SSE)
    return None


def chunk(event: Event) -> bytes:
    """An event as a message of AWS's event stream: lengths, headers and payload, each part with its CRC-32."""
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (":event-type", "chunk"),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    """Type 7 is a text."""
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()


def foundation_models(models: Sequence[str]) -> dict[str, Any]:
    """The answer of Bedrock's ListFoundationModels."""
    return {"modelSummaries": [{"modelId": f"anthropic.{model}", "providerName": "Anthropic"} for model in models]}
