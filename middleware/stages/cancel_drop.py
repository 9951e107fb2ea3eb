"""The cancel window: what of stopped work may still be shown, and what is denied.

A cancel is a fence. From the moment the client was told that the stopped work ended, nothing of it reaches the client
any more; before that, its tail does. The window of a session opens at a cancel and closes when the next prompt starts.

    message                          window closed    open             told
    -------------------------------  ---------------  ---------------  ---------------------
    text, thinking, usage            pass             pass             drop
    compaction                       pass             pass             drop
    tool use X                       pass, reached    pass, reached    drop, reached: dropped
    tool result                      pass             pass as failed   drop
    ask for X, X reached             as X was         as X was         as X was
    ask for X, X not reached         pass             deny, or park    deny, or park
    tool about to run (`ToolGate`)   let it           deny, or park    deny, or park
    ask withdrawn                    pass             unpark           unpark
    background subagent's message    pass             pass             pass
    cancel                           opens            -                -
    next prompt starts               -                closes           closes

What was reached before the client was told counts as dropped from then on: its call is closed. With a source whose
frames and asks come in one order (`one_order`, the program's own), an ask in the open window whose tool use was not
reached belongs to the stopped work and is denied. Any other source may ask before its stream got there: such an ask is
parked until X comes and decides it, or for 2 s, after which it is shown.

The invariant: once the window is open, an ask's fate is its tool use's fate, and every ask gets one verdict. The state
is in `CancelWindow`. Which prompts end when is decided in `Turns`; "told" is simply its answers passing by.
docs/cancel-window.md tells the story, and names the test of each rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from loguru import logger

from middleware.messages import (
    AgentGone,
    Answer,
    Ask,
    AskWithdrawn,
    Cancel,
    CancelRequest,
    Closing,
    Compaction,
    CompactionSummary,
    Message,
    MessageCompleted,
    MessageStarted,
    Prompt,
    PromptEchoed,
    PromptState,
    Reply,
    Request,
    RequestFailed,
    RequestStarted,
    SessionClosed,
    SessionRestarted,
    SubagentHistory,
    Task,
    TaskLevel,
    Text,
    ToolDenied,
    ToolGate,
    ToolGateAnswer,
    ToolInput,
    ToolProgress,
    ToolResponse,
    ToolResult,
    ToolUse,
    TurnEnded,
    Usage,
    WorkState,
    WorkStopped,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

from .cancel_window import CancelWindow
from .open_asks import OpenAsks

CANCELLED = "The user cancelled this prompt."
"""What the model is told about a tool of stopped work (reference 3.1)."""

GONE = "There is nobody left to ask."

WAIT = 2.0
"""Seconds for which an ask waits for its tool use, for a source without one order (reference 3.1)."""


@attrs.define
class _Session:
    window: CancelWindow = attrs.field(factory=CancelWindow)
    asks: OpenAsks = attrs.field(factory=OpenAsks)


@attrs.frozen
class _Parked:
    """The key of a parked ask's timer."""

    session: str
    ask: str


@attrs.define(eq=False)
class CancelDrop(Stage):
    """The cancel windows of all sessions of a connection.

    Args:
        one_order: whether the agent side delivers stream and asks in the order in which Claude Code wrote them.
        wait: seconds for which an ask is parked where it does not.
    """

    one_order: bool = False
    wait: float = WAIT
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _closing: bool = attrs.field(default=False, init=False)  # nobody can be asked any more

    # ------------------------------------------------------------------------------------------ the window opens

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._window(message.session).receive(message.prompt, message.request)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        self._window(message.session).cancel()
        return message

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Outcome:
        """`$/cancel_request` of a prompt cancels its whole session; the prompt is answered as ever (reference C2)."""
        for session in self._sessions.values():
            prompt = session.window.prompt_of(message.request)
            if prompt is not None and not session.window.covers(prompt):
                session.window.cancel()
        return message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        """A session that is closed is cancelled first (reference C3)."""
        if message.ends_session and message.session in self._sessions:
            self._window(message.session).cancel()
        return message

    # ------------------------------------------------------------------------------------------ the client is told

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        window = self._window(message.session)
        if window.answered(message.prompt):
            yield from self._tell(message.session)
        elif window.state == "closed" and message.stop_reason == "cancelled" and message.usage is not None:
            yield WorkStopped(session=message.session)  # it ran, and somebody else than the client cancelled it
        yield message

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Iterator[Message]:
        for name, session in self._sessions.items():
            prompt = session.window.prompt_of(message.request)
            if prompt is not None and session.window.answered(prompt):
                yield from self._tell(name)
        yield message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        if self._window(message.session).works(message.state != "idle"):
            yield from self._tell(message.session)
        yield message

    # ------------------------------------------------------------------------------------------ the window closes

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Iterator[Message]:
        if message.state == "started":
            yield from self._start(message.session, message.prompt)
        yield message

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Iterator[Message]:
        yield from self._start(message.session, message.prompt)
        yield message

    def _start(self, name: str, prompt: str) -> Iterator[Message]:
        window = self._window(name)
        if window.starts(prompt):
            if window.state == "open":  # a source whose answers come late: the fence stands all the same
                yield from self._tell(name)
            window.close()

    @on(RequestStarted)
    def _request_started(self, message: RequestStarted, context: Context) -> Outcome:
        window = self._window(message.session)
        if window.requests(message.prompts):
            window.close()
        return message

    # ------------------------------------------------------------------------------------------ the stream

    @on(MessageStarted, MessageCompleted)
    def _message(self, message: MessageStarted | MessageCompleted, context: Context) -> Outcome:
        self._window(message.session).next_message(message.parent)
        return message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        return None if self._window(message.session).hides(message) else message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        dropped = session.window.reach(message)
        if not dropped:
            yield message
        for ask in [ask for ask in session.asks.parked if ask.tool_use == message.tool_use]:
            self._unpark(session, ask.ask, context)
            yield from self._verdict(ask, dropped=dropped)
        late = session.asks.reach(message.tool_use)
        if dropped and late:  # shown when the wait was over, and only now known to be of stopped work
            for ask in late:
                yield from session.asks.take_back(ask, CANCELLED)
            yield WorkStopped(session=message.session)  # showing the ask had announced its call

    @on(ToolInput, Usage, Compaction, CompactionSummary)
    def _detail(self, message: ToolInput | Usage | Compaction | CompactionSummary, context: Context) -> Outcome:
        parent = message.parent if isinstance(message, ToolInput) else None
        return None if self._window(message.session).drops(parent) else message

    @on(ToolProgress, ToolResponse, ToolDenied)
    def _of_use(self, message: ToolProgress | ToolResponse | ToolDenied, context: Context) -> Outcome:
        parent = message.parent if isinstance(message, ToolProgress) else None
        return None if self._window(message.session).drops_of(message.tool_use, parent) else message

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Outcome:
        window = self._window(message.session)
        if window.drops_of(message.tool_use, message.parent):
            return None
        return attrs.evolve(message, is_error=True) if window.fails(message.tool_use, message.parent) else message

    # ------------------------------------------------------------------------------------------ subagents

    @on(Task)
    def _task(self, message: Task, context: Context) -> Iterator[Message]:
        """One in the background outlives the cancel of its parent (C27); what it leaves open is closed then (C29)."""
        window = self._window(message.session)
        ours = window.subagents.take(message)
        yield message
        if ours and message.state == "ended" and window.state == "told":
            yield from self._tell(message.session)

    @on(SubagentHistory)
    def _history(self, message: SubagentHistory, context: Context) -> Outcome:
        self._window(message.session).subagents.remember(message)
        return message

    @on(TaskLevel)
    def _level(self, message: TaskLevel, context: Context) -> Iterator[Message]:
        window = self._window(message.session)
        lost = window.subagents.level(message.tasks)
        yield message
        if lost and window.state == "told":
            yield from self._tell(message.session)

    # ------------------------------------------------------------------------------------------ asks

    @on(Ask)
    def _ask(self, message: Ask, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        dropped = session.window.dropped(message.tool_use)
        if self._closing:
            yield message.denied(GONE)
        elif dropped is not None:
            yield from self._verdict(message, dropped=dropped)
        elif not session.window.stops(message.agent):
            yield from self._verdict(message, dropped=False)
        elif self.one_order:
            yield from self._verdict(message, dropped=True)
        else:
            session.asks.park(message)
            context.set_timer(_Parked(message.session, message.ask), self.wait)

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Outcome:
        """Only what the client was asked is withdrawn from it."""
        session = self._session(message.session)
        self._unpark(session, message.ask, context)
        return message if session.asks.close(message.ask) else None

    @on(Reply, Answer)
    def _answer(self, message: Reply | Answer, context: Context) -> Outcome:
        """An answer to an ask that was taken back meanwhile is nobody's any more."""
        if self._session(message.session).asks.close(message.ask):
            return message
        logger.debug("session {}: an answer to {}, which is settled", message.session, message.ask)
        return None

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        """The stream never shows some tool uses (SandboxNetworkAccess): their asks are shown after the wait."""
        assert isinstance(expired.key, _Parked)
        ask = self._session(expired.key.session).asks.unpark(expired.key.ask)
        assert ask is not None  # whoever unparks it cancels its timer
        yield from self._verdict(ask, dropped=False, waited=True)

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone, SessionRestarted)
    def _gone(self, message: AgentGone | SessionRestarted, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.window.subagents.end()
        yield from self._settle(session, context)
        if isinstance(message, AgentGone) and session.window.works(False):
            yield from self._tell(message.session)
        yield message

    @on(SessionClosed)
    def _session_closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        yield from self._settle(self._session(message.session), context)
        self._sessions.pop(message.session)
        yield message

    @on(Closing)
    def _close(self, message: Closing, context: Context) -> Iterator[Message]:
        self._closing = True
        for session in self._sessions.values():
            session.window.cancel()
            yield from self._settle(session, context)
        yield message

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> _Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = _Session()
        return session

    def _window(self, name: str) -> CancelWindow:
        return self._session(name).window

    def _tell(self, name: str) -> Iterator[Message]:
        """The client learns that stopped work has ended: its asks are taken back, its calls are closed.

        Once more for whatever of it lived on in the background and ends later.
        """
        session = self._session(name)
        session.window.tell()
        for ask in session.asks.known:
            if session.window.stops(ask.agent):
                yield from session.asks.take_back(ask, CANCELLED)
        yield WorkStopped(session=name)

    def _verdict(self, ask: Ask, *, dropped: bool, waited: bool = False) -> Iterator[Message]:
        """The one answer to an ask: denied, let through (`ToolGate`), or shown.

        Where a permission is asked the client may still say no. Where none is, a tool of a cancelled prompt that has
        not begun to run must not begin.
        """
        session = self._session(ask.session)
        if dropped or (isinstance(ask, ToolGate) and session.window.stops(ask.agent)):
            logger.info("session {}: denied {}, which the cancelled work asked for", ask.session, ask.tool_use)
            yield ask.denied(CANCELLED)
        elif isinstance(ask, ToolGate):
            yield ToolGateAnswer(session=ask.session, ask=ask.ask)
        else:
            yield session.asks.show(ask, waited=waited)

    def _unpark(self, session: _Session, name: str, context: Context) -> None:
        ask = session.asks.unpark(name)
        if ask is not None:
            context.cancel_timer(_Parked(ask.session, name))

    def _settle(self, session: _Session, context: Context) -> Iterator[Message]:
        """Nobody can answer, or nobody waits: every ask ends."""
        for ask in session.asks.parked:
            self._unpark(session, ask.ask, context)
            yield ask.denied(GONE)
        for ask in session.asks.shown:
            yield from session.asks.take_back(ask, GONE)
