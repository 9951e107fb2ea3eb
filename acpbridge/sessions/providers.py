"""`providers/list`, `providers/set` and `providers/disable`: the client's own way to the models (reference 10.7).

There is one provider, `main`, which is asked for its models first: one that cannot be reached is not taken. Setting it
takes hold in the sessions that are open too: each goes on with a Claude Code that is started anew once its turn is
over. One change at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import attrs
from loguru import logger

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from . import discovery, routing
from .failures import RequestRefused
from .routing import Route

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd

MAIN = "main"


async def list_providers(end: AgentEnd, request: Request) -> acp.ListProvidersResponse:
    """The one provider, and where its requests go. Headers are nobody's business but Claude Code's."""
    route = end.route or end.gateway or routing.current()
    current = acp.ProviderCurrentConfig(api_type=route.api_type, base_url=route.base_url)
    info = acp.ProviderInfo(provider_id=MAIN, supported=list(routing.API_TYPES), required=False, current=current)
    return acp.ListProvidersResponse(providers=[info])


async def set_provider(end: AgentEnd, request: Request) -> acp.SetProviderResponse:
    """Send all requests this way from now on."""
    params: acp.SetProviderRequest = request.params
    route = _route(params)
    async with end.opening(MAIN):  # the id of no session
        if route != end.route:
            await _take(end, await _with_models(route))
    return acp.SetProviderResponse()


async def disable_provider(end: AgentEnd, request: Request) -> acp.DisableProviderResponse:
    """Send requests as Claude Code's own settings say. Of a provider that there is not nothing is to be done."""
    params: acp.DisableProviderRequest = request.params
    if params.provider_id == MAIN:
        async with end.opening(MAIN):
            if end.route is not None:
                await _take(end, None)
    return acp.DisableProviderResponse()


def _route(params: acp.SetProviderRequest) -> Route:
    if params.provider_id != MAIN:
        raise _refused(f'Unknown provider ID "{params.provider_id}"; expected "{MAIN}".')
    if params.api_type not in routing.API_TYPES:
        raise _refused(f'Unsupported apiType "{params.api_type}" for provider "{MAIN}".')
    if not routing.is_address(params.base_url):
        raise _refused("baseUrl must be a non-empty absolute http(s) URL.")
    if not routing.are_headers(params.headers):
        raise _refused("headers must be an object of header names to values.")
    vertex: Any = params.meta or {}
    for key in ("claudeCode", "vertex"):
        vertex = vertex.get(key) if isinstance(vertex, dict) else None
    vertex = vertex if isinstance(vertex, dict) else {}
    project, region = vertex.get("projectId"), vertex.get("region")
    if params.api_type == "vertex" and not (_is_text(project) and _is_text(region)):
        needed = "`_meta.claudeCode.vertex.projectId` and `_meta.claudeCode.vertex.region`"
        raise _refused(f"vertex apiType requires non-empty {needed}.")
    return Route(
        api_type=params.api_type, base_url=params.base_url, headers=params.headers, project=project, region=region
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _refused(text: str) -> RequestRefused:
    return RequestRefused(Failure.invalid_params(text))


async def _with_models(route: Route) -> Route:
    """The way with what it leads to. Raises `RequestRefused`: -32603, that cannot be learned."""
    asking = asyncio.get_running_loop().run_in_executor(None, discovery.list_models, route)
    try:
        listing = await asyncio.wait_for(asking, discovery.WITHIN)
    except TimeoutError:
        raise _undiscovered(f"The models were not listed within {discovery.WITHIN:g} s.") from None
    except discovery.ListingFailed as error:
        raise _undiscovered(str(error)) from error
    return route if listing is None else attrs.evolve(route, models=listing.models, prefix=listing.region)


def _undiscovered(why: str) -> RequestRefused:
    return RequestRefused(Failure.internal(f'Model discovery for provider "{MAIN}" failed: {why}'))


async def _take(end: AgentEnd, route: Route | None) -> None:
    """Hold the way, and have each open session go it. One that cannot says so with its next prompt."""
    end.route = route
    answers = await asyncio.gather(
        *(opened.claude_anew() for opened in list(end.open.values())), return_exceptions=True
    )
    for answer in answers:
        if isinstance(answer, BaseException):
            logger.warning("a session could not be started anew for its provider: {}", answer)
