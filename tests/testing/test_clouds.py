"""The stand-in as Bedrock and Vertex: which paths ask for what, and the framing of AWS's event stream."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from acpbridge.testing.clouds import call_of, chunk


@pytest.mark.parametrize(
    ("path", "model", "streaming"),
    [
        ("/model/us.anthropic.claude-x-v1%3A0/invoke", "us.anthropic.claude-x-v1:0", False),
        ("/base/model/m/invoke-with-response-stream", "m", True),
        ("/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict", "m@1", False),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", "m", True),
    ],
)
def test_paths(path: str, model: str, streaming: bool) -> None:
    """The model and whether it streams stand in the path, and go where Anthropic's own API has them."""
    call = call_of(path)
    assert call is not None
    assert call.body({"max_tokens": 1}) == {"max_tokens": 1, "model": model, "stream": streaming}


@pytest.mark.parametrize("path", ["/v1/messages", "/", "/model/m", "/models/m:rawPredict", "/inference-profiles"])
def test_other_paths(path: str) -> None:
    """All else is not a cloud's."""
    assert call_of(path) is None


def test_event_stream() -> None:
    """A message says how long it is and how long its headers, has both parts' CRC-32, and holds the event in base64."""
    event = {"type": "content_block_delta", "text": "\u2713"}
    message = chunk(event)
    total, headers, prelude = struct.unpack(">III", message[:12])
    assert total == len(message)
    assert prelude == zlib.crc32(message[:8])
    assert struct.unpack(">I", message[-4:])[0] == zlib.crc32(message[:-4])
    assert message[12 : 12 + headers].count(b":") == 3
    payload = json.loads(message[12 + headers : -4])
    assert json.loads(base64.b64decode(payload["bytes"])) == event
