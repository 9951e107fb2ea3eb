"""How full the context window is and what the session has cost: `usage_update` for the client.

Owns the last known figures of the main thread. What a turn used is the prompt's answer and belongs to `Turns`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware.messages import (
    Compaction,
    Message,
    MessageStarted,
    MessageUsage,
    RateLimit,
    Result,
    SessionClosed,
    SessionRestarted,
    TokenCount,
    Usage,
    WindowSize,
)
from middleware.stage import Context, Outcome, Stage, on

from .turn_outcome import common_prefix

DEFAULT_SIZE = 200_000
"""Tokens of a context window that nobody told us (reference 13.3)."""


@attrs.define
class _Session:
    size: int = DEFAULT_SIZE
    usage: TokenCount | None = None
    model: str | None = None
    cost: float | None = None


@attrs.define(eq=False)
class ContextWindow(Stage):
    """Turn what messages and results say of tokens into `Usage`, sent when the total changed and at each result.

    Subagents have a context of their own and are left out. The size is the main model's, learned from results
    (reference 2.7).
    """

    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    @on(MessageStarted)
    def _started(self, message: MessageStarted, context: Context) -> Iterator[Message]:
        yield message
        if message.parent is None and message.usage is not None:
            yield from self._learn(message.session, message.usage, message.model)

    @on(MessageUsage)
    def _usage(self, message: MessageUsage, context: Context) -> Iterator[Message]:
        if message.parent is not None:
            return
        before = self._sessions.setdefault(message.session, _Session()).usage or TokenCount()
        known = {
            "input": message.input,
            "output": message.output,
            "cache_read": message.cache_read,
            "cache_write": message.cache_write,
        }
        usage = attrs.evolve(before, **{name: count for name, count in known.items() if count is not None})
        yield from self._learn(message.session, usage, message.model)

    @on(Result)
    def _result(self, message: Result, context: Context) -> Iterator[Message]:
        """A result is Claude Code's bookkeeping: it ends here, as the figures that the client is shown."""
        state = self._sessions.setdefault(message.session, _Session())
        state.size = _window(message, state.model) or state.size
        state.cost = message.cost if message.cost is not None else state.cost
        if state.usage is not None:
            yield Usage(
                session=message.session,
                used=state.usage.total,
                size=state.size,
                cost=state.cost,
                model=state.model,
                origin=message.origin,
            )

    @on(Compaction)
    def _compaction(self, message: Compaction, context: Context) -> Iterator[Message]:
        """What is left is the summary (reference 10.12)."""
        yield message
        if message.state == "completed" and message.tokens is not None:
            yield from self._learn(message.session, TokenCount(input=message.tokens), None)

    @on(RateLimit)
    def _limit(self, message: RateLimit, context: Context) -> Iterator[Message]:
        """A client that shows limits reads them here; where nothing is known of the context, none is sent."""
        yield message
        state = self._sessions.get(message.session)
        if state is not None and state.usage is not None:
            used, size, model = state.usage.total, state.size, state.model
            yield Usage(session=message.session, used=used, size=size, model=model, rate_limit=message.info)

    @on(SessionRestarted)
    def _restarted(self, message: SessionRestarted, context: Context) -> Iterator[Message]:
        """The context is empty now (reference 5.7)."""
        yield message
        if message.session in self._sessions:
            yield from self._learn(message.session, TokenCount(), None)

    @on(WindowSize)
    def _size(self, message: WindowSize, context: Context) -> None:
        """Claude Code says it before the first result does."""
        self._sessions.setdefault(message.session, _Session()).size = message.size

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    def _learn(self, session: str, usage: TokenCount, model: str | None) -> Iterator[Message]:
        state = self._sessions.setdefault(session, _Session())
        if model is not None:
            state.model = model
        before, state.usage = state.usage, usage
        if before is None or before.total != usage.total:
            yield Usage(session=session, used=usage.total, size=state.size, model=state.model)


def _window(result: Result, model: str | None) -> int | None:
    """The context window of the main model: the entry whose name is closest to what answered last."""
    best, length = None, -1
    for name, figures in result.model_usage.items():
        size = figures.get("contextWindow")
        shared = common_prefix(name, model or "")
        if isinstance(size, int) and size > 0 and shared > length:
            best, length = size, shared
    return best
