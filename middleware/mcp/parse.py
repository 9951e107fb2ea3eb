"""Which prompt is a `/mcp` command, and what it wants (reference 08.2, Parse)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import attrs

from middleware import acp

Action = Literal["status", "reconnect", "enable", "disable"]
_ACTIONS = frozenset({"reconnect", "enable", "disable"})


@attrs.frozen(kw_only=True)
class McpCommand:
    """A `/mcp` command. `server` is None for all of them, and for an action that was given no target."""

    action: Action = "status"
    server: str | None = None
    everything: bool = False


def parse(content: Sequence[acp.ContentBlock]) -> McpCommand | None:
    """The command that a prompt is: one text block that begins with `/mcp` and a known action. None for any other.

    `/mcp something` is no command of ours: Claude Code has its own words for what it does not know.
    """
    if len(content) != 1 or not isinstance(content[0], acp.TextContent):
        return None
    words = content[0].text.split()
    if not words or words[0] != "/mcp":
        return None
    if len(words) == 1:
        return McpCommand()
    action = words[1].lower()
    if action not in _ACTIONS:
        return None
    server = " ".join(words[2:])
    everything = server == "all" or (not server and action == "reconnect")
    return McpCommand(action=cast(Action, action), server=None if everything else server or None, everything=everything)
