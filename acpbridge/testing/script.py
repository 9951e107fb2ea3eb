"""The vocabulary of a script: what the scripted model says, step by step.

A *reply* is a sequence of steps and answers one request of Claude Code; a *script* is a sequence of replies (rounds),
one for each model request of a turn: a reply that ends in `UseTool` makes Claude Code run the tool and ask again,
which is the next round.

Nothing here touches a socket or a clock (server.py), knows the wire format (sse.py) or the text form of a script
(directive.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import attrs

CHARACTERS_EACH = 8
"""Characters in one text or thinking delta unless a step says otherwise."""

JSON_CHARACTERS_EACH = 40
"""Characters in one `input_json_delta` unless a step says otherwise."""


class Gate:
    """A place where a reply stands still until the test opens it; made with `ScriptedModel.gate()`.

    A gate opens once and stays open. All methods may be called from any thread.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._open = False
        self._reached = threading.Event()
        self._wakers: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"Gate({self.name!r}, {'open' if self._open else 'closed'})"

    @property
    def is_open(self) -> bool:
        """Whether `open()` was called."""
        return self._open

    def open(self) -> None:
        """Let every reply that stands here, or comes here later, go on."""
        with self._lock:
            self._open = True
            wakers = tuple(self._wakers)
        for wake in wakers:
            wake()

    def wait_reached(self, timeout: float = 10.0) -> None:
        """Return once a reply has come to this gate; all that it said before has been given to the socket by then.

        Raises TimeoutError after `timeout` seconds.
        """
        if not self._reached.wait(timeout):
            raise TimeoutError(f"no reply came to the gate {self.name!r} within {timeout} s: was its script chosen?")

    def arrive(self, wake: Callable[[], None]) -> None:
        """For the server: a reply has come here; `wake` is called when the gate opens."""
        with self._lock:
            self._wakers.append(wake)
        self._reached.set()

    def leave(self, wake: Callable[[], None]) -> None:
        """For the server: the reply that gave `wake` no longer stands here."""
        with self._lock:
            self._wakers.remove(wake)


def _above_zero(_instance: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"{attribute.name} is {value}, but must be at least 1")


def _not_negative(_instance: object, attribute: attrs.Attribute[Any], value: float | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{attribute.name} is {value} s, but must not be negative")


def _joined(instance: Say | Think, _attribute: object, value: tuple[str, ...] | None) -> None:
    if value is not None and "".join(value) != instance.text:
        raise ValueError("the chunks of a step, joined, must be its text")


def _maybe_tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


@attrs.frozen
class Say:
    """Text. Steps of the same sort that follow each other go on in one content block.

    `each`: characters in one delta. `chunks`: the deltas themselves instead (joined they are `text`). `pause`:
    seconds between two deltas; 0 streams as fast as the socket takes it. `Say("")` opens the message and its block
    and says nothing.
    """

    text: str
    each: int = attrs.field(default=CHARACTERS_EACH, kw_only=True, validator=_above_zero)
    chunks: tuple[str, ...] | None = attrs.field(default=None, kw_only=True, converter=_maybe_tuple, validator=_joined)
    pause: float = attrs.field(default=0.0, kw_only=True, validator=_not_negative)

    @classmethod
    def pieces(cls, pieces: Sequence[str], *, pause: float = 0.0) -> Say:
        """Text given as its deltas."""
        return cls("".join(pieces), chunks=tuple(pieces), pause=pause)


@attrs.frozen
class Think:
    """Thinking, split as in `Say`; its block ends with a `signature_delta`."""

    text: str
    each: int = attrs.field(default=CHARACTERS_EACH, kw_only=True, validator=_above_zero)
    chunks: tuple[str, ...] | None = attrs.field(default=None, kw_only=True, converter=_maybe_tuple, validator=_joined)
    pause: float = attrs.field(default=0.0, kw_only=True, validator=_not_negative)

    @classmethod
    def pieces(cls, pieces: Sequence[str], *, pause: float = 0.0) -> Think:
        """Thinking given as its deltas."""
        return cls("".join(pieces), chunks=tuple(pieces), pause=pause)


@attrs.frozen
class UseTool:
    """A tool call, always a content block of its own; the reply then stops with `tool_use`.

    `input`: the arguments, a JSON object; `$CWD` in its strings is replaced (see `ScriptedModel`). `id`: the tool_use
    id, else a new one. `pieces`: the number of `input_json_delta` events after the empty first one. `pause`: seconds
    between them.
    """

    name: str
    input: dict[str, Any] = attrs.Factory(dict)
    id: str | None = attrs.field(default=None, kw_only=True)
    pieces: int | None = attrs.field(default=None, kw_only=True, validator=_above_zero)
    pause: float = attrs.field(default=0.0, kw_only=True, validator=_not_negative)


@attrs.frozen
class Pause:
    """Stand still for some seconds. As the first step: before the answer's head is sent."""

    seconds: float = attrs.field(validator=_not_negative)


@attrs.frozen
class Wait:
    """Stand still until the gate opens or the client goes away. As the first step: before the answer's head is sent."""

    gate: Gate


@attrs.frozen
class Usage:
    """The reply's numbers of tokens, wherever it stands in the reply. `output`: None counts four characters as one
    token. `cache_hour`: how many of `cache_creation` are cached for an hour, and not for five minutes."""

    input: int = 100
    output: int | None = None
    cache_read: int = attrs.field(default=0, kw_only=True)
    cache_creation: int = attrs.field(default=0, kw_only=True)
    cache_hour: int = attrs.field(default=0, kw_only=True)


@attrs.frozen
class Stop:
    """The stop reason, instead of `end_turn` or `tool_use`: max_tokens, refusal, stop_sequence, pause_turn, ..."""

    reason: str


ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The `error.type` that belongs to an HTTP status, as Anthropic's API documents it."""


@attrs.frozen
class Fail:
    """Answer with an HTTP error instead of a message; only before the first content of a reply.

    `type` and `message`: of the error object, else what belongs to the status. `retry_after`: seconds, the header of
    that name. `times`: fail so many tries of this request and then go on with the next step; None fails always.
    """

    status: int = 529
    type: str | None = None
    message: str | None = None
    retry_after: float | None = attrs.field(default=None, kw_only=True, validator=_not_negative)
    times: int | None = attrs.field(default=None, kw_only=True, validator=_above_zero)

    @property
    def body(self) -> dict[str, Any]:
        """The error object of the answer."""
        kind = self.type or ERROR_TYPES.get(self.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": self.message or f"scripted {kind}"}}


@attrs.frozen
class FailInStream:
    """An SSE `error` event, after which the stream ends. To a request that does not stream: HTTP 529. `times` as in
    `Fail`."""

    type: str = "overloaded_error"
    message: str = "Overloaded"
    times: int | None = attrs.field(default=None, kw_only=True, validator=_above_zero)

    @property
    def body(self) -> dict[str, Any]:
        """The data of the event."""
        return {"type": "error", "error": {"type": self.type, "message": self.message}}


@attrs.frozen
class Cut:
    """The connection is reset. `times` as in `Fail`.

    A reset may overtake data that the client has not read (Windows throws it away): to be sure that the text before
    it is seen, put a `Wait` before the cut and open its gate when the text has come.
    """

    times: int | None = attrs.field(default=None, kw_only=True, validator=_above_zero)


Failure: TypeAlias = Fail | FailInStream | Cut
Step: TypeAlias = Say | Think | UseTool | Pause | Wait | Usage | Stop | Failure
Reply: TypeAlias = Sequence[Step]
Script: TypeAlias = Sequence[Reply]


def checked(script: Script) -> tuple[tuple[Step, ...], ...]:
    """The script as tuples.

    Raises TypeError for what is not a list of lists of steps, ValueError for a `Fail` after content (the answer's
    status is sent by then; `FailInStream` is meant).
    """
    replies = []
    for number, reply in enumerate(script):
        if not isinstance(reply, Sequence):
            raise TypeError(
                f"round {number} of the script is {reply!r}: a script is a list of rounds, a round a list of steps"
            )
        begun = False
        for step in reply:
            if not isinstance(step, Step):
                raise TypeError(f"round {number} of the script has {step!r}, which is not a step")
            if isinstance(step, Fail) and begun:
                raise ValueError(f"round {number} of the script fails with a status after content: use FailInStream")
            begun = begun or isinstance(step, Say | Think | UseTool)
        replies.append(tuple(reply))
    return tuple(replies)


def due(reply: Reply, attempt: int) -> Iterator[Step]:
    """The steps to play at the `attempt`-th try (from 1) of the same request: failures whose `times` are used up are
    left out, and nothing is played after the failure that is due."""
    failed = attempt - 1
    for step in reply:
        if not isinstance(step, Failure):
            yield step
        elif step.times is not None and failed >= step.times:
            failed -= step.times
        else:
            yield step
            return


def in_directory(step: Step, cwd: str) -> Step:
    """The step, with `$CWD` in a tool's input replaced."""
    return attrs.evolve(step, input=_replaced(step.input, cwd)) if isinstance(step, UseTool) else step


def _replaced(value: Any, cwd: str) -> Any:
    if isinstance(value, str):
        return value.replace("$CWD", cwd)
    if isinstance(value, dict):
        return {key: _replaced(item, cwd) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, cwd) for item in value]
    return value
