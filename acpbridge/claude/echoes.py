"""Frames that say again what the client knows, or what the bridge itself asked for: they are not passed on.

Claude Code answers a change of the model with the text of its `/model` command, and after a compaction it repeats the
messages that it kept. Owns what is needed to tell such a frame from a new one. No waiting, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from .members import text_in

Frame = Mapping[str, Any]

_OUTPUT = "<local-command-stdout>"


@attrs.define
class Echoes:
    """The echoes that are to come on one wire."""

    _kept: frozenset[str] = frozenset()
    _changes: int = 0

    def change_begins(self) -> None:
        """A change of the model was asked for; its text comes before its answer."""
        self._changes += 1

    def change_ends(self) -> None:
        self._changes -= 1

    def hides(self, frame: Frame) -> bool:
        """Whether a frame is an echo."""
        kind = frame.get("type")
        if kind == "system" and frame.get("subtype") == "compact_boundary":
            self._kept = _kept(frame.get("compact_metadata"))
            return False
        if kind not in ("user", "assistant"):
            return False
        if text_in(frame, "uuid") in self._kept:
            return True
        return kind == "user" and self._changes > 0 and frame.get("isReplay") is True and _is_output(frame)


def _kept(metadata: Any) -> frozenset[str]:
    kept = metadata.get("preserved_messages") if isinstance(metadata, dict) else None
    uuids = kept.get("uuids") if isinstance(kept, dict) else None
    return frozenset(uuid for uuid in uuids if isinstance(uuid, str)) if isinstance(uuids, list) else frozenset()


def _is_output(frame: Frame) -> bool:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) and content.startswith(_OUTPUT)
