"""What a session is called: Claude Code makes a title from what was said, the client is told (reference 9.8).

    when                                       what the client is told
    -----------------------------------------  ---------------------------------------------------------------
    a prompt says enough, nobody named it yet  a title that is made of the prompt
    a turn ends, its prompt said too little    a title that is made of the last that both sides said
    a turn ends, no title could be made        what the list has: the first prompt
    a turn ends, the person has named it       that name (`/rename`, or another program)

A title is made once: what follows is the same conversation. Owns, for one session, the last title that the client was
told, and what a title could be made of. Runs on the SDK loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
from loguru import logger

from middleware import acp
from middleware.messages import Prompt, Update

from .heads import StoredTitles, clean_title

SHORTEST = 10
"""Characters of a text that says what a session is about."""

CONTEXT = 1000
"""Characters of what was said last of which a title is made."""


@attrs.define(eq=False)
class Titles:
    """The title of one session.

    Args:
        session: the ACP session id.
        ask: makes a control request.
        feed: puts messages into the pipeline.
        now: the time as ACP writes it.
        stored: what the session's transcript says of its title.
    """

    session: str
    ask: Callable[..., Awaitable[Any]]
    feed: Callable[..., None]
    now: Callable[[], str]
    stored: Callable[[], Awaitable[StoredTitles]]
    _told: str | None = attrs.field(default=None, init=False)
    _settled: bool = attrs.field(default=False, init=False)  # it has its title, or the client gave it one
    _context: str = attrs.field(default="", init=False)
    _asked: bool = attrs.field(default=False, init=False)  # for a title, since the last prompt
    _cancelled: bool = attrs.field(default=False, init=False)  # the last turn
    _making: bool = attrs.field(default=False, init=False)
    _closed: bool = attrs.field(default=False, init=False)
    _epoch: int = attrs.field(default=0, init=False)  # what is asked of another one is not for this conversation

    def known(self, stored: StoredTitles) -> None:
        """The session has these titles from before; the client has the one that the list shows."""
        self._told = clean_title(stored.shown or "") or None
        self._settled = stored.custom is not None or stored.made is not None

    def given(self) -> None:
        """The client gave the session its title."""
        self._settled = True

    def close(self) -> None:
        """The session is closed: nothing is told of it any more."""
        self.forget()
        self._closed = True

    def forget(self) -> None:
        """The conversation was cleared, and with it what it is about: what is being made is nobody's."""
        self._epoch += 1
        self._told, self._context = None, ""
        self._settled = self._asked = self._making = False

    # ------------------------------------------------------------------------------------------ what was said

    def prompted(self, prompt: Prompt) -> str | None:
        """Take in what was asked; the text that a title is to be made of now, if any (`make`)."""
        texts = [block.text for block in prompt.content if isinstance(block, acp.TextContent)]
        said = "\n".join(texts).strip()
        self._asked = self._cancelled = False
        if said.startswith("/"):
            return None
        self._hear(said)
        if self._settled or self._making or len(said) < SHORTEST:
            return None
        self._asked = True
        return said

    def observe(self, frame: Mapping[str, Any]) -> None:
        """Take in what Claude said, and whether its turn was stopped."""
        message = frame.get("message")
        if frame.get("type") == "result":
            self._cancelled = str(frame.get("terminal_reason", "")).startswith("aborted")
        elif frame.get("type") == "assistant" and frame.get("parent_tool_use_id") is None and isinstance(message, dict):
            blocks = message.get("content") if message.get("model") != "<synthetic>" else None
            for block in blocks if isinstance(blocks, list) else ():
                if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
                    self._hear(block["text"])

    def _hear(self, text: str) -> None:
        if not self._settled:
            self._context = f"{self._context}\n{text}".strip()[-CONTEXT:]

    # ------------------------------------------------------------------------------------------ making one

    async def make(self, description: str) -> None:
        """Give the session its name: the one that somebody chose, else one that is made of this text."""
        epoch, self._making = self._epoch, True
        try:
            stored = await self.stored()
            if epoch == self._epoch and stored.custom is not None:
                self._settle(stored.custom)
                return
            await self._make(description, epoch)
        finally:
            if epoch == self._epoch:
                self._making = False

    async def idle(self) -> None:
        """A turn is over: adopt what the person calls the session, or see that it is called something."""
        epoch = self._epoch
        stored = await self.stored()
        if epoch != self._epoch or self._closed:
            return
        if stored.custom is not None:
            self._settle(stored.custom)
        elif self._settled or self._making:
            return
        elif not self._asked and not self._cancelled and len(self._context) >= SHORTEST:
            self._asked = True
            await self.make(self._context)
        elif stored.shown is not None:
            self.tell(stored.shown)

    async def _make(self, description: str, epoch: int) -> None:
        """Have Claude Code make a title and write it down; tried again with the next prompt when it makes none."""
        title = None
        try:
            answer = await self.ask("generate_session_title", description=description, persist=True)
            title = answer.get("title") if isinstance(answer, dict) else None
        except Exception as error:
            logger.info("session {}: no title was made: {}", self.session, error)
        if epoch != self._epoch or self._settled:
            return
        if isinstance(title, str) and title.strip():
            self._settle(title)
            return
        stored = await self.stored()
        if epoch == self._epoch and stored.shown is not None:
            self.tell(stored.shown)

    def _settle(self, title: str) -> None:
        self._settled, self._context = True, ""
        self.tell(title)

    def tell(self, title: str) -> None:
        """Tell the client, unless it knows."""
        title = clean_title(title)
        if title and title != self._told:
            self._told = title
            update = acp.SessionInfoUpdate(title=title, updated_at=self.now())
            self.feed(Update(session=self.session, update=update))
