"""An idle session with a long conversation is compacted before Claude's cache forgets it (reference 10.12, last part).

The cache keeps a conversation for an hour. Compacting it shortly before that costs little; the first prompt after it
would pay for all of it once more. So a session that has been idle for `delay` since its last request to the model gets
a `/compact` prompt from here, which no client asked for and no client is answered for. Whatever the person does before
that, stops it.

Owns, by session, what is known of that request, and the prompt of ours that runs. Whether it is wished is asked of
Claude Code's settings when the time has come, so that a change of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
from loguru import logger

from middleware import acp
from middleware.ids import new_uuid
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Cancel,
    Compaction,
    Message,
    MessageStarted,
    Prompt,
    PromptState,
    RateLimit,
    SessionClosed,
    SessionRestarted,
    Text,
    TurnEnded,
    Usage,
    WorkState,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

DELAY = 54 * 60.0
"""Seconds from the last request to the model: the cache's hour, less some minutes for the compaction itself."""

LATE = 60.0
"""Seconds by which a timer may be late: behind that the machine slept, and the cache has forgotten."""

LEAST = 100_000
"""Tokens that a conversation must have, whatever is set; `USUAL` where nothing is."""

USUAL = 200_000
LEAST_VARIABLE = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"

_OFF = ("idleCompaction", "autoCompactEnabled")
"""Settings that turn it off with `false`."""

_DISABLED = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
"""Variables that turn it off."""

_YES = frozenset({"1", "true", "yes", "on"})

_OURS = "idleCompaction "
"""What our requests and calls begin with."""


@attrs.define
class _Session:
    seen: float | None = None  # when the last request of the main thread was first heard of
    message: str | None = None
    hour: bool = False  # the cache was seen to keep things for an hour
    used: int = 0  # tokens
    limited: bool = False  # a limit of the account is near or reached
    tried: bool = False  # for this request
    busy: bool = False
    prompts: set[str] = attrs.field(factory=set)  # the client's, without an answer
    due: float | None = None
    call: str | None = None
    ours: str | None = None  # our prompt
    runs: bool = False

    @property
    def idle(self) -> bool:
        return not self.busy and not self.prompts and self.ours is None


@attrs.frozen
class _Idle:
    """The key of a session's timer."""

    session: str


@attrs.define(eq=False)
class IdleCompaction(Stage):
    """The idle sessions of a connection.

    Args:
        delay: seconds from the last request to the model.
        environment: the variables that Claude Code is started with; those of its settings come before them.
        new_uuid: where the uuids of prompts come from.
    """

    delay: float = DELAY
    environment: Mapping[str, str] = attrs.field(factory=dict)
    new_uuid: Callable[[], str] = new_uuid
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _calls: int = attrs.field(default=0, init=False)

    # ------------------------------------------------------------------------------------------ what the person does

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        session = self._session(message.session)
        session.prompts.add(message.prompt)
        self._disarm(message.session, session, context)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        self._disarm(message.session, self._session(message.session), context)
        return message

    # ------------------------------------------------------------------------------------------ what is known of it

    @on(MessageStarted)
    def _message_started(self, message: MessageStarted, context: Context) -> Outcome:
        if message.parent is None:
            session = self._session(message.session)
            session.hour = session.hour or message.hour_cache
            if message.message != session.message:
                session.message, session.seen, session.tried = message.message, context.now(), False
                self._disarm(message.session, session, context)
        return message

    @on(Usage)
    def _usage(self, message: Usage, context: Context) -> Outcome:
        self._session(message.session).used = message.used
        return message

    @on(RateLimit)
    def _limit(self, message: RateLimit, context: Context) -> Outcome:
        self._session(message.session).limited = message.info.get("status", "allowed") != "allowed"
        return message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Outcome:
        session = self._session(message.session)
        session.busy = message.state != "idle"
        self._arm(message.session, session, context)
        return message

    # ------------------------------------------------------------------------------------------ arming and firing

    def _arm(self, name: str, session: _Session, context: Context) -> None:
        """Set the timer where the session is idle and there is something to gain, or take it back."""
        gain = session.hour and session.used >= LEAST and not session.limited and not session.tried
        if session.seen is None or not session.idle or not gain:
            self._disarm(name, session, context)
            return
        session.due = session.seen + self.delay
        context.set_timer(_Idle(name), max(session.due - context.now(), 0.0))

    def _disarm(self, name: str, session: _Session, context: Context) -> None:
        if session.due is not None:
            context.cancel_timer(_Idle(name))
        session.due = session.call = None

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        assert isinstance(expired.key, _Idle)
        name = expired.key.session
        session = self._sessions.get(name)
        if session is None or session.due is None:
            return
        if context.now() - session.due > LATE:
            logger.info("session {}: it is too late for a compaction of an idle session", name)
            self._disarm(name, session, context)
            return
        self._calls += 1
        session.call = f"{_OURS}{self._calls}"
        yield AgentCall(session=name, call=session.call, name="get_settings")

    @on(AgentReply)
    def _reply(self, message: AgentReply, context: Context) -> Iterator[Message]:
        if not message.call.startswith(_OURS):
            yield message
            return
        session = self._sessions.get(message.session)
        if session is None or session.call != message.call:
            return  # something happened meanwhile
        self._disarm(message.session, session, context)
        settings = message.result.get("effective") if isinstance(message.result, dict) else None
        if message.failure is not None or not isinstance(settings, dict):
            logger.info("session {}: its settings could not be read, so it is not compacted", message.session)
        elif not self._wished(settings) or session.used < self._least(settings):
            session.tried = True
            logger.info("session {}: it is idle, and its settings keep it from a compaction", message.session)
        else:
            session.tried, session.ours = True, self.new_uuid()
            logger.info("session {}: it is idle and is compacted", message.session)
            yield Prompt(
                session=message.session,
                request=f"{_OURS}{session.ours}",
                prompt=session.ours,
                content=(acp.TextContent(text="/compact"),),
            )

    def _wished(self, settings: Mapping[str, Any]) -> bool:
        if any(settings.get(name) is False for name in _OFF):
            return False
        return not any(self._variable(name, settings).strip().lower() in _YES for name in _DISABLED)

    def _least(self, settings: Mapping[str, Any]) -> int:
        wish = self._variable(LEAST_VARIABLE, settings).strip()
        return max(LEAST, int(wish) if wish.isascii() and wish.isdigit() and len(wish) < 16 else USUAL)

    def _variable(self, name: str, settings: Mapping[str, Any]) -> str:
        given = settings.get("env")
        return str(given[name]) if isinstance(given, dict) and name in given else self.environment.get(name, "")

    # ------------------------------------------------------------------------------------------ our prompt

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Outcome:
        session = self._session(message.session)
        if message.state == "started":
            session.runs = message.prompt == session.ours
        return message

    @on(Compaction)
    def _compaction(self, message: Compaction, context: Context) -> Outcome:
        session = self._session(message.session)
        session.tried = session.tried or message.state == "completed"
        return attrs.evolve(message, trigger="idle") if session.runs and message.trigger is not None else message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        """What Claude Code says of our prompt is no answer to anybody; the compaction itself is shown."""
        session = self._sessions.get(message.session)
        return None if session is not None and session.runs and message.parent is None else message

    @on(TurnEnded)
    def _turn_ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if message.prompt == session.ours:
            session.ours, session.runs = None, False
            if message.failure is not None:
                logger.info("session {}: it was not compacted: {}", message.session, message.failure.message)
            return
        session.prompts.discard(message.prompt)
        yield message
        self._arm(message.session, session, context)

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone, SessionRestarted)
    def _gone(self, message: AgentGone | SessionRestarted, context: Context) -> Outcome:
        session = self._session(message.session)
        session.seen, session.message, session.used = None, None, 0
        session.busy = session.busy and not isinstance(message, AgentGone)
        self._disarm(message.session, session, context)
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        session = self._sessions.pop(message.session, None)
        if session is not None:
            self._disarm(message.session, session, context)
        return message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())
