"""`session/new`: what the client asks for is checked, Claude Code is started, the session is open (reference 9.1)."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from acpbridge.claude.flow_control import FlowControl
from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request, SessionOpened

from .failures import RequestRefused

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def new(end: AgentEnd, request: Request) -> acp.NewSessionResponse:
    """Start a session. Its id is a new uuid, which Claude Code uses too."""
    params: acp.NewSessionRequest = request.params
    check_directories(params.cwd, params.additional_directories)
    name = str(uuid.uuid4())
    module = await end.sdk("acpbridge.claude.session")
    options = await end.sdk("acpbridge.claude.options")
    session = module.ClaudeSession(
        name=name,
        cwd=params.cwd,
        options=options.session_options(params, name),
        feed=end.feed,
        flow=FlowControl(end.has_room),
        spawn=end.loop.spawn,
        watcher=end.watcher,
    )
    end.sessions[name] = session  # before it is open, so that it is closed with the others if the client goes now
    try:
        await session.start()
    except Exception as error:
        await end.close_session(name)
        raise _start_failure(error) from error
    end.feed(SessionOpened(session=name, cwd=params.cwd))
    return acp.NewSessionResponse(session_id=name)


def check_directories(cwd: str, additional: object) -> None:
    """The directories of a session: absolute, and the working directory is there (reference 9.1).

    Raises:
        RequestRefused: -32602, naming what is wrong.
    """
    for path in additional if isinstance(additional, list | tuple) else ():
        if not os.path.isabs(path):
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


def _start_failure(error: Exception) -> RequestRefused:
    """Why Claude Code could not be started."""
    data = getattr(error, "data", None)
    reason = data.get("startup_failure_reason") if isinstance(data, dict) else None
    text = str(error).removeprefix("Claude Code returned an error result: ")
    details = {"details": text, **({"startupFailureReason": reason} if reason else {})}
    if reason in ("gateway_signin_required", "org_pin_mismatch", "org_config_refused"):
        return RequestRefused(Failure.auth_required(text, details))
    if reason == "cwd_unavailable":
        return RequestRefused(Failure.invalid_params(text, details))
    return RequestRefused(Failure.internal(f"Claude Code could not be started: {text}", details))
