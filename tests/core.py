"""What the tests of the library's core share: two words without a meaning, the smallest stages, and the log.

A test of one rule should not know what a `Text` is; `Up` and `Down` are numbered, so that an order can be read off.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import attrs
from loguru import logger

from middleware import Context, Expired, Message, Outcome, Stage, ToAgent, ToClient, on
from middleware.errors import Failure
from middleware.messages import Answer, Ask, Key, RequestFailed


@attrs.frozen(kw_only=True)
class Up(ToAgent):
    """A message toward the agent."""

    number: int = 0
    session: str = "s"


@attrs.frozen(kw_only=True)
class Down(ToClient):
    """A message toward the client."""

    number: int = 0
    session: str = "s"


@attrs.frozen(kw_only=True)
class Wish(ToAgent):
    """A request of the client."""

    request: int = 1
    session: str = "s"

    @property
    def opens(self) -> Key:
        return "request", self.request

    def failed(self, failure: Failure) -> tuple[Message, ...]:
        return (RequestFailed(request=self.request, failure=failure),)


@attrs.frozen(kw_only=True)
class Granted(ToClient):
    """The answer of a `Wish`."""

    request: int = 1
    session: str = "s"

    @property
    def answers(self) -> Key:
        return "request", self.request


@attrs.frozen(kw_only=True)
class Refusal(Answer):
    """An ask's denial."""

    reason: str


@attrs.frozen(kw_only=True)
class Question(Ask):
    """An ask of the agent."""

    def denied(self, reason: str) -> Answer:
        return Refusal(session=self.session, ask=self.ask, reason=reason)


class Pass(Stage):
    """Knows nothing, so everything passes."""


@attrs.define(eq=False)
class Log(Stage):
    """Lets everything pass and keeps it, in the order in which it came."""

    seen: list[Message] = attrs.field(factory=list)

    @on(Message)
    def _message(self, message: Message, context: Context) -> Outcome:
        self.seen.append(message)
        return message


class Echo(Stage):
    """Lets `Up(n)` pass and answers it with `Down(n)` from its own position."""

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        return message, Down(number=message.number)


class Fails(Stage):
    """Fails on every message, with a text that nobody but the log may see."""

    @on(Message)
    def _message(self, message: Message, context: Context) -> Outcome:
        raise RuntimeError("secret-in-the-exception")


@attrs.define(eq=False)
class Alarm(Stage):
    """`Up(number=n)` sets the timer `n` for `seconds`; what expired is told to the client as `Down(n)`."""

    seconds: float = 2.0
    expired: list[tuple[Hashable, float]] = attrs.field(factory=list)

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        context.set_timer(message.number, self.seconds)
        return None

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Outcome:
        self.expired.append((expired.key, context.now()))
        assert isinstance(expired.key, int)
        return Down(number=expired.key)


@attrs.define(eq=False)
class Does(Stage):
    """Does what it is given with each message: for what a single test needs of a stage."""

    act: Callable[[Message | Expired, Context], Outcome]

    @on(Message, Expired)
    def _any(self, message: Message | Expired, context: Context) -> Outcome:
        return self.act(message, context)


@contextmanager
def logged() -> Iterator[list[str]]:
    """What is logged inside, a text an entry: level, message, and the trace of an exception."""
    entries: list[str] = []
    handler = logger.add(entries.append, level=0, format="{level} {message}", diagnose=False)
    try:
        yield entries
    finally:
        logger.remove(handler)
