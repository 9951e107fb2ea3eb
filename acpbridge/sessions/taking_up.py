"""`session/load`, `session/resume` and `session/fork`: a session from before is open again (reference 9.3, 9.4)."""

from __future__ import annotations

import asyncio
import functools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from loguru import logger

from middleware import acp
from middleware.errors import Failure
from middleware.messages import Cancel, Replayed, Request

from . import subagent_history
from .config_options import model_entries
from .continued import conversation_of, where_to_go_on
from .copying import copy_transcript
from .failures import RequestRefused
from .fingerprint import fingerprint
from .heads import StoredTitles, clean_title, read_titles
from .new import check_directories
from .opened import OpenSession
from .opening import Past, open_session
from .places import find_transcript, is_session_id
from .remembered import choices_of, was_chosen

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd

    from .replay import Replay


TURNS_END_WITHIN = 5.0
"""Seconds that cancelled turns have to end before their Claude Code is closed (reference 9.6)."""


@attrs.frozen(kw_only=True)
class _Found:
    """What there is of a session on the disk."""

    conversation: str
    transcript: Path | None
    saved: bool
    choices: dict[str, str]
    model_chosen: bool
    titles: StoredTitles


async def load(end: AgentEnd, request: Request) -> acp.LoadSessionResponse:
    """Take a session up, and tell the client its conversation before the answer."""
    params: acp.LoadSessionRequest = request.params
    check_directories(params.cwd, params.additional_directories)
    async with end.opening(params.session_id):
        before = end.open.get(params.session_id)
        opened, found = await _take_up(end, params)
        if found.transcript is not None:
            replay = await _replay(end, opened, found.transcript, live=opened is before)
            await _tell_subagents(end, opened, found.transcript, told=replay.told, traffic=replay.traffic)
            opened.tell_missing_subagents(replay.traffic.missing, notices=end.profile.notices)
    return acp.LoadSessionResponse(modes=opened.choices.mode_state, config_options=opened.choices.options)


async def resume(end: AgentEnd, request: Request) -> acp.ResumeSessionResponse:
    """Take a session up; the client knows its conversation."""
    params: acp.ResumeSessionRequest = request.params
    check_directories(params.cwd, params.additional_directories)
    async with end.opening(params.session_id):
        opened, found = await _take_up(end, params)
        if found.transcript is not None:
            await _tell_subagents(end, opened, found.transcript)
    return acp.ResumeSessionResponse(modes=opened.choices.mode_state, config_options=opened.choices.options)


async def fork(end: AgentEnd, request: Request) -> acp.ForkSessionResponse:
    """Open a copy of a session under a new id. Of one in which nothing was said yet it is a new session."""
    params: acp.ForkSessionRequest = request.params
    check_directories(params.cwd, params.additional_directories)
    async with end.opening(params.session_id):
        source = await _found(end, params.session_id)
        if source.transcript is None and params.session_id not in end.open:
            raise RequestRefused(Failure.session_not_found(params.session_id))
        past = await _copied(source, source.transcript) if source.saved and source.transcript is not None else None
        name = past.conversation if past is not None else str(uuid.uuid4())
        opened = await open_session(end, name, params, past)
    return acp.ForkSessionResponse(
        session_id=name, modes=opened.choices.mode_state, config_options=opened.choices.options
    )


async def _take_up(end: AgentEnd, params: Any) -> tuple[OpenSession, _Found]:
    """The session, open: as it runs, or started (again)."""
    name = params.session_id
    found = await _found(end, name)
    live = end.open.get(name)
    if live is not None and live.asked == fingerprint(params):
        return live, found
    if live is None and found.transcript is None:
        raise RequestRefused(Failure.session_not_found(name))
    mode = None
    if live is not None:
        # What is wrong with the request is said while the session is open still (reference 9.2).
        (await end.sdk("acpbridge.claude.options")).session_options(params, name)
        logger.info("session {}: is started anew, since it is asked for otherwise", name)
        mode = live.choices.chosen.mode
        end.feed(Cancel(session=name))  # its prompts are cancelled, as by a close (reference 3, C3 and C45)
        try:
            async with asyncio.timeout(TURNS_END_WITHIN):
                await live.rest.come()
        except TimeoutError:
            logger.warning("session {}: its turns did not end within {} s of the cancel", name, TURNS_END_WITHIN)
        await end.close_session(name)
        found = await _found(end, name)  # Claude Code may have written the conversation just now
    past = Past(
        conversation=found.conversation,
        saved=found.saved,
        choices=found.choices,
        mode=mode,
        model_chosen=found.model_chosen,
        titles=found.titles,
    )
    return await open_session(end, name, params, past), found


async def _found(end: AgentEnd, name: str) -> _Found:
    """What there is of a session.

    Raises:
        RequestRefused: -32002, this is the id of no session; -32603, what there is of it cannot be read.
    """
    if not is_session_id(name):
        raise RequestRefused(Failure.session_not_found(name))
    live = end.open.get(name)
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, _look, name, live.conversation if live is not None else None)
    except OSError as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> RequestRefused:
    text = f"The transcript of session {name} cannot be read: {error.strerror or error}"
    return RequestRefused(Failure.internal(text, {"details": str(error)}))


def _look(name: str, conversation: str | None) -> _Found:
    conversation = conversation or conversation_of(name)
    transcript = find_transcript(conversation)
    conversation, saved = where_to_go_on(name, conversation)
    return _Found(
        conversation=conversation,
        transcript=transcript,
        saved=saved,
        choices=choices_of(name, transcript),
        model_chosen=was_chosen(name, "model"),
        titles=read_titles(transcript) if transcript is not None else StoredTitles(),
    )


async def _copied(source: _Found, transcript: Path) -> Past:
    """A copy of a session's transcript under a new id. Raises `RequestRefused`: it cannot be made."""
    title = f"{source.titles.shown or 'Forked session'} (fork)"
    try:
        copy = await asyncio.get_running_loop().run_in_executor(None, copy_transcript, transcript, clean_title(title))
    except OSError as error:
        text = f"Session {source.conversation} cannot be copied: {error.strerror or error}"
        raise RequestRefused(Failure.internal(text, {"details": str(error)})) from error
    titles = StoredTitles(custom=title)
    return Past(conversation=copy, choices=source.choices, model_chosen=source.model_chosen, titles=titles)


async def _tell_subagents(end: AgentEnd, opened: OpenSession, transcript: Path, **replayed: Any) -> None:
    """Tell of the subagents from before, for a client that has child sessions: one may be resumed."""
    if end.profile.subagents:
        history = functools.partial(subagent_history.history, opened.name, transcript, **replayed)
        end.feed(await asyncio.get_running_loop().run_in_executor(None, history))


async def _replay(end: AgentEnd, opened: OpenSession, transcript: Path, *, live: bool) -> Replay:
    """Feed a session's past, a piece at a time, and no faster than the client reads it."""
    module = await end.sdk("acpbridge.sessions.replay")
    flow = await end.sdk("acpbridge.flow")
    replay: Replay = module.Replay(
        session=opened.name,
        cwd=opened.cwd,
        transcript=transcript,
        pipeline=flow.past(),
        profile=end.profile,
        running=opened.rest.busy,
        names=model_entries(opened.choices.chosen),
        live=live,
    )
    loop = asyncio.get_running_loop()
    pieces: Iterator[list[Replayed]] = replay.pieces()
    while piece := await loop.run_in_executor(None, _next, opened.name, pieces):
        end.feed(*piece)
        if (full := opened.claude.flow.wait()) is not None:
            await full
    return replay


def _next(name: str, pieces: Iterator[list[Replayed]]) -> list[Replayed] | None:
    try:
        return next(pieces, None)
    except OSError as error:
        raise _unreadable(name, error) from error
