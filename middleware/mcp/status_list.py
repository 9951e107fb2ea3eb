"""The MCP servers of a session as a list for the chat (reference 08.2, List)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .markdown import clean_error, code, escaped
from .servers import Server

NO_SERVERS = "No MCP servers are configured."

HINT = (
    "Run `/mcp reconnect <server>` to reconnect one server, or `/mcp reconnect` to reconnect every server that is not "
    "connected and not disabled."
)

_FIRST = ("failed", "needs-auth", "pending", "connected")
_TITLES = {"failed": "Failed", "needs-auth": "Needs authentication", "pending": "Connecting", "connected": "Connected"}
_COUNTED = {"needs-auth": "need authentication", "pending": "connecting"}
OPEN = frozenset({"failed", "needs-auth", "pending"})
"""Statuses of servers that a reconnect may help."""


def status_list(servers: Sequence[Server]) -> str:
    """Counts, then the servers in groups, what is wrong first."""
    if not servers:
        return NO_SERVERS
    counts = Counter(server.status for server in servers)
    order = [*_FIRST, *(status for status in counts if status not in _FIRST and status != "disabled")]
    told = [_count(status, counts[status]) for status in (*order, "disabled") if counts[status]]
    names = Counter(server.name for server in servers)
    blocks = [f"**MCP servers:** {len(servers)} ({', '.join(told)})"]
    for status in order:
        group = [server for server in servers if server.status == status]
        if group:
            lines = [_item(server, ambiguous=names[server.name] > 1) for server in group]
            blocks.append("\n".join([f"**{_title(status)}**", *lines]))
    disabled = [_name(server, ambiguous=names[server.name] > 1) for server in servers if server.status == "disabled"]
    if disabled:
        blocks.append(f"**Disabled:** {', '.join(disabled)}")
    if any(server.status in OPEN for server in servers):
        blocks.append(HINT)
    return "\n\n".join(blocks)


def _count(status: str, number: int) -> str:
    if status == "needs-auth" and number == 1:
        return "1 needs authentication"
    return f"{number} {_COUNTED.get(status) or escaped(status)}"


def _title(status: str) -> str:
    return _TITLES.get(status) or escaped(status[:1].upper() + status[1:])


def _name(server: Server, *, ambiguous: bool) -> str:
    origin = f" ({escaped(server.origin)})" if ambiguous and server.origin else ""
    return code(server.name) + origin


def _item(server: Server, *, ambiguous: bool) -> str:
    error = escaped(clean_error(server.error)) if server.error else ""
    tools = "" if server.tools is None else "1 tool" if server.tools == 1 else f"{server.tools} tools"
    details = "; ".join(part for part in (error, tools) if part)
    name = _name(server, ambiguous=ambiguous)
    return f"- {name}: {details}" if details else f"- {name}"
