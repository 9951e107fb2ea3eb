"""What the person is told of a session that is no answer of the model's: the notices and their words.

When each is told is decided where it happens (`opened`, `choices`); how a client without notices sees them, in the
stage `Notices`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from middleware.messages import Notice

from . import modes

Problem = tuple[str, str, str]
"""Of a settings file: the file, the path of the value in it, and what is wrong there."""


def problems(found: Iterable[Mapping[str, Any]]) -> set[Problem]:
    """The problems of settings files that `get_settings` names."""
    return {(str(each.get("file", "")), str(each.get("path", "")), str(each.get("message", ""))) for each in found}


def settings_file(session: str, file: str, path: str, what: str) -> Notice:
    place = f"{file} ({path})" if path else file
    text = f"{place}: {what}. What it sets there is ignored."
    return Notice(session=session, severity="warning", title="Settings file not valid", description=text)


def default_mode(session: str, configured: str, mode: str) -> Notice:
    """The settings want the session to begin in a mode that is not to be had."""
    text = f'"{configured}" of the settings is not available here; this session begins in {modes.name_of(mode)}.'
    return Notice(session=session, severity="warning", title="Default mode not available", description=text)


def missing_subagents(session: str, count: int) -> Notice:
    """A replay was without some subagents (reference 7.9)."""
    were = "1 subagent" if count == 1 else f"{count} subagents"
    text = f"The history of {were} of this session could not be restored."
    return Notice(session=session, title="Some subagent history is not available", description=text)


def agent_waits(session: str) -> Notice:
    """The agent that was chosen does not answer yet."""
    text = "It answers with its own instructions and tools once the work in the background has ended."
    return Notice(session=session, severity="info", title="Agent chosen", description=text)


def not_restored(session: str, name: str, wish: str, why: str) -> Notice:
    """What was chosen before is not to be had any more."""
    text = f"{wish} is not available any more ({why})."
    return Notice(session=session, severity="warning", title=f"{name.capitalize()} not restored", description=text)


def no_auto(session: str) -> Notice:
    """The model took the session out of Auto (reference 6.1)."""
    title, text = "Auto mode unavailable", "he selected model does not support Auto mode; using Accept edits instead."
    return Notice(
        session=session, severity="warning", title=title, description=f"T{text}", transcript=f"**{title}:** t{text}"
    )


def fast_ended(session: str, why: str) -> Notice:
    """Fast mode was on and is not to be had any more (reference 6.5)."""
    text = f"{why[0].upper()}{why[1:]}."
    return Notice(session=session, severity="warning", title="Fast mode turned off", description=text)
