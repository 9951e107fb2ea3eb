"""`session/delete`: the session is closed, and what is on the disk of it is removed (reference 9.6)."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from . import continued, remembered
from .failures import RequestRefused
from .places import is_session_id, project_directories

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


async def delete(end: AgentEnd, request: Request) -> acp.DeleteSessionResponse:
    """Delete a session for good. One that there is not is deleted already: the answer is the same.

    Raises:
        RequestRefused: -32603, a file of it cannot be removed. It is not open any more.
    """
    params: acp.DeleteSessionRequest = request.params
    name = params.session_id
    async with end.opening(name):
        live = end.open.get(name)
        await end.close_session(name)
        if is_session_id(name):
            conversation = live.conversation if live is not None else None
            try:
                await asyncio.get_running_loop().run_in_executor(None, _remove, name, conversation)
            except OSError as error:
                text = f"Session {name} cannot be deleted: {error.strerror or error}"
                raise RequestRefused(Failure.internal(text, {"details": str(error)})) from error
    return acp.DeleteSessionResponse()


def _remove(name: str, conversation: str | None) -> None:
    """Remove a session's transcripts, those of its subagents, and what we wrote down of it. Raises OSError."""
    for each in {name, conversation or continued.conversation_of(name)}:
        for directory in project_directories():
            transcript = directory / f"{each}.jsonl"
            if transcript.is_file() or transcript.is_symlink():
                transcript.unlink(missing_ok=True)
            place = directory / each
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
    continued.forget(name)
    remembered.forget(name)
