"""What `/mcp reconnect`, `enable` and `disable` act on, and what they say (reference 08.2, M3 and Texts)."""

from __future__ import annotations

from collections.abc import Sequence

from .markdown import clean_error, code, escaped
from .parse import McpCommand
from .servers import Server
from .status_list import OPEN

_DONE = {"reconnect": "Reconnected", "enable": "Enabled", "disable": "Disabled"}


def targets(command: McpCommand, servers: Sequence[Server]) -> tuple[str, ...]:
    """The names of the servers that a command acts on, each once."""
    if command.everything:
        chosen = [server.name for server in servers if _wanted(command.action, server.status)]
    else:
        chosen = [server.name for server in servers if server.name == command.server]
    return tuple(dict.fromkeys(chosen))


def nothing_to_do(command: McpCommand) -> str:
    """Why a command acts on nothing."""
    if command.everything:
        if command.action == "reconnect":
            return "Every MCP server is connected or disabled. There is nothing to reconnect."
        return f"Every MCP server is already {command.action}d."
    if command.server is None:
        return f"Name a server or `all`, for example `/mcp {command.action} <server>`."
    return f"There's no MCP server named {code(command.server)}."


def done(action: str, server: str) -> str:
    return f"- {_DONE[action]} {code(server)}"


def failed(action: str, server: str, error: str) -> str:
    reason = escaped(clean_error(error))
    return f"- Couldn't {action} {code(server)}" + (f": {reason}" if reason else "")


def _wanted(action: str, status: str) -> bool:
    if action == "reconnect":
        return status in OPEN
    return (status == "disabled") is (action == "enable")
