"""`session/set_mode` and `session/set_config_option`: what is set in an open session (reference 06.1, 06.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from .failures import RequestRefused
from .opened import OpenSession

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def set_mode(end: AgentEnd, request: Request) -> acp.SetSessionModeResponse:
    """Change the permission mode."""
    params: acp.SetSessionModeRequest = request.params
    await _session(end, params.session_id).choices.set_mode(params.mode_id)
    return acp.SetSessionModeResponse()


async def set_config_option(end: AgentEnd, request: Request) -> acp.SetSessionConfigOptionResponse:
    """Change an option; the answer lists them all."""
    params: Any = request.params
    choices = _session(end, params.session_id).choices
    await choices.set_option(params.config_id, params.value)
    return acp.SetSessionConfigOptionResponse(config_options=choices.options)


def _session(end: AgentEnd, name: str) -> OpenSession:
    opened = end.open.get(name)
    if opened is None:
        raise RequestRefused(Failure.session_not_found(name))
    return opened
