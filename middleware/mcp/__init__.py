"""What is known of MCP servers in the chat: the `/mcp` command, its texts, the advertised commands, start-up notices.

Pure functions; the stages `McpCommands` and `McpServers` hold the state. Texts are those of reference 08.
"""

from __future__ import annotations

from .actions import done, failed, nothing_to_do, targets
from .parse import McpCommand, parse
from .server_notices import notice, server_notice
from .servers import Server, servers_in
from .status_list import status_list

__all__ = [
    "McpCommand",
    "Server",
    "done",
    "failed",
    "nothing_to_do",
    "notice",
    "parse",
    "server_notice",
    "servers_in",
    "status_list",
    "targets",
]
