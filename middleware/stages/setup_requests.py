"""Which session a setup request opened, and what the client asked for in it. No stage: stages ask it.

The client knows a session's id when its `session/new` (load, resume, fork) is answered; before that nothing can be said
of it to the client, and after that what was asked for is needed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from middleware import acp
from middleware.messages import Request, RequestFailed, RequestId, Response

METHODS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})


@attrs.frozen
class Opened:
    """A session that the client knows from here on.

    `servers` are the names of the MCP servers that it gave, `options` what it asked for in `_meta`, `config_options`
    what it was answered.
    """

    method: str
    session: str
    servers: frozenset[str]
    options: Mapping[str, Any]
    config_options: Sequence[acp.SessionConfigOption] = ()


@attrs.define
class SetupRequests:
    """The setup requests of a connection that have no answer yet."""

    _open: dict[RequestId, Request] = attrs.field(factory=dict)

    def made(self, request: Request) -> None:
        if request.method in METHODS:
            self._open[request.request] = request

    def answered(self, answer: Response | RequestFailed) -> Opened | None:
        """The session that this answer opens, if it is the answer of a setup request."""
        request = self._open.pop(answer.request, None)
        if request is None or isinstance(answer, RequestFailed):
            return None
        session = getattr(answer.result, "session_id", None) or request.session
        if session is None:
            return None
        options = wished_options(request)
        servers = {server.name for server in request.params.mcp_servers if not isinstance(server, acp.McpServerAcp)}
        given = options.get("mcpServers")
        return Opened(
            method=request.method,
            session=session,
            servers=frozenset(servers | set(given if isinstance(given, dict) else ())),
            options=options,
            config_options=getattr(answer.result, "config_options", None) or (),
        )


def wished_options(request: Request) -> Mapping[str, Any]:
    """`_meta.claudeCode.options` of a setup request, as the client wrote it."""
    value: Any = getattr(request.params, "meta", None)
    for key in ("claudeCode", "options"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
