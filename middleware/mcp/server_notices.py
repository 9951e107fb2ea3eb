"""What the person is told when one of the client's MCP servers is missing (reference 08.1 and 10.3)."""

from __future__ import annotations

from typing import Any

from middleware import acp
from middleware.messages import Update
from middleware.tools.text import one_line
from middleware.tools.unseen import spelled


def server_notice(session: str, server: str, status: str, *, notices: bool) -> Update | None:
    """The notice for a server in this status; None for one that is as it should be."""
    known = _TEXTS.get(status)
    if known is None:
        return None
    severity, title, description = known
    meta = {"claudeCode": {"kind": "mcpServerStatus", "server": server, "status": status}}
    return notice(session, severity, title.format(one_line(spelled(server))), description, meta, notices=notices)


def notice(session: str, severity: Any, title: str, description: str, meta: dict[str, Any], *, notices: bool) -> Update:
    """A notice, or the same in the chat for a client that takes none."""
    if notices:
        return Update(session=session, update=acp.Notice(severity=severity, title=title, description=description))
    text = acp.TextContent(text=f"**{title}:** {description}\n\n")
    return Update(session=session, update=acp.AgentMessageChunk(content=text, meta=meta))


_TEXTS = {
    "failed": (
        "warning",
        'MCP server "{}" failed to start',
        "Its tools are unavailable in this session. Run /mcp for the error.",
    ),
    "needs-auth": (
        "info",
        'MCP server "{}" needs authentication',
        "Its tools are unavailable until the server is authenticated.",
    ),
    "pending": (
        "info",
        'MCP server "{}" is not connected yet',
        "Its tools are missing from this turn. Run /mcp to see whether it is.",
    ),
}
