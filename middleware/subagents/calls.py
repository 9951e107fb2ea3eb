"""Tool calls as the client has them: whose they are, and what of a hidden one is shown in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from middleware import acp
from middleware.messages import ToolCall, ToolCallUpdate
from middleware.tools.agents import report

LAUNCHES = frozenset({"Agent", "Task"})
SEND = "SendMessage"
HAND_BACK = "SubagentHandback"
HIDDEN = frozenset({*LAUNCHES, SEND, HAND_BACK})
"""Calls that a child session replaces: they are held back until it is clear that none does."""


@attrs.define(eq=False)
class HiddenCall:
    """A call that is held back, with all that came of it.

    `session` is whose call it is. `shown` is true once the client has it after all: then it is a call like any other.
    """

    session: str
    call: acp.ToolCall
    shown: bool = False

    @property
    def tool_use(self) -> str:
        return self.call.tool_call_id

    @property
    def name(self) -> str:
        return name_of(self.call.meta)

    @property
    def ended(self) -> bool:
        return self.call.status in ("completed", "failed")

    @property
    def input(self) -> Mapping[str, Any]:
        return self.call.raw_input if isinstance(self.call.raw_input, Mapping) else {}

    @property
    def response(self) -> Mapping[str, Any]:
        """The tool's own object."""
        found = claude_code(self.call.meta).get("toolResponse")
        return found if isinstance(found, Mapping) else {}

    def member(self, *keys: str) -> str | None:
        """The first of these members of the input that is a text, without blanks around it."""
        for key in keys:
            value = self.input.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
        return None

    def texts(self) -> list[str]:
        """What the call gave, without what Claude Code wraps a report in."""
        found = (
            report(item.content.text)
            for item in self.call.content or ()
            if isinstance(item, acp.Content) and isinstance(item.content, acp.TextContent)
        )
        return [text for text in found if text]

    def at_last(self) -> acp.ToolCall:
        """The one announcement of a call that nothing replaced (reference 7.5)."""
        title = self.call.title.strip() or self.name
        return attrs.evolve(self.call, status=self.call.status or "failed", title=title)


def merged(call: acp.ToolCall, change: acp.ToolCallUpdate) -> acp.ToolCall:
    """The call with a change in it."""
    fields = ("title", "kind", "status", "content", "locations", "raw_input", "raw_output")
    changed = {name: getattr(change, name) for name in fields if getattr(change, name) is not None}
    meta = {**(call.meta or {}), **(change.meta or {})}
    if claude_code(call.meta) or claude_code(change.meta):
        meta["claudeCode"] = {**claude_code(call.meta), **claude_code(change.meta)}
    return attrs.evolve(call, **changed, meta=meta or None)


def recipient_of(response: Mapping[str, Any]) -> str | None:
    """The task id of whom a message went to, as SendMessage's own object says it; a name may be several agents'."""
    pin = response.get("pin")
    found = response.get("resumedAgentId") or (pin.get("id") if isinstance(pin, Mapping) else None)
    return found if isinstance(found, str) and found else None


def claude_code(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (meta or {}).get("claudeCode")
    return found if isinstance(found, Mapping) else {}


def name_of(meta: Mapping[str, Any] | None) -> str:
    """The tool of a call."""
    found = claude_code(meta).get("toolName")
    return found if isinstance(found, str) else ""


def parent_of(message: ToolCall | ToolCallUpdate) -> str | None:
    """The Agent call of the subagent whose call it is; None for the main thread's."""
    item = message.call if isinstance(message, ToolCall) else message.change
    found = claude_code(item.meta).get("parentToolUseId")
    return found if isinstance(found, str) else None


def id_of(message: ToolCall | ToolCallUpdate) -> str:
    return (message.call if isinstance(message, ToolCall) else message.change).tool_call_id
