"""How a notice is shown: as a `notice` to a client that takes them, else as a line of text (reference 10.3).

No state but what the client declared. Where notices come from is the agent end's business.
"""

from __future__ import annotations

import re

import attrs

from middleware import acp
from middleware.messages import Initialized, Notice, Text, Update
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on

LONGEST_TITLE = 256

_HEADING = re.compile(r"^#+\s*")


@attrs.define(eq=False)
class Notices(Stage):
    """`Notice` in; `notice` updates or text out."""

    _profile: ClientProfile = attrs.field(factory=ClientProfile, init=False)

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        self._profile = message.profile
        return message

    @on(Notice)
    def _notice(self, message: Notice, context: Context) -> Outcome:
        if not self._profile.notices:
            return Text(session=message.session, text=as_text(message), synthetic=True)
        title, description = _title(message)
        update = acp.Notice(severity=message.severity, title=title, description=description)
        return Update(session=message.session, update=update)


def as_text(notice: Notice) -> str:
    """The notice in a transcript, as a paragraph of its own."""
    return f"**{notice.title}:** {notice.description}\n\n" if notice.description else f"**{notice.title}**\n\n"


def _title(notice: Notice) -> tuple[str, str | None]:
    """Title and description; a title that is too long becomes part of the description."""
    title = plain(notice.title) or "Claude reported a notice"
    if len(title) <= LONGEST_TITLE:
        return title, plain(notice.description) if notice.description else None
    fallback = "Claude reported a warning" if notice.severity == "warning" else "Claude reported a notice"
    return fallback, f"{title}\n{notice.description}" if notice.description else title


def plain(text: str) -> str:
    """Without the marks of Markdown that stand for themselves in plain text."""
    without = _HEADING.sub("", text.strip())
    return without.replace("**", "").replace("__", "").replace("`", "")
