"""While a session has no Claude Code: the old one died, or gives way to one that carries out a plan.

Here is what waits meanwhile (`Absence`), how the wait ends, and what is told when it ends badly. What is started, and
with which options, is `session`'s business; how often that is tried, `restart`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import Any

import attrs
from loguru import logger

from middleware.errors import Failure
from middleware.messages import AgentGone, AgentReply, Prompt

from .successor import Predecessor

GONE = (
    "Claude Code ended unexpectedly ({}). Send the prompt again: it is started anew and goes on with the conversation."
)

NOT_BACK = "Claude Code ended and could not be started again: {}"

NOT_CLEARED = "Claude Code could not be started with an empty context, so the plan was not carried out: {}"

CLOSED = "the session is closed"
"""Why no other Claude Code is started: nobody wants one any more."""

_UNWANTED = (CLOSED, "was closed before it had started")

Death = Mapping[str, Any]
"""What is known of the end of a Claude Code: `exitCode` (int or None) and `stderr` (its last lines)."""


def ended_unexpectedly(death: Death) -> Failure:
    """What the user is told of a Claude Code that died, with the last line that it wrote."""
    last = death["stderr"].splitlines()[-1].strip()[:200] if death["stderr"] else ""
    why = f"exit code {death['exitCode']}" + (f": {last}" if last else "")
    return Failure.internal(GONE.format(why), death)


@attrs.define(eq=False)
class HeldPrompts:
    """The prompts that are for the next Claude Code, in the order in which it gets them."""

    _held: list[Prompt] = attrs.field(factory=list, init=False)

    def add(self, *prompts: Prompt) -> None:
        self._held += prompts

    def put_first(self, prompts: Iterable[Prompt]) -> None:
        """Those that came before all that are held."""
        self._held = [*prompts, *self._held]

    def drop(self, prompts: Container[str]) -> tuple[str, ...]:
        """An interrupt names prompts: those of them that were held, and are not any more."""
        dropped = tuple(prompt.prompt for prompt in self._held if prompt.prompt in prompts)
        self._held = [prompt for prompt in self._held if prompt.prompt not in dropped]
        return dropped

    def take(self) -> list[Prompt]:
        held, self._held = self._held, []
        return held


@attrs.define(eq=False)
class Absence:
    """From the end of one Claude Code of a session until there is another one.

    Args:
        session: the session's name.
        feed: puts messages into the pipeline.
        held: what waits for the next one.
        old: the Claude Code that gives way, until its successor has started; None where it died.
        filling: the task that starts another one; None while nobody asked for one, or when it failed.
    """

    session: str
    feed: Callable[..., None]
    held: HeldPrompts
    old: Predecessor | None = None
    filling: asyncio.Task[None] | None = None

    def drop(self, prompts: Container[str]) -> tuple[str, ...]:
        """An interrupt names prompts: those that were the old one's and are not carried on."""
        return () if self.old is None else self.old.drop(prompts)

    async def end(
        self, start: Callable[[], Awaitable[None]], death: Callable[[Exception], Death]
    ) -> tuple[Prompt, ...] | None:
        """Have `start` bring another Claude Code.

        Returns what is to be given to it before what is held. None: there is none, and all who wait for it were told,
        with what `death` says of it. Raises nothing but the task's own cancellation.
        """
        old = self.old
        try:
            if old is not None:
                await old.end()
            await start()
        except Exception as error:
            text = NOT_BACK if old is None else NOT_CLEARED
            if any(words in str(error) for words in _UNWANTED):
                logger.debug("session {}: no Claude Code is started any more: {}", self.session, error)
            else:
                logger.opt(exception=error).error("session {}: {}", self.session, text.format(type(error).__name__))
            failure = Failure.internal(text.format(error), death(error))
            lost = (*(() if old is None else old.running), *(prompt.prompt for prompt in self.held.take()))
            if old is not None:
                self.feed(AgentReply(session=self.session, call=old.restart.call, failure=failure))
            self.feed(AgentGone(session=self.session, failure=failure, prompts=lost))
            return None
        if old is None:
            return ()
        self.feed(AgentReply(session=self.session, call=old.restart.call))
        return old.task()
