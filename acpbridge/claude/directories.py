"""The directory that Claude Code names, as the client knows it: looked at here, since a stage does no I/O."""

from __future__ import annotations

import os
from collections.abc import Iterable

import attrs

from middleware.messages import Message, SubagentPlace


def placed(messages: Iterable[Message], cwd: str) -> tuple[Message, ...]:
    """Messages of a session that works in `cwd`, each place in the client's words; one that is no path is left out.

    Claude Code follows symbolic links, and the client may not have: the session's own directory must not look like
    another one.
    """
    found = ((_as_said(message, cwd) if isinstance(message, SubagentPlace) else message) for message in messages)
    return tuple(message for message in found if message is not None)


def _as_said(place: SubagentPlace, cwd: str) -> SubagentPlace | None:
    if not os.path.isabs(place.cwd):
        return None
    return attrs.evolve(place, cwd=cwd) if place.cwd != cwd and _real(place.cwd) == _real(cwd) else place


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
