"""The cancel window: what of stopped work may still be shown, and what is denied.

A cancel is a fence. From the moment the client was told that the stopped work ended, nothing of it reaches the client
any more; before that, its tail does. The window of a session opens at a cancel and closes when the next prompt starts.

    message                          window closed    open             told
    -------------------------------  ---------------  ---------------  ---------------------
    text, thinking, usage            pass             pass             drop
    tool use X                       pass, reached    pass, reached    drop, reached: dropped
    tool result                      pass             pass as failed   drop
    ask for X, X reached             as X was         as X was         as X was
    ask for X, X not reached         pass             deny, or park    deny, or park
    tool about to run (`ToolGate`)   let it           deny, or park    deny, or park
    ask withdrawn                    pass             unpark           unpark
    background subagent's message    pass             pass             pass
    cancel                           opens            -                -
    next prompt starts               -                close            close

What was reached before the client was told counts as dropped from then on: its call is closed, so nothing more of it may
come. With a source whose frames and asks come in one order (`one_order`, the program's own), an ask in the open window
whose tool use was not reached belongs to the stopped work and is denied. Any other source may ask before its stream got
there: such an ask is parked until X comes and decides it, or for 2 s, after which it is shown.

The invariant: once the window is open, an ask's fate is its tool use's fate, and every ask gets one verdict.
docs/cancel-window.md lists the rules with their tests. Which prompts end when is decided in `Turns`; "told" is simply its
answers passing by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

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
    Message,
    MessageCompleted,
    MessageStarted,
    Prompt,
    PromptEchoed,
    PromptState,
    Reply,
    Request,
    RequestFailed,
    RequestId,
    RequestStarted,
    SessionClosed,
    Task,
    TaskLevel,
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

from .live_subagents import LiveSubagents

CANCELLED = "The user cancelled this prompt."
"""What the model is told about a tool of stopped work (reference 3.1)."""

GONE = "There is nobody left to ask."

WAIT = 2.0
"""Seconds for which an ask waits for its tool use, for a source without one order (reference 3.1)."""

REMEMBERED = 1000
"""Tool uses whose fate is remembered in a session; the oldest is forgotten first (reference 3.1)."""


@attrs.define
class _Prompt:
    request: RequestId
    started: bool = False


@attrs.define
class _Use:
    """A tool use that the stream has reached."""

    call: str
    parent: str | None
    dropped: bool


@attrs.define
class _Session:
    prompts: dict[str, _Prompt] = attrs.field(factory=dict)  # without an answer
    busy: bool = False  # Claude Code works, with or without a prompt
    window: Literal["closed", "open", "told"] = "closed"
    stopped: set[str] = attrs.field(factory=set)  # the prompts that this window's cancels cover
    unasked: bool = False  # what the cancel stopped is work that no prompt asked for: only an idle ends it
    lists: bool = False  # this Claude Code says whom a request to the model serves
    uses: dict[str, _Use] = attrs.field(factory=dict)  # the first record wins
    parked: dict[str, Ask] = attrs.field(factory=dict)  # by ask
    shown: dict[str, Ask] = attrs.field(factory=dict)  # by ask
    subagents: LiveSubagents = attrs.field(factory=LiveSubagents)
    cut: set[str | None] = attrs.field(factory=set)  # lanes in whose message a piece was dropped

    @property
    def stopping(self) -> bool:
        """Whether a stopped prompt has no answer yet."""
        return any(prompt in self.prompts for prompt in self.stopped)

    def drops(self, *calls: str | None) -> bool:
        """Whether what comes now is dropped; `calls` are those that it is about, or comes from."""
        return self.window == "told" and not self.subagents.owns(*calls)


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

    # ------------------------------------------------------------------------------------------ opening and closing

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._session(message.session).prompts[message.prompt] = _Prompt(message.request)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        self._open_window(self._session(message.session))
        return message

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Outcome:
        """`$/cancel_request` of a prompt cancels its whole session; the prompt is answered as ever (reference C2)."""
        for session in self._sessions.values():
            if any(prompt.request == message.request for prompt in session.prompts.values()):
                self._open_window(session)
        return message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        """A session that is closed is cancelled first (reference C3)."""
        if message.ends_session:
            self._open_window(self._session(str(message.session)))
        return message

    @on(PromptState)
    def _prompt_state(self, message: PromptState, context: Context) -> Iterator[Message]:
        if message.state == "started":
            yield from self._start(message.session, message.prompt)
        yield message

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Iterator[Message]:
        yield from self._start(message.session, message.prompt)
        yield message

    @on(RequestStarted)
    def _request_started(self, message: RequestStarted, context: Context) -> Outcome:
        """A request to the model that serves no stopped prompt is new work (C41).

        Claude Code must say whom its requests serve; one that does and names nobody serves itself. While work that
        nobody asked for is being stopped, such a request may still be its own.
        """
        session = self._session(message.session)
        session.lists = session.lists or message.prompts is not None
        serves_stopped = session.unasked or not session.lists or not session.stopped.isdisjoint(message.prompts or ())
        if session.window == "told" and not serves_stopped:
            self._close_window(session)
        return message

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Iterator[Message]:
        yield from self._answered(message.session, message.prompt)
        yield message

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Iterator[Message]:
        for name, session in self._sessions.items():
            for prompt in [key for key, known in session.prompts.items() if known.request == message.request]:
                yield from self._answered(name, prompt)
        yield message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.busy = message.state != "idle"
        if not session.busy:
            session.unasked = False
            if session.window == "open" and not session.stopping:  # stopped work that no prompt had asked for
                yield from self._tell(message.session, session)
        yield message

    # ------------------------------------------------------------------------------------------ the stream

    @on(MessageStarted, MessageCompleted)
    def _message(self, message: MessageStarted | MessageCompleted, context: Context) -> Outcome:
        self._session(message.session).cut.discard(message.parent)
        return message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        """A message of which a piece was dropped is shown when it is complete, or not at all (C31)."""
        session = self._session(message.session)
        if session.drops(message.parent) and not message.whole:
            session.cut.add(message.parent)
        hidden = session.drops(message.parent) if message.whole else message.parent in session.cut
        return None if hidden else message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        dropped = session.drops(message.tool_use, message.parent)
        use = session.uses.setdefault(message.tool_use, _Use(message.tool_use, message.parent, dropped))
        while len(session.uses) > REMEMBERED:
            del session.uses[next(iter(session.uses))]
        if not use.dropped:
            yield message
        for ask in [ask for ask in session.parked.values() if ask.tool_use == message.tool_use]:
            yield from self._verdict(self._unpark(session, ask, context), dropped=use.dropped)
        late = [ask for ask in session.shown.values() if ask.tool_use == message.tool_use] if use.dropped else []
        for ask in late:  # shown when its wait was over, and only now known to be of stopped work
            yield from self._take_back(session, ask, CANCELLED)
        if late:
            yield WorkStopped(session=message.session)  # showing the ask had announced its call

    @on(ToolInput, ToolProgress, Usage)
    def _detail(self, message: ToolInput | ToolProgress | Usage, context: Context) -> Outcome:
        parent = None if isinstance(message, Usage) else message.parent
        return None if self._session(message.session).drops(parent) else message

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Outcome:
        session = self._session(message.session)
        use = session.uses.get(message.tool_use)
        if session.drops(message.tool_use, message.parent) or (use is not None and use.dropped):
            return None
        if session.window == "open" and not session.subagents.owns(message.tool_use, message.parent):
            return attrs.evolve(message, is_error=True)
        return message

    @on(Task)
    def _task(self, message: Task, context: Context) -> Iterator[Message]:
        """A subagent in the background outlives the cancel of its parent (C27); when it ends after it, what it left
        open is closed (C29)."""
        session = self._session(message.session)
        ours = session.subagents.take(message)
        yield message
        if ours and message.state == "ended" and session.window == "told":
            yield from self._fence(message.session, session)

    @on(TaskLevel)
    def _level(self, message: TaskLevel, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        lost = session.subagents.level(message.tasks)
        yield message
        if lost and session.window == "told":
            yield from self._fence(message.session, session)

    # ------------------------------------------------------------------------------------------ asks

    @on(Ask)
    def _ask(self, message: Ask, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        use = session.uses.get(message.tool_use or "")
        if self._closing:
            yield message.denied(GONE)
        elif use is not None:
            yield from self._verdict(message, dropped=use.dropped)
        elif session.window == "closed" or session.subagents.in_background(message.agent):
            yield from self._verdict(message, dropped=False)
        elif self.one_order:
            yield from self._verdict(message, dropped=True)
        else:
            session.parked[message.ask] = message
            context.set_timer(_Parked(message.session, message.ask), self.wait)

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Outcome:
        """Only what the client was asked is withdrawn from it."""
        session = self._session(message.session)
        parked = session.parked.get(message.ask)
        if parked is not None:
            self._unpark(session, parked, context)
        return message if session.shown.pop(message.ask, None) is not None else None

    @on(Reply, Answer)
    def _answer(self, message: Reply | Answer, context: Context) -> Outcome:
        """An answer to an ask that was taken back meanwhile is nobody's any more."""
        if self._session(message.session).shown.pop(message.ask, None) is None:
            logger.debug("session {}: an answer to {}, which is settled", message.session, message.ask)
            return None
        return message

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        """The stream never shows some tool uses (SandboxNetworkAccess): their asks are shown after the wait."""
        assert isinstance(expired.key, _Parked)
        session = self._session(expired.key.session)
        ask = session.parked.pop(expired.key.ask)
        yield from self._verdict(ask, dropped=False)

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.busy, session.subagents = False, LiveSubagents()
        yield from self._settle(session, context)
        yield message

    @on(SessionClosed)
    def _session_closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        session = self._sessions.pop(message.session, None)
        if session is not None:
            yield from self._settle(session, context)
        yield message

    @on(Closing)
    def _close(self, message: Closing, context: Context) -> Iterator[Message]:
        self._closing = True
        for session in self._sessions.values():
            self._open_window(session)
            yield from self._settle(session, context)
        yield message

    # ------------------------------------------------------------------------------------------ inside: the window

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _open_window(self, session: _Session) -> None:
        """Over all prompts without an answer, and what runs. When nothing runs there is nothing to hide.

        In an open window nothing new has started, so what was told stays told: a second cancel over a prompt that waits
        must not let the first one's leftovers through.
        """
        if session.window == "closed" and (session.prompts or session.busy):
            session.window = "open"
            session.unasked = session.busy and not any(prompt.started for prompt in session.prompts.values())
        if session.window != "closed":
            session.stopped |= set(session.prompts)

    def _start(self, name: str, prompt: str) -> Iterator[Message]:
        """A prompt has begun: one that no cancel covers ends the window, which is told first in any case."""
        session = self._session(name)
        if prompt not in session.prompts:
            return
        session.prompts[prompt].started = True
        if prompt not in session.stopped:
            if session.window == "open":
                yield from self._tell(name, session)
            self._close_window(session)

    def _close_window(self, session: _Session) -> None:
        session.window, session.unasked = "closed", False
        session.stopped.clear()

    def _answered(self, name: str, prompt: str) -> Iterator[Message]:
        """A prompt has its answer; with the last of the stopped ones the client is told that the work ended."""
        session = self._session(name)
        session.prompts.pop(prompt, None)
        if session.window == "open" and prompt in session.stopped and not session.stopping:
            yield from self._tell(name, session)

    def _tell(self, name: str, session: _Session) -> Iterator[Message]:
        session.window = "told"
        for ask in [ask for ask in session.shown.values() if not session.subagents.in_background(ask.agent)]:
            yield from self._take_back(session, ask, CANCELLED)
        yield from self._fence(name, session)

    def _fence(self, name: str, session: _Session) -> Iterator[Message]:
        """Nothing more of what was reached so far: it counts as dropped, and whatever of it is open is closed."""
        for use in session.uses.values():
            use.dropped = use.dropped or not session.subagents.owns(use.call, use.parent)
        yield WorkStopped(session=name)

    # ------------------------------------------------------------------------------------------ inside: asks

    def _unpark(self, session: _Session, ask: Ask, context: Context) -> Ask:
        context.cancel_timer(_Parked(ask.session, ask.ask))
        return session.parked.pop(ask.ask)

    def _take_back(self, session: _Session, ask: Ask, reason: str) -> Iterator[Message]:
        del session.shown[ask.ask]
        yield AskWithdrawn(session=ask.session, ask=ask.ask)
        yield ask.denied(reason)

    def _settle(self, session: _Session, context: Context) -> Iterator[Message]:
        for ask in list(session.parked.values()):
            yield self._unpark(session, ask, context).denied(GONE)
        for ask in list(session.shown.values()):
            yield from self._take_back(session, ask, GONE)

    def _verdict(self, ask: Ask, *, dropped: bool) -> Iterator[Message]:
        """The one answer to an ask: denied, let through (`ToolGate`), or shown.

        Where a permission is asked the client may still say no; where none is asked, a tool of a cancelled prompt that
        has not begun to run must not begin.
        """
        session = self._session(ask.session)
        stopped = session.window != "closed" and not session.subagents.in_background(ask.agent)
        if dropped or (isinstance(ask, ToolGate) and stopped):
            logger.info("session {}: denied {}, which the cancelled work asked for", ask.session, ask.tool_use)
            yield ask.denied(CANCELLED)
        elif isinstance(ask, ToolGate):
            yield ToolGateAnswer(session=ask.session, ask=ask.ask)
        else:
            session.shown[ask.ask] = ask
            yield ask
