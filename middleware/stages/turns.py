"""Which prompt does the work belong to, and when is it answered: exactly once, in every case.

    queued --started or echoed--> running --its result--> answered
       \\--cancel--> answered        \\--cancel--> stopping --its result, idle, gone, or 30 s--> answered

Owns the prompts of a session that have no answer yet. A prompt goes to Claude Code at once, with a uuid; what comes
back names it, so a result ends exactly the prompts that it names (several, when Claude Code folded them into one turn).
Guessing by position is the fallback for a Claude Code that stamps nothing: `_guess`.

What of a stopped turn may still be shown is `CancelDrop`'s question, which stands on the client's side: it sees the
answers that are given here. docs/cancel-window.md tells the whole story.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from loguru import logger

from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    Cancel,
    Closing,
    Interrupt,
    Interrupted,
    Message,
    MessageCompleted,
    Prompt,
    PromptEchoed,
    PromptState,
    Request,
    RequestFailed,
    Result,
    SessionClosed,
    StopReason,
    Text,
    Thought,
    TokenCount,
    TurnEnded,
    WorkState,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

from .turn_outcome import ModelTotals, is_autonomous, outcome_of

BACKSTOP = 30.0
"""Seconds from the first cancel after which a stopped turn is answered although Claude Code says nothing (C43)."""

NO_RESULT = (
    "The turn ended without a result: the agent went idle while this prompt was still in flight (e.g. the model stream "
    "dropped mid-turn). Any partial output may be incomplete; please retry."
)
ENDED = "The Claude Agent session has ended. Please start a new session."


@attrs.define
class _Turn:
    request: int | str
    prompt: str
    running: bool = False
    cancelled: bool = False


@attrs.define
class _Session:
    turns: list[_Turn] = attrs.field(factory=list)  # without an answer, in the order of their prompts
    idle: bool = True
    stamped: bool = False  # this Claude Code names prompts, so nothing is ever guessed
    shown: bool = False  # something of the running work was said aloud since the last result
    error: str | None = None  # what the last complete message said went wrong
    totals: ModelTotals = attrs.field(factory=ModelTotals)

    def find(self, prompt: str) -> _Turn | None:
        return next((turn for turn in self.turns if turn.prompt == prompt), None)


@attrs.frozen
class _Backstop:
    """The key of a session's timer from the first cancel on."""

    session: str


@attrs.define(eq=False)
class Turns(Stage):
    """The prompts of all sessions of a connection."""

    backstop: float = BACKSTOP
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    # ------------------------------------------------------------------------------------------ from the client

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._session(message.session).turns.append(_Turn(message.request, message.prompt))
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Iterator[Message]:
        """Answer what never ran, in order, and stop the rest. Prompts that come after this run (C8, C18, C24, C25)."""
        session = self._session(message.session)
        fresh = [turn for turn in session.turns if not turn.cancelled]
        if not fresh and (session.turns or session.idle):
            return  # a second cancel, or nothing to stop
        for turn in fresh:
            turn.cancelled = True
        for turn in fresh:
            if not turn.running:
                yield from self._end(message.session, turn, "cancelled")
        if any(turn.running for turn in fresh):
            context.set_timer(_Backstop(message.session), self.backstop)
        yield Interrupt(session=message.session, drop=tuple(turn.prompt for turn in fresh))

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        """A session that is closed is cancelled first (C3); its answers come before the close's (`SessionClosed`)."""
        if message.method in ("session/close", "session/delete") and message.session in self._sessions:
            for turn in self._sessions[message.session].turns:
                turn.cancelled = True
        return message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Outcome:
        """The agent end stops everything now: what ends from here on was cancelled."""
        for session in self._sessions.values():
            for turn in session.turns:
                turn.cancelled = True
        return message

    # ------------------------------------------------------------------------------------------ from Claude Code

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.stamped = True
        turn = session.find(message.prompt)
        if turn is not None and message.state == "started":
            yield from self._run(message.session, turn)
        yield message
        if turn is not None and turn in session.turns and message.state not in ("queued", "started"):
            # Its result comes before this where there is one, so nothing else will ever answer this prompt.
            yield from self._end_by_state(message, turn)

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Iterator[Message]:
        turn = self._session(message.session).find(message.prompt)
        if turn is not None:
            yield from self._run(message.session, turn)
        yield message

    @on(Interrupted)
    def _interrupted(self, message: Interrupted, context: Context) -> Iterator[Message]:
        """A prompt that Claude Code dropped from its queue has no result (examples/facts 7)."""
        session = self._session(message.session)
        for prompt in message.dropped:
            turn = session.find(prompt)
            if turn is not None:
                yield from self._end(message.session, turn, "cancelled")
        yield message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if message.parent is None and message.text and not isinstance(message, Thought):
            self._session(message.session).shown = True
        return message

    @on(MessageCompleted)
    def _completed(self, message: MessageCompleted, context: Context) -> Outcome:
        if message.parent is None:
            self._session(message.session).error = message.error
        return message

    @on(Result)
    def _result(self, message: Result, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.stamped = session.stamped or bool(message.prompts)
        by_model = session.totals.advance(message.model_usage)
        shown, session.shown = session.shown, False
        error, session.error = session.error, None
        turns = self._named(session, message)
        if not turns:
            if message.prompts and not is_autonomous(message):
                return  # the late result of prompts that have their answers
            yield message
            return
        outcome = outcome_of(message, shown=shown, error_kind=error)
        if outcome.text and not turns[-1].cancelled:
            yield Text(session=message.session, text=outcome.text)
        yield message
        for turn in turns:
            last = turn is turns[-1]
            yield from self._end(
                message.session,
                turn,
                "cancelled" if turn.cancelled else outcome.stop_reason,
                # Prompts that were folded into one turn share its result: it is counted once, with the last.
                usage=message.usage if last else TokenCount(),
                model_usage=by_model if last else (),
                failure=None if turn.cancelled else outcome.failure,
            )

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.idle = message.state == "idle"
        yield message
        if session.idle:
            for turn in [turn for turn in session.turns if turn.running]:
                # The result comes before the idle on the wire: there is none (02.6 g).
                failure = None if turn.cancelled else Failure.internal(NO_RESULT, {"errorKind": "no_result"})
                yield from self._end(
                    message.session, turn, "cancelled" if turn.cancelled else "end_turn", failure=failure
                )

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.idle = True
        yield message
        for turn in list(session.turns):
            failure = None if turn.cancelled else message.failure or Failure.internal(ENDED)
            yield from self._end(message.session, turn, "cancelled" if turn.cancelled else "end_turn", failure=failure)

    @on(RequestFailed)
    def _request_failed(self, message: RequestFailed, context: Context) -> Outcome:
        """The agent end could not take a prompt: that is its answer."""
        for name, session in self._sessions.items():
            for turn in session.turns:
                if turn.request == message.request:
                    return tuple(self._end(name, turn, "end_turn", failure=message.failure))
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        session = self._sessions.get(message.session)
        if session is not None:
            context.cancel_timer(_Backstop(message.session))
            for turn in list(session.turns):
                yield from self._end(message.session, turn, "cancelled")
            del self._sessions[message.session]
        yield message

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        """Claude Code is wedged: the client has its answer, and the stream is still read (C43)."""
        assert isinstance(expired.key, _Backstop)
        name = expired.key.session
        session = self._sessions.get(name)
        for turn in [turn for turn in session.turns if turn.cancelled] if session else ():
            logger.warning("session {}: Claude Code did not stop within {} s of the cancel", name, self.backstop)
            yield from self._end(name, turn, "cancelled")

    def close(self, context: Context) -> Iterator[Message]:
        for name, session in self._sessions.items():
            for turn in list(session.turns):
                yield from self._end(name, turn, "cancelled")

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _run(self, name: str, turn: _Turn) -> Iterator[Message]:
        """A prompt's turn begins: the stopped turns before it are over, whatever became of their results."""
        turn.running = True
        session = self._session(name)
        if not turn.cancelled:
            for earlier in session.turns[: session.turns.index(turn)]:
                if earlier.cancelled:
                    yield from self._end(name, earlier, "cancelled")

    def _named(self, session: _Session, result: Result) -> list[_Turn]:
        named = [turn for turn in session.turns if turn.prompt in result.prompts]
        if named or result.prompts or is_autonomous(result):
            return named
        return self._guess(session, result)

    def _guess(self, session: _Session, result: Result) -> list[_Turn]:
        """Whose result is it, where Claude Code does not say? The prompt that runs, else the oldest."""
        running = [turn for turn in session.turns if turn.running]
        waiting = [] if session.stamped else session.turns[:1]
        guessed = running[:1] or waiting
        if guessed:
            logger.info("session {}: an unstamped result is taken for prompt {}", result.session, guessed[0].prompt)
        return guessed

    def _end_by_state(self, message: PromptState, turn: _Turn) -> Iterator[Message]:
        if turn.cancelled or message.state == "cancelled":
            yield from self._end(message.session, turn, "cancelled")
        elif message.state == "completed":
            yield from self._end(message.session, turn, "end_turn", usage=TokenCount())
        else:
            failure = Failure.internal(f"Claude Code {message.state} the prompt.")
            yield from self._end(message.session, turn, "end_turn", failure=failure)

    def _end(
        self,
        name: str,
        turn: _Turn,
        stop_reason: StopReason,
        *,
        usage: TokenCount | None = None,
        model_usage: tuple[tuple[str, TokenCount], ...] = (),
        failure: Failure | None = None,
    ) -> Iterator[Message]:
        self._sessions[name].turns.remove(turn)
        yield TurnEnded(
            session=name,
            request=turn.request,
            prompt=turn.prompt,
            stop_reason=stop_reason,
            usage=usage,
            model_usage=model_usage,
            failure=failure,
        )
