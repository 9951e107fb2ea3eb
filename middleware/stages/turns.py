"""Which prompt does the work belong to, and when is it answered: exactly once, in every case.

Owns the prompts of a session that have no answer yet (`OpenTurns` says in which states they are). A prompt goes to
Claude Code at once, with a uuid; what comes back names it, so a result ends exactly the prompts that it names (several,
when Claude Code folded them into one turn). Guessing by position is the fallback for a Claude Code that names nothing.

What of a stopped turn may still be shown is `CancelDrop`'s question, which stands on the client's side: it sees the
answers that are given here. docs/cancel-window.md tells the whole story, and names the test of each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from loguru import logger

from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    Cancel,
    CancelRequest,
    Closing,
    Compaction,
    Interrupt,
    Interrupted,
    Message,
    MessageCompleted,
    MessageStarted,
    Notice,
    PermissionAnswer,
    Prompt,
    PromptEchoed,
    PromptState,
    Request,
    RequestFailed,
    RequestStarted,
    Result,
    SessionClosed,
    SessionOpened,
    SessionRestarted,
    Task,
    TaskLevel,
    Text,
    Thought,
    TokenCount,
    TurnEnded,
    WorkState,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

from .live_subagents import LiveSubagents
from .open_turns import OpenTurns, Turn
from .turn_outcome import ModelTotals, is_autonomous, outcome_of

BACKSTOP = 30.0
"""Seconds from the first cancel after which a stopped turn is answered although Claude Code says nothing (C43)."""

NO_RESULT = (
    "The turn ended without a result: the agent went idle while this prompt was still in flight (e.g. the model stream "
    "dropped mid-turn). Any partial output may be incomplete; please retry."
)
ENDED = "The Claude Agent session has ended. Please start a new session."


@attrs.define
class _Session:
    open: OpenTurns = attrs.field(factory=OpenTurns)
    busy: bool = False  # Claude Code says that it works, and nobody has stopped it
    requested: bool = False  # the model was asked since the last result: of a held turn, the follow-up runs
    noticed: set[str] = attrs.field(factory=set)  # what notices have said since the last result
    shown: bool = False  # something of the running work was said aloud since the last result
    error: str | None = None  # what the last complete message said went wrong
    refused: bool = False  # the person refused so that the turn ends: its result is an error
    totals: ModelTotals = attrs.field(factory=ModelTotals)


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
        self._session(message.session).open.receive(message.request, message.prompt)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Iterator[Message]:
        yield from self._stop(message.session, context)

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Iterator[Message]:
        """`$/cancel_request` of a prompt is a cancel of its session; the prompt is answered as ever (C2)."""
        for name, session in self._sessions.items():
            # Of a prompt that is being stopped already it is the same cancel in another form: what came since runs.
            if any(turn.request == message.request and not turn.cancelled for turn in session.open.turns):
                yield from self._stop(name, context)
        yield message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Iterator[Message]:
        """A session that is closed is cancelled first (C3); what is left is answered before the close (C45)."""
        if message.ends_session:
            yield from self._stop(str(message.session), context)
        yield message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        for name in self._sessions:
            yield from self._stop(name, context)
        yield message

    def _stop(self, name: str, context: Context) -> Iterator[Message]:
        """Answer what does not run, in order, and stop the rest. Prompts that come after this run (C8, C18, C24, C25).

        A second time there is nothing new to stop, and none but the first sets the backstop.
        """
        session = self._sessions.get(name)
        if session is None:
            return
        stopping = any(turn.cancelled for turn in session.open.turns)
        fresh, over = session.open.cancel(follow_up=session.requested)
        if not fresh and (stopping or not session.busy):
            return
        for turn in over:
            yield from self._end(name, turn, context)
        if session.open.turns and not stopping:
            context.set_timer(_Backstop(name), self.backstop)
        session.busy = False
        yield Interrupt(session=name, drop=tuple(turn.prompt for turn in fresh))

    @on(PermissionAnswer)
    def _refused(self, message: PermissionAnswer, context: Context) -> Outcome:
        """A refusal that stops the turn is no failure of it: the person wanted that (reference 5.7)."""
        self._session(message.session).refused |= message.interrupt
        return message

    # ------------------------------------------------------------------------------------------ from Claude Code

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Iterator[Message]:
        """Where Claude Code is with a prompt. `completed` is no answer: of a folded prompt it precedes the result."""
        session = self._session(message.session)
        session.open.named = True
        turn = session.open.find(message.prompt)
        if turn is not None and message.state == "started":
            yield from self._start(message.session, turn, context)
        yield message
        if turn is None or turn.state == "held":
            return
        if message.state == "cancelled":  # dropped from Claude Code's queue: it has no result (examples/facts 7)
            yield from self._end(message.session, turn, context, cancelled=True)
        elif message.state in ("discarded", "refused"):
            failure = Failure.internal(f"Claude Code {message.state} the prompt; please send it again.")
            yield from self._end(message.session, turn, context, failure)

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Iterator[Message]:
        turn = self._session(message.session).open.find(message.prompt)
        if turn is not None:
            yield from self._start(message.session, turn, context)
        yield message

    @on(Interrupted)
    def _interrupted(self, message: Interrupted, context: Context) -> Iterator[Message]:
        """A prompt that Claude Code dropped from its queue has no result (examples/facts 7)."""
        for prompt in message.dropped:
            turn = self._session(message.session).open.find(prompt)
            if turn is not None:
                yield from self._end(message.session, turn, context, cancelled=True)
        yield message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if message.parent is None and message.text and not isinstance(message, Thought):
            self._session(message.session).shown = True
        return message

    @on(Compaction)
    def _compacted(self, message: Compaction, context: Context) -> Outcome:
        """A turn with a compaction has an output: the text of its result is not needed (reference 10.12)."""
        self._session(message.session).shown = True
        return message

    @on(Notice)
    def _noticed(self, message: Notice, context: Context) -> Outcome:
        if message.said is not None:
            self._session(message.session).noticed.add(message.said.strip())
        return message

    @on(MessageCompleted)
    def _completed(self, message: MessageCompleted, context: Context) -> Outcome:
        if message.parent is None:
            self._session(message.session).error = message.error
        return message

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._session(message.session).totals.begin(resumed=message.resumed)
        return message

    @on(MessageStarted)
    def _message_started(self, message: MessageStarted, context: Context) -> Outcome:
        if message.parent is None and message.model is not None:
            self._session(message.session).totals.model = message.model
        return message

    @on(RequestStarted)
    def _request_started(self, message: RequestStarted, context: Context) -> Outcome:
        self._session(message.session).requested = True
        return message

    @on(Result)
    def _result(self, message: Result, context: Context) -> Iterator[Message]:
        session, name = self._session(message.session), message.session
        session.open.named = session.open.named or bool(message.prompts)
        session.requested = False
        by_model = session.totals.advance(message.model_usage, message.usage)
        shown, session.shown = session.shown, False
        noticed, session.noticed = message.text.strip() in session.noticed, set()
        error, session.error = session.error, None
        refused, session.refused = session.refused, False
        turns = session.open.ended_by(message)
        if not turns:
            # The late result of prompts that have their answers is nobody's; all else is work without a prompt.
            if not message.prompts or is_autonomous(message):
                yield message
                yield from self._followed_up(name, message, by_model, context)
            return
        outcome = outcome_of(message, shown=shown or noticed, error_kind=error, refused=refused)
        for turn in turns:
            yield from self._start(name, turn, context, but=turns)
        if outcome.text and not turns[-1].cancelled:
            yield Text(session=name, text=outcome.text)
        yield message
        # Prompts that were folded into one turn share its result: it is counted once, with the last.
        turns[-1].count(message.usage, by_model)
        for turn in turns:
            if outcome.failure is not None or not session.open.hold(turn, outcome.stop_reason):
                yield from self._end(name, turn, context, outcome.failure)

    def _followed_up(
        self, name: str, result: Result, by_model: tuple[tuple[str, TokenCount], ...], context: Context
    ) -> Iterator[Message]:
        """Claude Code's own work is over: never an answer, but what held turns waited for, and part of their usage.

        A result without a model's turn is a placeholder (reference 2.4); a cancelled turn does not wait for more (C30).
        """
        turns = self._session(name).open
        held = turns.held()
        if held:
            held[-1].count(result.usage, by_model)
        for turn in held:
            if turn.cancelled or (result.num_turns > 0 and turns.is_through(turn)):
                yield from self._end(name, turn, context)

    @on(Task)
    def _task(self, message: Task, context: Context) -> Outcome:
        turns = self._session(message.session).open
        if turns.subagents.take(message) and message.subagent and message.state == "running":
            turns.spawn(message.task)
        return message

    @on(TaskLevel)
    def _level(self, message: TaskLevel, context: Context) -> Iterator[Message]:
        """A subagent that is gone without a word has no follow-up either: nobody waits for it any longer (S4)."""
        session = self._session(message.session)
        yield message
        if session.open.subagents.level(message.tasks) and not session.requested:
            for turn in session.open.held():
                if session.open.is_through(turn):
                    yield from self._end(message.session, turn, context)

    @on(SessionRestarted)
    def _restarted(self, message: SessionRestarted, context: Context) -> Outcome:
        self._session(message.session).refused = False
        self._session(message.session).open.subagents = LiveSubagents()
        return message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        """The result comes before the idle on the wire: a turn that still runs then has none (02.6 b, c, g)."""
        session = self._session(message.session)
        session.busy = message.state != "idle"
        yield message
        if session.busy:
            return
        session.requested, session.open.owed = False, 0
        for turn in list(session.open.turns):
            if turn.state == "running":
                failure = Failure.internal(NO_RESULT, {"errorKind": "no_result"})
                yield from self._end(message.session, turn, context, failure)
            elif turn.state == "held" and (turn.cancelled or session.open.is_through(turn)):
                yield from self._end(message.session, turn, context)

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.busy, session.requested, session.refused = False, False, False
        session.open.subagents = LiveSubagents()
        yield message
        for turn in list(session.open.turns):
            if message.prompts is not None and turn.prompt not in message.prompts:
                continue  # it came behind the end, and goes to the Claude Code that is started for it
            failure = None if turn.state == "held" else message.failure or Failure.internal(ENDED)
            yield from self._end(message.session, turn, context, failure)

    @on(RequestFailed)
    def _request_failed(self, message: RequestFailed, context: Context) -> Outcome:
        """The agent end could not take a prompt: that is its answer."""
        for name, session in self._sessions.items():
            for turn in session.open.turns:
                if turn.request == message.request:
                    return tuple(self._end(name, turn, context, message.failure))
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        yield from self._end_all(message.session, context)
        self._sessions.pop(message.session, None)
        yield message

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        """Claude Code is wedged: the client has its answer, and the stream is still read (C43)."""
        assert isinstance(expired.key, _Backstop)
        name = expired.key.session
        turns = self._session(name).open
        for turn in [turn for turn in turns.turns if turn.cancelled]:
            logger.warning("session {}: Claude Code did not stop within {} s of the cancel", name, self.backstop)
            turns.owed += 1
            yield from self._end(name, turn, context)

    def close(self, context: Context) -> Iterator[Message]:
        for name in self._sessions:
            yield from self._end_all(name, context)

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> _Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = _Session()
        return session

    def _start(self, name: str, turn: Turn, context: Context, but: Sequence[Turn] = ()) -> Iterator[Message]:
        for over in self._session(name).open.start(turn):
            if over not in but:
                yield from self._end(name, over, context)

    def _end_all(self, name: str, context: Context) -> Iterator[Message]:
        for turn in list(self._session(name).open.turns):
            yield from self._end(name, turn, context, cancelled=True)

    def _end(
        self, name: str, turn: Turn, context: Context, failure: Failure | None = None, *, cancelled: bool = False
    ) -> Iterator[TurnEnded]:
        """The one place where a prompt is answered. With the last one that a cancel stopped the backstop goes."""
        turn.cancelled = turn.cancelled or cancelled
        turns = self._session(name).open.turns
        turns.remove(turn)
        if turn.cancelled and not any(other.cancelled for other in turns):
            context.cancel_timer(_Backstop(name))
        yield turn.answer(name, failure)
