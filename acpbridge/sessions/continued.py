"""Which conversation a session is at: after `/clear` Claude Code goes on under another id, the ACP session does not.

The client knows one id for as long as it likes (reference 9.11), also after the program was started anew. So the newest
conversation of a session is written down, one small file a session, beside Claude Code's own:

    <CLAUDE_CONFIG_DIR>/acpbridge/conversations/<session id>     its text: the conversation's id

A session that was never cleared has no file, and its conversation has its own id. Blocking: for worker threads.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from loguru import logger

from .places import config_directory, find_transcript, is_session_id
from .transcripts import has_conversation


def conversation_of(session: str) -> str:
    """The conversation that a session is at.

    Raises:
        ValueError: the id is no session id.
    """
    if not is_session_id(session):
        raise ValueError(f"not a session id: {session[:80]!r}")
    return _read(_directory() / session) or session


def conversations() -> dict[str, str]:
    """Session ids by the conversation that each is at, for all sessions that were ever cleared."""
    try:
        files = [path for path in _directory().iterdir() if is_session_id(path.name)]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        logger.warning("which sessions were cleared cannot be read: {}", error)
        return {}
    return {conversation: path.name for path in files if (conversation := _read(path)) is not None}


def remember(session: str, conversation: str) -> None:
    """The session goes on as this conversation. A failure is logged: the session works on, until the program ends."""
    if not is_session_id(session) or not is_session_id(conversation):
        logger.error("session {}: the conversation it goes on as has no usable id", session[:80])
        return
    path = _directory() / session
    fresh = path.with_name(f"{session}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(conversation, encoding="ascii")
        fresh.replace(path)
    except OSError as error:
        logger.error("session {}: the conversation it goes on as cannot be written down: {}", session, error)


def where_to_go_on(session: str, conversation: str) -> tuple[str, bool]:
    """Under which id Claude Code can go on with a conversation, and whether there is anything to go on with.

    Claude Code neither resumes a transcript in which nothing was said, nor begins one under an id that has a file. So
    what died before anything of it was written goes on under a new id.

    Raises:
        OSError: the transcript cannot be read.
    """
    transcript = find_transcript(conversation)
    if transcript is None:
        return conversation, False
    if has_conversation(transcript):
        return conversation, True
    fresh = str(uuid.uuid4())
    remember(session, fresh)
    return fresh, False


def forget(session: str) -> None:
    """The session is deleted.

    Raises:
        ValueError: the id is no session id.
        OSError: its file cannot be removed.
    """
    if not is_session_id(session):
        raise ValueError(f"not a session id: {session[:80]!r}")
    (_directory() / session).unlink(missing_ok=True)


def _directory() -> Path:
    return config_directory() / "acpbridge" / "conversations"


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("session {}: the conversation it goes on as cannot be read: {}", path.name, error)
        return None
    return text if is_session_id(text) else None
