"""An MCP server as Claude Code's `mcp_status` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Server:
    """`tools` is None where Claude Code does not count them; `origin` tells servers of one name apart."""

    name: str
    status: str
    error: str | None = None
    tools: int | None = None
    origin: str | None = None


def servers_in(result: Any) -> tuple[Server, ...] | None:
    """The servers that an answer to `mcp_status` lists; None when it is no such answer."""
    listed = result.get("mcpServers") if isinstance(result, Mapping) else None
    if not isinstance(listed, list):
        return None
    return tuple(_server(server) for server in listed if isinstance(server, Mapping) and server.get("name"))


def _server(server: Mapping[str, Any]) -> Server:
    tools, error = server.get("tools"), server.get("error")
    origin = server.get("scope") or server.get("source")
    return Server(
        name=str(server["name"]),
        status=str(server.get("status") or "unknown"),
        error=error if isinstance(error, str) and error.strip() else None,
        tools=len(tools) if isinstance(tools, list) else None,
        origin=origin if isinstance(origin, str) else None,
    )
