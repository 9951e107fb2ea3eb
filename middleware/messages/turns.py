"""Words about prompts and turns: asked, started, cancelled, ended, and what they used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from middleware import acp
from middleware.errors import Failure

from .base import Key, Message, RequestId, ToAgent, ToClient
from .connection import RequestFailed


@attrs.frozen(kw_only=True)
class Prompt(ToAgent):
    """`session/prompt`. `prompt` is the uuid under which Claude Code knows it: whatever it produces carries it back."""

    session: str
    request: RequestId
    prompt: str
    content: tuple[acp.ContentBlock, ...]
    meta: Mapping[str, Any] | None = None

    @property
    def opens(self) -> Key:
        return "request", self.request

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (RequestFailed(request=self.request, failure=failure),)


@attrs.frozen(kw_only=True)
class Cancel(ToAgent):
    """`session/cancel`: stop all work of the session that was asked for so far."""

    session: str


@attrs.frozen(kw_only=True)
class Interrupt(ToAgent):
    """Stop the running turn, and drop these queued prompts before it, in this order on one wire.

    A bare interrupt right behind a prompt is acknowledged and lost (examples/facts 5), so the prompts that have no
    answer yet are all named.
    """

    session: str
    drop: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Interrupted(ToClient):
    """Claude Code's receipt of an interrupt: which of the named prompts it dropped. A dropped prompt has no result."""

    session: str
    dropped: tuple[str, ...] = ()


PromptStage = Literal["queued", "started", "completed", "cancelled", "discarded", "refused"]


@attrs.frozen(kw_only=True)
class PromptState(ToClient):
    """Claude Code's `command_lifecycle`: where it is with a prompt. `started` comes at dequeue, before any output."""

    session: str
    prompt: str
    state: PromptStage


@attrs.frozen(kw_only=True)
class PromptEchoed(ToClient):
    """Claude Code repeated a prompt: the model has it. The start of a turn where no `PromptState` comes."""

    session: str
    prompt: str


@attrs.frozen(kw_only=True)
class RequestStarted(ToClient):
    """Claude Code asks the model (`system/status requesting`), for these prompts; None where it does not say."""

    session: str
    prompts: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class WorkState(ToClient):
    """Claude Code's `session_state_changed`."""

    session: str
    state: Literal["idle", "running", "requires_action"]


@attrs.frozen(kw_only=True)
class TokenCount:
    """Tokens of one message, result or turn."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@attrs.frozen(kw_only=True)
class Result(ToClient):
    """Claude Code's `result`: a turn, or work that it started by itself, is over.

    `prompts` are the uuids that it names, empty where it stamps nothing. `origin` is who asked ("human",
    "task-notification", ...), None where it does not say. `model_usage` is the running total of the session by model.
    """

    session: str
    prompts: tuple[str, ...] = ()
    subtype: str = "success"
    is_error: bool = False
    text: str = ""
    errors: tuple[str, ...] = ()
    stop_reason: str | None = None
    terminal_reason: str | None = None
    origin: str | None = None
    num_turns: int = 1
    usage: TokenCount = TokenCount()
    cost: float | None = None
    model_usage: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class RateLimit(ToClient):
    """What Claude Code says of the limits of the account, as it words it (`rate_limit_event`)."""

    session: str
    info: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class AgentGone(ToClient):
    """Claude Code of this session has ended; `failure` says why when nobody asked it to.

    `prompts` are those that it had been given: a later one goes to its successor. None where nobody counts: all.
    """

    session: str
    failure: Failure | None = None
    prompts: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class WorkStopped(ToClient):
    """What a cancel stopped has ended; whatever of it is open at the client is closed now, before the answers."""

    session: str


StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


@attrs.frozen(kw_only=True)
class TurnEnded(ToClient):
    """The answer of a `Prompt`: the client is told that the work on it has ended.

    `usage` is None for a prompt that never ran. With `failure` the client gets an error instead of a stop reason.
    """

    session: str
    request: RequestId
    prompt: str
    stop_reason: StopReason = "end_turn"
    usage: TokenCount | None = None
    model_usage: tuple[tuple[str, TokenCount], ...] = ()
    failure: Failure | None = None

    @property
    def answers(self) -> Key:
        return "request", self.request
