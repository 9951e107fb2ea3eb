"""What a stage may ask Claude Code for: the names of `AgentCall`, and the control request that each one is.

A name that is not here is refused by the agent end. What the answers mean is the asking stage's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "mcp_status": (),
    "mcp_reconnect": ("serverName",),
    "mcp_toggle": ("serverName", "enabled"),
    "mcp_authenticate": ("serverName",),
    "get_settings": (),
    "get_usage": (),
}
"""Name, which is the control request's subtype too -> the arguments that it takes (design/sdk.md A1)."""
