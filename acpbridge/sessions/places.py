"""Where Claude Code keeps what it remembers of sessions, and which file is whose. Blocking: for worker threads.

    <CLAUDE_CONFIG_DIR or ~/.claude>/projects/<working directory, encoded>/<session id>.jsonl
                                                                          /<session id>/subagents/agent-<id>.jsonl

A session id comes from a client: it is looked at (`is_session_id`) before it becomes part of a path. How a directory's
name is encoded is Claude Code's affair and differs between its versions for long names, so a transcript is found by its
id in any of the directories (reference 9.3), and only narrowing a listing uses the encoding.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from loguru import logger

_SESSION_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_NOT_ENCODED = re.compile(r"[^a-zA-Z0-9]", re.ASCII)

LONGEST_NAME = 200
"""Characters of an encoded directory name; a longer one is cut here and ends with a hash."""


def is_session_id(text: str) -> bool:
    """Whether this is a uuid: nothing else names a transcript, and nothing else comes near a path."""
    return _SESSION_ID.fullmatch(text) is not None


def config_directory() -> Path:
    """Claude Code's own directory: settings, transcripts."""
    given = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(unicodedata.normalize("NFC", given)) if given else Path.home() / ".claude"


def project_directories() -> Iterator[Path]:
    """The directories with transcripts; one that cannot be read is left out, with a log line."""
    projects = config_directory() / "projects"
    try:
        with os.scandir(projects) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        logger.warning("Claude Code's transcripts cannot be read: {}", error)
        return
    yield from (projects / name for name in names)


def directories_of(cwd: str) -> list[Path]:
    """Where the transcripts of a working directory are: usually one place.

    Several working directories share an encoded name (`a.b` and `a-b`), so what is found still has to be asked for its
    directory. A name that was cut is matched by its beginning: the hash behind it differs between versions.
    """
    encoded = _NOT_ENCODED.sub("-", canonical(cwd))
    if len(encoded) <= LONGEST_NAME:
        return [place for place in project_directories() if place.name == encoded]
    beginning = encoded[:LONGEST_NAME] + "-"
    return [place for place in project_directories() if place.name.startswith(beginning)]


def canonical(path: str) -> str:
    """A directory as Claude Code records it: symbolic links followed, in composed Unicode."""
    return unicodedata.normalize("NFC", os.path.realpath(path))


def find_transcript(session: str) -> Path | None:
    """The transcript of a session: the one written last, if several directories hold one. None when there is none.

    A directory, a pipe or anything else but a file that has its name is none.

    Raises:
        ValueError: the id is no session id.
    """
    if not is_session_id(session):
        raise ValueError(f"not a session id: {session[:80]!r}")
    found: list[tuple[float, Path]] = []
    for directory in project_directories():
        path = directory / f"{session}.jsonl"
        try:
            info = path.stat()
            if stat.S_ISREG(info.st_mode):
                found.append((info.st_mtime, path))
        except FileNotFoundError:
            continue
        except OSError as error:
            logger.warning("a transcript in {} cannot be looked at: {}", directory.name, error)
    return max(found)[1] if found else None


def open_transcript(path: Path) -> BinaryIO:
    """Open a transcript for reading. What is no file is not waited for, as opening a pipe would.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  # the caller's
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "is no file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    """Windows has no pipes among its files, and no such flag."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def subagent_transcripts(transcript: Path) -> list[Path]:
    """The transcripts of a session's subagents, in no particular order."""
    folder = transcript.with_suffix("") / "subagents"
    try:
        return [path for path in folder.iterdir() if path.name.startswith("agent-") and path.suffix == ".jsonl"]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        logger.warning("the subagents of session {} cannot be read: {}", transcript.stem, error)
        return []
