"""`session/new`: what the client asks for is checked, Claude Code is started, the session is open (reference 9.1)."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from .failures import RequestRefused
from .opening import open_session

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def new(end: AgentEnd, request: Request) -> acp.NewSessionResponse:
    """Start a session. Its id is a new uuid, which Claude Code uses too."""
    params: acp.NewSessionRequest = request.params
    check_directories(params.cwd, params.additional_directories)
    opened = await open_session(end, str(uuid.uuid4()), params)
    return acp.NewSessionResponse(
        session_id=opened.name, modes=opened.choices.mode_state, config_options=opened.choices.options
    )


def check_directories(cwd: str, additional: object) -> None:
    """The directories of a session: absolute, and the working directory is there (reference 9.1).

    Raises:
        RequestRefused: -32602, naming what is wrong.
    """
    for path in additional if isinstance(additional, list | tuple) else ():
        if not os.path.isabs(path) or "\0" in path:
            raise RequestRefused(
                Failure.invalid_params(f"`additionalDirectories` entries must be absolute paths, but received: {path}")
            )
    if not os.path.isabs(cwd):
        raise RequestRefused(Failure.invalid_params(f"`cwd` must be an absolute path, but received: {cwd}"))
    if not os.path.exists(cwd):
        raise RequestRefused(
            Failure.invalid_params(f"`cwd` does not exist on the machine running the agent: {cwd}", {"cwd": cwd})
        )
    if not os.path.isdir(cwd):
        raise RequestRefused(Failure.invalid_params(f"`cwd` is not a directory: {cwd}", {"cwd": cwd}))
