"""`authenticate`: Claude Code logs in by itself, in a terminal; what a client can name is a gateway of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from acpbridge import login
from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from . import routing
from .failures import RequestRefused

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def authenticate(end: AgentEnd, request: Request) -> acp.AuthenticateResponse:
    """Take a gateway for the sessions to come; refuse any other method by its name, and say what to do instead."""
    params: acp.AuthenticateRequest = request.params
    if params.method_id in login.GATEWAYS and end.profile.has("auth", "_meta", "gateway"):
        _take_gateway(end, login.GATEWAYS[params.method_id], params.meta)
        return acp.AuthenticateResponse()
    raise RequestRefused(
        Failure.invalid_params(
            f"Unsupported authentication method: {params.method_id}. Run `claude /login` in a terminal, or set "
            "ANTHROPIC_API_KEY for the agent.",
            {"methodId": params.method_id},
        )
    )


def _take_gateway(end: AgentEnd, api_type: str, meta: Mapping[str, Any] | None) -> None:
    """Send the requests of sessions that are opened from now on through a gateway (reference 10.6)."""
    gateway = (meta or {}).get("gateway")
    if gateway is None:
        return
    gateway = gateway if isinstance(gateway, dict) else {}
    if not routing.is_address(gateway.get("baseUrl")):
        raise RequestRefused(
            Failure.invalid_params("`_meta.gateway.baseUrl` must be a non-empty absolute http(s) URL.")
        )
    headers = gateway.get("headers", {})
    if not routing.are_headers(headers):
        raise RequestRefused(
            Failure.invalid_params("`_meta.gateway.headers` must be an object of header names to values.")
        )
    end.loop.call(end.identity.take_gateway, gateway["baseUrl"])  # which is told behind the answer
    end.gateway = routing.Route(api_type=api_type, base_url=gateway["baseUrl"], headers=headers)
