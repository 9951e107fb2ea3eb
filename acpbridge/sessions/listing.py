"""`session/list`: the sessions that were ever begun, newest first, a page at a time (reference 9.5)."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from .continued import conversations
from .failures import RequestRefused
from .heads import read_head
from .places import canonical, directories_of, is_session_id, project_directories

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd

PAGE = 1000
"""Sessions in one answer."""

_CURSOR = re.compile(r"offset:(\d{1,9})", re.ASCII)


async def list_sessions(end: AgentEnd, request: Request) -> acp.ListSessionsResponse:
    """One page of the sessions, of one working directory or of all."""
    params: acp.ListSessionsRequest = request.params
    if params.cwd is not None and (not os.path.isabs(params.cwd) or "\0" in params.cwd):
        raise RequestRefused(
            Failure.invalid_params(f"`cwd` must be an absolute path, but received: {params.cwd}", {"cwd": params.cwd})
        )
    offset = _offset(params.cursor)
    return await asyncio.get_running_loop().run_in_executor(None, page, params.cwd, offset)


def page(cwd: str | None, offset: int, size: int = PAGE) -> acp.ListSessionsResponse:
    """A page from this place on. Rows that are no sessions are left out, so that it may be short. Blocking."""
    wanted = canonical(cwd) if cwd is not None else None
    directories = directories_of(cwd) if cwd is not None else project_directories()
    names = conversations()
    left = _left(names)
    found = [each for each in _transcripts(directories) if each[1].stem not in left]
    found.sort(key=lambda each: (-each[0], each[1].name))
    rows = []
    for modified, path in found[offset : offset + size]:
        row = _row(path, modified, wanted, names.get(path.stem, path.stem))
        if row is not None:
            rows.append(row)
    more = len(found) > offset + size
    return acp.ListSessionsResponse(sessions=rows, next_cursor=f"offset:{offset + size}" if more else None)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise RequestRefused(Failure.invalid_params(f"Unknown session/list cursor: {cursor}"))
    return int(match[1])


def _left(names: dict[str, str]) -> set[str]:
    """Conversations that their session has left by `/clear`: the session is listed as the one that it is at."""
    return {session for conversation, session in names.items() if conversation != session}


def _transcripts(directories: Iterable[Path]) -> list[tuple[float, Path]]:
    """Every transcript and when it was written last."""
    found: dict[str, tuple[float, Path]] = {}
    for directory in directories:
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    name, dot, suffix = entry.name.rpartition(".")
                    if not dot or suffix != "jsonl" or not is_session_id(name):
                        continue
                    modified = _modified(entry)
                    if modified is not None and (name not in found or found[name][0] < modified):
                        found[name] = (modified, directory / entry.name)
        except OSError as error:
            logger.warning("transcripts of {} cannot be listed: {}", directory.name, error)
    return list(found.values())


def _modified(entry: os.DirEntry[str]) -> float | None:
    """When a file was written last; None for what is no file: a directory, a pipe, a link that leads nowhere."""
    try:
        info = entry.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("{} is not listed: {}", entry.name, error)
        return None
    return info.st_mtime if stat.S_ISREG(info.st_mode) else None


def _row(path: Path, modified: float, wanted: str | None, session: str) -> acp.SessionInfo | None:
    try:
        head = read_head(path, modified)
    except OSError as error:
        logger.warning("the transcript of session {} cannot be read: {}", path.stem, error)
        return None
    if head is None or (wanted is not None and canonical(head.cwd) != wanted):
        return None
    return acp.SessionInfo(session_id=session, cwd=head.cwd, title=head.title, updated_at=head.updated_at)
