"""What a session is taken up again with: the choices that were made in it (reference 9.3, last paragraphs).

Mode and model stand in the transcript, near its end: they are what was really used, also by another program. The rest,
and what was chosen after the last turn, is written down by us, one small file a session:

    <CLAUDE_CONFIG_DIR>/acpbridge/choices/<session id>     {"<option>": {"value": ..., "at": "<time>"}}

Of two that disagree the later one counts. Blocking: for worker threads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from loguru import logger

from . import modes
from .places import config_directory, is_session_id
from .records import model_of
from .transcripts import Record, tail_records

_SEARCHED = 4000
"""Records that are looked at from the end; further back stands nothing that still holds."""

Dated = dict[str, tuple[str, str]]
"""Value and time of an option, by its name."""


def choices_of(session: str, transcript: Path | None) -> dict[str, str]:
    """The choices of a session, by option.

    Raises:
        OSError: the transcript cannot be read.
    """
    found = _facts(transcript) if transcript is not None else {}
    for name, (value, at) in _written(session).items():
        if name not in found or found[name][1] < at:
            found[name] = (value, at)
    return {name: value for name, (value, _) in found.items()}


def was_chosen(session: str, name: str) -> bool:
    """Whether the client ever chose this option, so that more than what was used speaks for it."""
    return name in _written(session)


def write_choice(session: str, name: str, value: str, at: str) -> None:
    """Write a choice down. A failure is logged: the choice holds as long as the session is open."""
    if not is_session_id(session):
        return
    known = {option: {"value": text, "at": time} for option, (text, time) in _written(session).items()}
    path = _path(session)
    fresh = path.with_name(f"{session}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps({**known, name: {"value": value, "at": at}}), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        logger.error("session {}: the choice of {} cannot be written down: {}", session, name, error)


def forget(session: str) -> None:
    """The session is deleted. Raises OSError when its file cannot be removed."""
    if is_session_id(session):
        _path(session).unlink(missing_ok=True)


def _path(session: str) -> Path:
    return config_directory() / "acpbridge" / "choices" / session


def _written(session: str) -> Dated:
    try:
        written = json.loads(_path(session).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.warning("session {}: its choices cannot be read: {}", session, error)
        return {}
    found = {}
    for name, choice in written.items() if isinstance(written, dict) else ():
        value, at = (choice.get("value"), choice.get("at")) if isinstance(choice, dict) else (None, None)
        if isinstance(value, str) and isinstance(at, str):
            found[name] = (value, at)
    return found


def _facts(transcript: Path) -> Dated:
    """Mode and model at the end of a transcript, of the main thread."""
    found: Dated = {}
    mode_over, left_plan = False, False
    for index, record in enumerate(tail_records(transcript)):
        if index >= _SEARCHED or ("model" in found and mode_over):
            break
        if record.get("isSidechain"):
            continue
        if "model" not in found and (model := model_of(record)) is not None:
            found["model"] = (model, _time(record))
        if mode_over:
            continue
        left_plan = left_plan or _is_plan_exit(record)
        if record.get("type") == "user":
            mode = modes.normalized(record.get("permissionMode"))
            if mode is not None:
                mode_over = True
                if not (mode == "plan" and left_plan):
                    found["mode"] = (mode, _time(record))
            else:
                origin = record.get("origin")
                mode_over = isinstance(origin, dict) and origin.get("kind") == "human" and not record.get("isMeta")
    return found


def _is_plan_exit(record: Record) -> bool:
    attachment = record.get("attachment")
    return isinstance(attachment, dict) and attachment.get("type") == "plan_mode_exit"


def _time(record: Record) -> str:
    value = record.get("timestamp")
    return value if isinstance(value, str) else ""
