"""What a stage is: a state machine that is handed one message and returns messages.

A stage never blocks, sleeps, does I/O or reads a clock other than `context.now()`. To wait is to keep state and set a
timer. Its state belongs to the instance and is touched by one thread only, so it needs no locks. docs/write-a-stage.md
builds one step by step.

    class Shout(Stage):
        @on(Text)
        def _text(self, message: Text, context: Context) -> Outcome:
            return attrs.evolve(message, text=message.text.upper())
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from types import FunctionType
from typing import Any, ClassVar, Final, Protocol, TypeVar

import attrs

from .errors import StageDefinitionError, StageOutputError
from .messages import Message, ToAgent, ToClient

Outcome = Iterable[Message] | Message | None
"""What a handler returns: nothing (the message is dropped), one message (passed or replaced), or several."""

_Handler = TypeVar("_Handler", bound=Callable[..., Outcome])

_DIRECTED: Final = (ToAgent, ToClient)
"""What can be routed: a class of no direction belongs to neither neighbour."""


@attrs.frozen
class Expired:
    """A timer of this stage is due. `key` is what `set_timer` was given."""

    key: Hashable


class Context(Protocol):
    """What a runner lets a stage do."""

    def now(self) -> float:
        """Monotonic time in seconds."""
        ...

    def set_timer(self, key: Hashable, seconds: float) -> None:
        """Have `Expired(key)` handed to this stage once, `seconds` from now. The same key replaces."""
        ...

    def cancel_timer(self, key: Hashable) -> None:
        """Forget the timer. One that is not set is no error."""
        ...


def on(*kinds: type) -> Callable[[_Handler], _Handler]:
    """Mark a method as the handler of these message classes and of their subclasses (the nearest class wins).

    A method that overrides a handler handles the same classes; with an `@on` of its own it handles those instead.

    Raises:
        StageDefinitionError: no class is named. What is named is looked at when the stage's class is created.
    """
    if not kinds:
        raise StageDefinitionError("@on() names no message class")
    if isinstance(kinds[0], FunctionType):
        raise StageDefinitionError(f"{_place(kinds[0])}: @on needs the message classes, as in @on(Text)")

    def mark(handler: _Handler) -> _Handler:
        handler.__on__ = (*getattr(handler, "__on__", ()), *kinds)  # type: ignore[attr-defined]
        return handler

    return mark


class Stage:
    """The parent of all stages. What no handler names passes through unchanged."""

    _handlers: ClassVar[dict[type, str]] = {}
    _found: ClassVar[dict[type, str | None]] = {}  # the nearest handler of each class that came, None for none

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        handlers: dict[type, str] = {}
        for parent in reversed(cls.__mro__):  # all of them: a handler may come from a second parent
            own = _marked(parent)
            handlers = {kind: name for kind, name in handlers.items() if name not in own.values()} | own
        cls._handlers = handlers
        cls._found = {}

    @property
    def name(self) -> str:
        """How logs and threads call this stage."""
        return type(self).__name__

    def handle(self, message: Message | Expired, context: Context) -> Iterable[Message]:
        """Take one message and say what follows from it. The runner takes all of the answer before it routes."""
        kind = type(message)
        try:
            handler = self._found[kind]
        except KeyError:
            handler = self._found[kind] = self._nearest(kind)
        if handler is None:
            return (message,) if isinstance(message, Message) else ()
        method = getattr(self, handler)
        return outcome_messages(method(message, context), method)

    def passes(self, kind: type) -> bool:
        """Whether messages of this class pass unchanged, so that a runner need not ask."""
        if type(self).handle is not Stage.handle:
            return False
        if kind not in self._found:
            self._found[kind] = self._nearest(kind)
        return self._found[kind] is None

    def _nearest(self, kind: type) -> str | None:
        """The handler of the nearest class that has one."""
        return next((self._handlers[parent] for parent in kind.__mro__ if parent in self._handlers), None)

    def close(self, context: Context) -> Iterable[Message]:
        """Say what is still owed to the client; called once, after the last message, agent side first.

        What is owed to the agent must be settled at `Closing`, while the agent can still be reached.
        """
        return ()


def outcome_messages(outcome: Outcome, handler: Callable[..., Any]) -> tuple[Message, ...]:
    """The messages of a handler's answer.

    Raises:
        StageOutputError: the answer holds something that is no message, or one of no direction. The text names the
            handler's file and line, and of the answer its class only: it is logged, and contents are not.
    """
    if outcome is None:
        return ()
    if isinstance(outcome, _DIRECTED):
        return (outcome,)
    try:
        messages = tuple(outcome)  # type: ignore[arg-type]  # a message of no direction fails here too
    except TypeError as error:
        if isinstance(outcome, Iterable):
            raise  # the handler is a generator and failed inside
        raise StageOutputError(f"{_place(handler)} returned {_kind(outcome)}") from error
    for message in messages:
        if not isinstance(message, _DIRECTED):
            raise StageOutputError(f"{_place(handler)} returned {_kind(message)} among its messages")
    return messages


def _marked(parent: type) -> dict[type, str]:
    """The handlers that a class defines itself: by what they handle, the names of the methods."""
    own: dict[type, str] = {}
    for name, member in vars(parent).items():
        for kind in getattr(member, "__on__", ()):
            if not (isinstance(kind, type) and issubclass(kind, Message | Expired)):
                raise StageDefinitionError(f"{_place(member)}: @on({kind!r}) is no message class")
            if own.setdefault(kind, name) != name:
                raise StageDefinitionError(f"{_place(member)}: {own[kind]} handles {kind.__name__} already")
    return own


def _kind(answer: Any) -> str:
    wanted = "a message toward the agent or the client"
    return f"{answer!r}, a class and not {wanted}" if isinstance(answer, type) else f"{type(answer)!r}, not {wanted}"


def _place(function: Any) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)
