"""`session/close`: its prompts are answered, its Claude Code ends, then the close is answered (reference 9.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from middleware import acp
from middleware.messages import Request

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def close(end: AgentEnd, request: Request) -> acp.CloseSessionResponse:
    """Close a session. One that is not open is closed already: the answer is the same."""
    params: acp.CloseSessionRequest = request.params
    async with end.opening(params.session_id):  # a load behind it must find the session gone, not going
        await end.close_session(params.session_id)
    return acp.CloseSessionResponse()
