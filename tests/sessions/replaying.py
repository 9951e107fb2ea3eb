"""What a client is told of a transcript, for the tests of what reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpbridge import flow, wire
from acpbridge.sessions.replay import Replay
from middleware.profile import ClientProfile
from tests.sessions.writing import Transcript


def told(
    transcript: Transcript,
    capabilities: Mapping[str, Any] | None = None,
    *,
    running: bool = False,
    live: bool = False,
    size: int = 3,
) -> list[dict[str, Any]]:
    """The updates that a client with these capabilities gets, read `size` messages a piece."""
    profile = ClientProfile(capabilities=dict(capabilities or {}))
    replay = Replay("s", "/repo", transcript.path, flow.past(), profile, running=running, live=live)
    return [wire.session_update(each.message)["update"] for piece in replay.pieces(size) for each in piece]
