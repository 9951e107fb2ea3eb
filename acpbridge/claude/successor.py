"""A Claude Code takes another one's place, to carry out a plan with an empty context (reference 5.7).

Here is what is remembered of the old one (`Predecessor`) and what is added to the new one's figures (`Carried`); the
order of the steps is in `session`. docs/clear-context.md tells all of them.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Container, Mapping, Sequence
from typing import Any

import attrs
from loguru import logger

from middleware import acp
from middleware.messages import (
    Answer,
    Message,
    PermissionAnswer,
    Prompt,
    RestartSession,
    Result,
    TokenCount,
)

from . import control
from .events import messages_of
from .instance import Instance
from .tap import Frame

ENDS_WITHIN = 2.0
"""Seconds that the old Claude Code has to end its turn, before it is closed all the same."""

_SUMMED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD")


@attrs.define(eq=False)
class Predecessor:
    """The old Claude Code, from the moment on from which nothing of it is fed.

    `dropped` are prompts of it that are answered as cancelled already.
    """

    session: str
    restart: RestartSession
    claude: Instance
    dropped: set[str] = attrs.field(factory=set)
    result: Result | None = attrs.field(default=None, init=False)
    _answered: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _over: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    @property
    def running(self) -> list[str]:
        """The prompts that wait for the plan's end."""
        return [prompt.prompt for prompt in self.claude.given.running if prompt.prompt not in self.dropped]

    def drop(self, prompts: Container[str]) -> tuple[str, ...]:
        """An interrupt names prompts: those of them that are not carried on."""
        dropped = tuple(prompt for prompt in self.running if prompt in prompts)
        self.dropped |= set(dropped)
        return dropped

    def answer(self, message: Answer) -> None:
        """Only the answer to the plan itself is written: it ends the turn, and with it all other asks."""
        if isinstance(message, PermissionAnswer) and message.tool_use == self.restart.tool_use:
            self.claude.answer(message)
            self._answered.set()

    def take(self, frame: Frame) -> None:
        """A frame that nobody is shown."""
        match frame.get("type"):
            case "result":
                found = [message for message in messages_of(self.session, frame) if isinstance(message, Result)]
                self.result = found[0] if found else None
                self._over.set()
            case "__closed__":
                self._answered.set()
                self._over.set()
            case "control_request" if control.notices_of(self.session, frame) is not None:
                self.claude.process.send(control.noted(frame))  # its turn does not end without

    async def end(self) -> None:
        """Wait until its turn has ended, so that its transcript is whole."""
        await self._answered.wait()
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                await self._over.wait()
        except TimeoutError:
            logger.warning("session {}: Claude Code did not end its turn within {} s", self.session, ENDS_WITHIN)

    def task(self) -> tuple[Prompt, ...]:
        """What the new Claude Code is to do, under the uuid of the prompt that waits; nothing where it was cancelled.

        Where several prompts were folded into one turn it is the last: its result ends those before it, too.
        """
        text = f"Implement the following plan:\n\n{self.restart.plan}"
        content = (acp.TextContent(text=text),)
        waits = [prompt for prompt in self.claude.given.running if prompt.prompt in self.running]
        if waits:
            return (attrs.evolve(waits[-1], content=content, meta=None),)
        if self.dropped:
            return ()
        # Work that Claude Code had begun by itself: no prompt waits for the plan's end.
        return (Prompt(session=self.session, request="", prompt=str(uuid.uuid4()), content=content),)


@attrs.define
class Carried:
    """What a session had used before its context was cleared: its figures go on, and do not begin anew."""

    _cost: float | None = None
    _models: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    _seen: Result | None = attrs.field(default=None, init=False)  # the last result, as it was passed on
    _owed: TokenCount | None = attrs.field(default=None, init=False)  # used for a prompt that another one ends
    _prompt: str | None = attrs.field(default=None, init=False)

    def after(self, last: Result | None, running: Sequence[str]) -> Carried:
        """The same for a successor.

        Args:
            last: the result of the turn that was ended for it, as it came; None where there was none.
            running: the prompts of that turn; its usage is a part of the last one's, with which the successor goes on.
        """
        known = self.add(last) if last is not None else self._seen
        carried = Carried() if known is None else Carried(known.cost, dict(known.model_usage))
        if last is not None and running:
            carried._owed, carried._prompt = last.usage, running[-1]
        return carried

    def messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages of a frame, a result with what was used before."""
        return tuple(self.add(message) if isinstance(message, Result) else message for message in messages)

    def add(self, result: Result) -> Result:
        if self._cost is not None and result.cost is not None:
            result = attrs.evolve(result, cost=self._cost + result.cost)
        if self._models:
            result = attrs.evolve(result, model_usage=_summed(self._models, result.model_usage))
        if self._owed is not None and self._prompt in result.prompts:
            result, self._owed = attrs.evolve(result, usage=self._owed + result.usage), None
        self._seen = result
        return result


def _summed(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    summed = dict(before)
    for model, figures in after.items():
        old = before.get(model, {})
        more = {key: figures[key] + old[key] for key in _SUMMED if _is_number(figures.get(key), old.get(key))}
        summed[model] = {**old, **figures, **more}
    return summed


def _is_number(*values: object) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
