"""`authenticate`: Claude Code logs in by itself, in a terminal; there is no method that a client could name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from .failures import RequestRefused

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def authenticate(end: AgentEnd, request: Request) -> acp.AuthenticateResponse:
    """Refuse the method by its name, and say what to do instead."""
    params: acp.AuthenticateRequest = request.params
    raise RequestRefused(
        Failure.invalid_params(
            f"Unsupported authentication method: {params.method_id}. Run `claude /login` in a terminal, or set "
            "ANTHROPIC_API_KEY for the agent.",
            {"methodId": params.method_id},
        )
    )
