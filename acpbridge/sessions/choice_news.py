"""What is told of a session's choices when they are others: to the stages, and to the client (reference 06)."""

from __future__ import annotations

from middleware import acp
from middleware.messages import Message, SessionModes, Update

from . import config_options
from .config_options import Chosen


def session_modes(session: str, chosen: Chosen) -> SessionModes:
    """The modes as the stages know them; nothing for the client."""
    return SessionModes(session=session, available=chosen.modes, current=chosen.mode)


def news_of(session: str, before: Chosen, after: Chosen, *, booleans: bool) -> list[Message]:
    """The messages for what is another choice now.

    Args:
        session: the ACP session id.
        before, after: the choices.
        booleans: the client takes options that are on or off.
    """
    news: list[Message] = []
    if (before.mode, before.modes) != (after.mode, after.modes):
        news.append(session_modes(session, after))
    if before.mode != after.mode:
        news.append(Update(session=session, update=acp.CurrentModeUpdate(current_mode_id=after.mode)))
    listed = config_options.options(after, booleans=booleans)
    if config_options.options(before, booleans=booleans) != listed:
        news.append(Update(session=session, update=acp.ConfigOptionUpdate(config_options=listed)))
    return news
