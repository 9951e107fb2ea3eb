"""What the client's requests about sessions mean: one function a method, and the table of those that are served.

A function takes the agent end and the request, runs on the SDK loop, and returns the ACP result. It raises
`RequestRefused` for what the client got wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from middleware.messages import Request

from .authentication import authenticate
from .closing import close
from .deleting import delete
from .listing import list_sessions
from .logging_out import logout
from .new import new
from .providers import disable_provider, list_providers, set_provider
from .setting import set_config_option, set_mode
from .taking_up import fork, load, resume

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd

METHODS: Mapping[str, Callable[[AgentEnd, Request], Awaitable[Any]]] = {
    "authenticate": authenticate,
    "logout": logout,
    "providers/disable": disable_provider,
    "providers/list": list_providers,
    "providers/set": set_provider,
    "session/close": close,
    "session/delete": delete,
    "session/fork": fork,
    "session/list": list_sessions,
    "session/load": load,
    "session/new": new,
    "session/resume": resume,
    "session/set_config_option": set_config_option,
    "session/set_mode": set_mode,
}
