"""What came of subagents that nobody was told about yet, by the call that began each: bounded, in order."""

from __future__ import annotations

import attrs
from loguru import logger

from middleware.messages import Text, ToolCall, ToolCallUpdate

from .calls import id_of

CALLS, IN_ALL, OF_ONE = 64, 256, 32
"""How many calls anything waits for, how much waits in all, and for one of them (reference R8)."""

Routed = Text | ToolCall | ToolCallUpdate


@attrs.define
class Waiting:
    """The buffers of one session."""

    _by_call: dict[str, list[Routed]] = attrs.field(factory=dict)
    _count: int = 0

    def put(self, call: str, message: Routed) -> None:
        """Keep a message; what is too much is dropped, with a log line."""
        held = self._by_call.get(call, [])
        if len(held) >= OF_ONE or self._count >= IN_ALL or (not held and len(self._by_call) >= CALLS):
            logger.warning(
                "Session {}: dropping unattributed subagent update for {}; pending buffer limit reached",
                message.session,
                call,
            )
            return
        self._by_call.setdefault(call, held).append(message)
        self._count += 1

    def take(self, call: str | None) -> list[Routed]:
        """All that waited for a call, which is forgotten."""
        held = self._by_call.pop(call, []) if call is not None else []
        self._count -= len(held)
        return held

    def take_call(self, tool_use: str) -> list[Routed]:
        """What waits of one tool call, whatever it waits for."""
        for call, held in self._by_call.items():
            mine: list[Routed] = [item for item in held if not isinstance(item, Text) and id_of(item) == tool_use]
            if mine:
                self._by_call[call] = [item for item in held if item not in mine]
                self._count -= len(mine)
                return mine
        return []
