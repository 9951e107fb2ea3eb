"""The cancel window: what of stopped work may still be shown, and what is denied.

A cancel is a fence. From the moment the client was told that the stopped work ended, nothing of it reaches the client
any more; before that, its tail does. The window of a session opens at a cancel and closes when the next prompt starts.

    message                          window closed    open, not told            open, told
    -------------------------------  ---------------  ------------------------  ---------------------
    text, thinking, usage            pass             pass                      drop
    tool use X                       pass, reached    pass, reached             drop, reached: dropped
    tool result                      pass             pass as failed            drop
    ask for X, X reached             as X was         as X was                  as X was
    ask for X, X not reached         pass             deny, or park (below)     deny, or park (below)
    ask withdrawn                    pass             unpark                    unpark
    tool about to run (`ToolGate`)   let it           deny                      deny
    background subagent's message    pass             pass                      pass
    cancel                           opens            -                         -
    next prompt starts               -                close                     close

With a source whose frames and asks come in one order (`one_order`, the program's own), an ask in the open window whose
tool use was not reached belongs to the stopped work and is denied. Any other source may ask before its stream got
there: such an ask is parked until X comes and decides it, or for 2 s, after which it is shown.

The invariant: once the window is open, an ask's fate is its tool use's fate, and every ask gets one verdict. Which test
guards which rule is listed in docs/cancel-window.md. Which prompts end when is not decided here but in `Turns`; "told"
is simply its answers passing by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
from loguru import logger

from middleware.messages import (
    Answer,
    Ask,
    AskWithdrawn,
    Cancel,
    CancelRequest,
    Closing,
    Message,
    PermissionReply,
    Prompt,
    PromptEchoed,
    PromptState,
    RequestFailed,
    RequestId,
    RequestStarted,
    SessionClosed,
    Task,
    Text,
    ToolGate,
    ToolGateAnswer,
    ToolInput,
    ToolProgress,
    ToolResult,
    ToolUse,
    TurnEnded,
    Usage,
    WorkState,
    WorkStopped,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

CANCELLED = "The user cancelled this prompt."
"""What the model is told about a tool of stopped work (reference 3.1)."""

CLOSING = "The client has closed the connection."

WAIT = 2.0
"""Seconds for which an ask waits for its tool use, for a source without one order (reference 3.1)."""

REMEMBERED = 1000
"""Tool uses whose fate is remembered in a session; the oldest is forgotten first (reference 3.1)."""


@attrs.define
class _Session:
    prompts: dict[str, RequestId] = attrs.field(factory=dict)  # without an answer
    busy: bool = False  # Claude Code works, with or without a prompt
    open: bool = False
    told: bool = False
    stopped: set[str] = attrs.field(factory=set)  # the prompts that this window's cancels cover
    reached: dict[str, bool] = attrs.field(factory=dict)  # tool use -> dropped? The first record wins.
    parked: dict[str, Ask] = attrs.field(factory=dict)  # by ask
    shown: dict[str, Ask] = attrs.field(factory=dict)  # by ask
    background: dict[str, str] = attrs.field(factory=dict)  # a running background subagent's call -> its task
    cut: set[str] = attrs.field(factory=set)  # messages of which a piece was dropped: the rest is dropped too

    @property
    def dropping(self) -> bool:
        return self.open and self.told


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

    # ------------------------------------------------------------------------------------------ opening and closing

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._session(message.session).prompts[message.prompt] = message.request
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        """Open the window over all prompts without an answer. When nothing runs there is nothing to hide."""
        session = self._session(message.session)
        if session.prompts or session.busy:
            if not session.open:
                session.open, session.told = True, False
            # In an open window nothing new has started, so what was told stays told: a second cancel over a prompt
            # that waits must not let the first one's leftovers through.
            session.stopped |= set(session.prompts)
        return message

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Outcome:
        """`$/cancel_request` of a prompt cancels its whole session; the prompt is answered as ever (reference C2)."""
        for name, session in self._sessions.items():
            if message.request in session.prompts.values():
                return self._cancel(Cancel(session=name), context)
        return message

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Outcome:
        if message.state == "started":
            self._start(message.session, message.prompt)
        return message

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Outcome:
        self._start(message.session, message.prompt)
        return message

    @on(RequestStarted)
    def _request_started(self, message: RequestStarted, context: Context) -> Outcome:
        """A model request that serves no stopped prompt is new work (C41). Claude Code must say whom it serves."""
        session = self._session(message.session)
        if session.dropping and message.prompts is not None and not session.stopped.intersection(message.prompts):
            self._close_window(session)
        return message

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        yield from self._answered(message.session, message.prompt, context)
        yield message

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Outcome:
        for name, session in self._sessions.items():
            for prompt, request in session.prompts.items():
                if request == message.request:
                    return (*self._answered(name, prompt, context), message)
        return message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.busy = message.state != "idle"
        if not session.busy and session.open and not session.told and not session.stopped & set(session.prompts):
            yield from self._tell(message.session, session)  # stopped work that no prompt had asked for
        yield message

    # ------------------------------------------------------------------------------------------ the stream

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        session = self._session(message.session)
        if self._drops(session, message.parent):
            if message.message is not None and not message.whole:
                session.cut.add(message.message)
            return None
        if message.message in session.cut and not message.whole:
            return None  # the complete message will bring the whole of it (C31)
        return message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        dropped = session.reached.setdefault(message.tool_use, self._drops(session, message.parent))
        while len(session.reached) > REMEMBERED:
            del session.reached[next(iter(session.reached))]
        if not dropped:
            yield message
        for ask in [ask for ask in session.parked.values() if ask.tool_use == message.tool_use]:
            context.cancel_timer(_Parked(ask.session, ask.ask))
            del session.parked[ask.ask]
            yield from self._verdict(session, ask, dropped)
        if dropped:  # shown when its wait was over, and only now known to be of stopped work
            for ask in [ask for ask in session.shown.values() if ask.tool_use == message.tool_use]:
                yield from self._take_back(session, ask)

    @on(ToolInput, ToolProgress, Usage)
    def _detail(self, message: ToolInput | ToolProgress | Usage, context: Context) -> Outcome:
        parent = None if isinstance(message, Usage) else message.parent
        return None if self._drops(self._session(message.session), parent) else message

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Outcome:
        session = self._session(message.session)
        if self._drops(session, message.parent) or session.reached.get(message.tool_use, False):
            return None
        if session.open and not self._is_background(session, message.parent):
            return attrs.evolve(message, is_error=True)
        return message

    @on(Task)
    def _task(self, message: Task, context: Context) -> Outcome:
        """A subagent in the background outlives the cancel of its parent: nothing of it is stopped work (C27)."""
        session = self._session(message.session)
        if message.state == "ended":
            session.background = {call: task for call, task in session.background.items() if task != message.task}
        elif message.subagent and message.background and message.tool_use is not None:
            session.background[message.tool_use] = message.task
        return message

    # ------------------------------------------------------------------------------------------ asks

    @on(Ask)
    def _ask(self, message: Ask, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if not session.open or self._is_background_agent(session, message.agent):
            dropped = session.reached.get(message.tool_use or "", False)
            yield from self._verdict(session, message, dropped)
        elif isinstance(message, ToolGate):
            yield from self._verdict(session, message, True)
        elif message.tool_use in session.reached:
            yield from self._verdict(session, message, session.reached[message.tool_use])
        elif self.one_order:
            yield from self._verdict(session, message, True)
        else:
            session.parked[message.ask] = message
            context.set_timer(_Parked(message.session, message.ask), self.wait)

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Outcome:
        session = self._session(message.session)
        context.cancel_timer(_Parked(message.session, message.ask))
        parked = session.parked.pop(message.ask, None)
        shown = session.shown.pop(message.ask, None)
        return message if shown is not None or parked is None else None

    @on(PermissionReply)
    def _reply(self, message: PermissionReply, context: Context) -> Outcome:
        """The client's answer to an ask that was taken back meanwhile is nobody's any more."""
        if self._session(message.session).shown.pop(message.ask, None) is None:
            logger.debug("session {}: an answer to {}, which is settled", message.session, message.ask)
            return None
        return message

    @on(Answer)
    def _answer(self, message: Answer, context: Context) -> Outcome:
        self._session(message.session).shown.pop(message.ask, None)
        return message

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Outcome:
        """The stream never shows some tool uses (SandboxNetworkAccess): their asks are shown after the wait."""
        assert isinstance(expired.key, _Parked)
        session = self._session(expired.key.session)
        ask = session.parked.pop(expired.key.ask, None)
        return self._verdict(session, ask, False) if ask is not None else None

    # ------------------------------------------------------------------------------------------ the end

    @on(SessionClosed)
    def _session_closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        session = self._sessions.pop(message.session, None)
        for ask in session.parked.values() if session else ():
            context.cancel_timer(_Parked(ask.session, ask.ask))
        yield from (
            AskWithdrawn(session=ask.session, ask=ask.ask) for ask in (session.shown.values() if session else ())
        )
        yield message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        for session in self._sessions.values():
            for ask in (*session.parked.values(), *session.shown.values()):
                context.cancel_timer(_Parked(ask.session, ask.ask))
                yield ask.denied(CLOSING)
            session.parked.clear()
            session.shown.clear()
        yield message

    # ------------------------------------------------------------------------------------------ inside

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _is_background(self, session: _Session, parent: str | None) -> bool:
        return parent is not None and parent in session.background

    def _is_background_agent(self, session: _Session, agent: str | None) -> bool:
        return agent is not None and agent in session.background.values()

    def _drops(self, session: _Session, parent: str | None) -> bool:
        return session.dropping and not self._is_background(session, parent)

    def _start(self, name: str, prompt: str) -> None:
        session = self._session(name)
        if session.open and prompt in session.prompts and prompt not in session.stopped:
            self._close_window(session)

    def _close_window(self, session: _Session) -> None:
        session.open = session.told = False
        session.stopped.clear()

    def _answered(self, name: str, prompt: str, context: Context) -> Iterable[Message]:
        """A prompt has its answer; with the last of the stopped ones the client is told that the work ended."""
        session = self._session(name)
        session.prompts.pop(prompt, None)
        stopping = session.open and not session.told and prompt in session.stopped
        return tuple(self._tell(name, session)) if stopping and not session.stopped & set(session.prompts) else ()

    def _tell(self, name: str, session: _Session) -> Iterator[Message]:
        session.told = True
        for ask in [ask for ask in session.shown.values() if not self._is_background_agent(session, ask.agent)]:
            yield from self._take_back(session, ask)
        yield WorkStopped(session=name)

    def _take_back(self, session: _Session, ask: Ask) -> Iterator[Message]:
        del session.shown[ask.ask]
        yield AskWithdrawn(session=ask.session, ask=ask.ask)
        yield from self._verdict(session, ask, True)

    def _verdict(self, session: _Session, ask: Ask, dropped: bool) -> Iterator[Message]:
        if dropped:
            logger.info("session {}: denied {}, which the cancelled work asked for", ask.session, ask.tool_use)
            yield ask.denied(CANCELLED)
        elif isinstance(ask, ToolGate):
            yield ToolGateAnswer(session=ask.session, ask=ask.ask)
        else:
            session.shown[ask.ask] = ask
            yield ask
