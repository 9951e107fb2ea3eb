"""How a notice is shown: as a `notice` to a client that takes them, else as a paragraph in the chat (reference 10.3).

Owns, by session, which of the notices that are told once were told. Where notices come from is the agent end's
business.
"""

from __future__ import annotations

import re

import attrs

from middleware import acp
from middleware.messages import Notice, SessionClosed, Text, Update
from middleware.stage import Context, Outcome, on

from .client_aware import ClientAware

LONGEST_TITLE = 256

FALLBACK = {"warning": "Claude reported a warning"}
"""The title of a notice whose own is too long, by severity; `Claude reported a notice` for the rest."""

_REMEMBERED = 256
"""Notices that are told once, by session: far more than a turn has."""

_MARKS = (
    (re.compile(r"^#+\s*", re.MULTILINE), ""),
    (re.compile(r"\*\*(.+?)\*\*"), r"\1"),
    (re.compile(r"__(.+?)__"), r"\1"),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
)
"""What of Markdown is taken out of plain text, and what stays of it."""


@attrs.define(eq=False)
class Notices(ClientAware):
    """`Notice` in; `notice` updates or text out."""

    _told: dict[str, dict[str, None]] = attrs.field(factory=dict, init=False)

    @on(Notice)
    def _notice(self, message: Notice, context: Context) -> Outcome:
        if not self._profile.notices:
            return None if message.where == "notices" else _paragraph(message)
        if message.where == "transcript" or (message.once is not None and self._is_told(message.session, message.once)):
            return None
        title, description = _title(message)
        update = acp.Notice(severity=message.severity, title=title, description=description)
        return Update(session=message.session, update=update)

    def _is_told(self, session: str, once: str) -> bool:
        told = self._told.setdefault(session, {})
        known = once in told
        told[once] = None
        if len(told) > _REMEMBERED:
            del told[next(iter(told))]
        return known

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._told.pop(message.session, None)
        return message


def _paragraph(notice: Notice) -> Text | Update:
    if notice.meta is None:
        return Text(session=notice.session, text=as_text(notice), synthetic=True)
    content = acp.TextContent(text=as_text(notice))
    return Update(session=notice.session, update=acp.AgentMessageChunk(content=content, meta=dict(notice.meta)))


def as_text(notice: Notice) -> str:
    """The notice in a transcript, as a paragraph of its own."""
    if notice.transcript is not None:
        return f"{notice.transcript}\n\n"
    return f"**{notice.title}:** {notice.description}\n\n" if notice.description else f"**{notice.title}**\n\n"


def _title(notice: Notice) -> tuple[str, str | None]:
    """Title and description; a title that is too long becomes part of the description."""
    fallback = notice.fallback or FALLBACK.get(notice.severity, "Claude reported a notice")
    title, description = plain(notice.title), plain(notice.description or "")
    if len(title) > LONGEST_TITLE:
        return fallback, f"{title}\n{description}" if description else title
    return title or fallback, description or None


def plain(text: str) -> str:
    """Without the marks of Markdown that stand for themselves in plain text."""
    for mark, rest in _MARKS:
        text = mark.sub(rest, text)
    return text.strip()
