"""What a session is called: Claude Code makes a title from what was asked, the client is told (reference 9.8).

Owns, for one session, the last title that the client was told and whether one is being made. Runs on the SDK loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from loguru import logger

from middleware import acp
from middleware.messages import Prompt, Update

from .heads import clean_title

SHORTEST = 10
"""Characters of a prompt that says what a session is about."""

_CONTEXT = 1000
"""Characters of the prompts so far of which a title is made."""


@attrs.define(eq=False)
class Titles:
    """The title of one session.

    Args:
        session: the ACP session id.
        ask: makes a control request.
        feed: puts messages into the pipeline.
        now: the time as ACP writes it.
    """

    session: str
    ask: Callable[..., Awaitable[Any]]
    feed: Callable[..., None]
    now: Callable[[], str]
    _told: str | None = attrs.field(default=None, init=False)
    _settled: bool = attrs.field(default=False, init=False)
    _asked: str = attrs.field(default="", init=False)
    _making: bool = attrs.field(default=False, init=False)

    def known(self, title: str | None) -> None:
        """The session has this title from before; the client has it from the list."""
        if title:
            self._told, self._settled = title, True

    def forget(self) -> None:
        """The conversation was cleared: it is about something else from here on."""
        self._settled, self._asked = False, ""

    def wants(self, prompt: Prompt) -> bool:
        """Take in what was asked, and say whether it is time to make a title of it."""
        texts = [block.text for block in prompt.content if isinstance(block, acp.TextContent)]
        said = "\n".join(texts).strip()
        if not said.startswith("/"):
            self._asked = f"{self._asked}\n{said}".strip()[-_CONTEXT:]
        return not self._settled and not self._making and len(self._asked) >= SHORTEST

    async def make(self) -> None:
        """Have Claude Code make a title and write it down; tried again with the next prompt when it fails."""
        self._making, asked = True, self._asked
        try:
            answer = await self.ask("generate_session_title", description=asked, persist=True)
        except Exception as error:
            logger.info("session {}: no title was made: {}", self.session, error)
            return
        finally:
            self._making = False
        title = answer.get("title") if isinstance(answer, dict) else None
        if isinstance(title, str) and title.strip() and self._asked:
            self._settled = True
            self.tell(title)

    def tell(self, title: str) -> None:
        """Tell the client, unless it knows."""
        title = clean_title(title)
        if title and title != self._told:
            self._told = title
            update = acp.SessionInfoUpdate(title=title, updated_at=self.now())
            self.feed(Update(session=self.session, update=update))
