"""How Claude Code's ask for a permission is worded, and what the client's answer means.

Owns the asks that are open, each with the options that it was given and the effect of each: an answer is valid only for
what was offered in that request. What is offered, what it is called and what it does is in `middleware.permissions`;
whether an ask may be shown at all is `CancelDrop`'s question.
"""

from __future__ import annotations

import copy
import os.path
from collections.abc import Iterator

import attrs
from loguru import logger

from middleware.messages import (
    AgentReply,
    Answer,
    AskWithdrawn,
    Closing,
    Message,
    PermissionAnswer,
    PermissionAsk,
    PermissionReply,
    PermissionRequest,
    RestartSession,
    SessionClosed,
    SessionModes,
    SessionOpened,
    SessionRestarted,
    Task,
    ToolResult,
    Usage,
)
from middleware.permissions import Choice, Effect, Modes, offer, request
from middleware.permissions.effects import abort, answer, feedback_of
from middleware.permissions.options import Surroundings
from middleware.permissions.presentation import call_of, is_settled_by_answer
from middleware.stage import Context, Outcome, on

from .client_aware import ClientAware
from .open_calls import remember

NOT_ASKABLE = "Could not present the question to the user."


@attrs.frozen
class _Open:
    ask: PermissionAsk
    choices: tuple[Choice, ...]

    def effect(self, option: str) -> Effect | None:
        return next((choice.effect for choice in self.choices if choice.option.option_id == option), None)


@attrs.define
class _Session:
    cwd: str = ""
    modes: Modes = attrs.field(factory=Modes)
    used: int | None = None  # how full the context is, in percent
    tasks: dict[str, str] = attrs.field(factory=dict)  # a task -> the call that began it
    open: dict[str, _Open] = attrs.field(factory=dict)  # by ask


@attrs.define(eq=False)
class Permissions(ClientAware):
    """Asks in, `PermissionRequest` out; the client's choice in, `PermissionAnswer` out (reference 05).

    Args:
        restart: whether the agent end serves `RestartSession`; without it no plan is carried out with a fresh context.
        home: the user's home directory, for what rules say of it.
    """

    restart: bool = False
    home: str = attrs.field(factory=lambda: os.path.expanduser("~"))
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _restarts: set[str] = attrs.field(factory=set, init=False)

    # ------------------------------------------------------------------------------------------ what is known

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._session(message.session).cwd = message.cwd
        return message

    @on(SessionModes)
    def _modes(self, message: SessionModes, context: Context) -> Outcome:
        session = self._session(message.session)
        session.modes = session.modes.changed(message.available, message.current)
        return message

    @on(Usage)
    def _usage(self, message: Usage, context: Context) -> Outcome:
        if message.size > 0:
            self._session(message.session).used = min(100, max(0, round(100 * message.used / message.size)))
        return message

    @on(Task)
    def _task(self, message: Task, context: Context) -> Outcome:
        if message.tool_use is not None:
            remember(self._session(message.session).tasks, message.task, message.tool_use)
        return message

    # ------------------------------------------------------------------------------------------ asking

    @on(PermissionAsk)
    def _ask(self, message: PermissionAsk, context: Context) -> Outcome:
        """Word the ask. Whatever reaches this point is asked, in every mode: Claude Code has applied the modes."""
        if message.name == "AskUserQuestion":
            # Questions are forms, not permissions; a client without forms must not be given the tool (05.1, step 4).
            logger.error("session {}: AskUserQuestion came as a permission", message.session)
            return message.denied(NOT_ASKABLE)
        session = self._session(message.session)
        ask = attrs.evolve(message, input=copy.deepcopy(dict(message.input)))
        around = Surroundings(
            cwd=session.cwd, home=self.home, modes=session.modes, used=session.used, may_restart=self.restart
        )
        opened = _Open(ask, offer(ask, around))
        session.open[ask.ask] = opened
        parent = session.tasks.get(ask.agent) if ask.agent is not None else None
        return request(ask, opened.choices, profile=self._profile, cwd=session.cwd, parent=parent)

    @on(PermissionRequest)
    def _worded(self, message: PermissionRequest, context: Context) -> Outcome:
        """Somebody else has worded it, and will know what the answer means."""
        return message

    # ------------------------------------------------------------------------------------------ the answer

    @on(PermissionReply)
    def _reply(self, message: PermissionReply, context: Context) -> Iterator[Message]:
        opened = self._session(message.session).open.pop(message.ask, None)
        if opened is None:
            logger.debug("session {}: an answer to {}, which is settled", message.session, message.ask)
            return
        yield from self._decide(opened, message)

    def _decide(self, opened: _Open, reply: PermissionReply) -> Iterator[Message]:
        ask = opened.ask
        effect = opened.effect(reply.option) if reply.option is not None else None
        if reply.failure is not None:
            logger.warning(
                "session {}: the client could not ask for {}: {}", ask.session, ask.name, reply.failure.message
            )
            yield from self._settled(ask, abort(ask))
        elif reply.option is None:
            yield from self._settled(ask, abort(ask))
        elif effect is None:
            logger.warning("session {}: the option {!r} was not offered", ask.session, reply.option[:80])
            yield from self._settled(ask, abort(ask, f"Permission option was not offered: {reply.option[:80]}"))
        else:
            modes = self._session(ask.session).modes
            answered = answer(ask, effect, feedback=feedback_of(reply.meta), modes=modes)
            if effect.restart_mode is not None:
                yield from self._restart(ask, modes.allowed(effect.restart_mode))
                answered = attrs.evolve(answered, message=effect.message, interrupt=True)
            yield from self._settled(ask, answered)

    def _restart(self, ask: PermissionAsk, mode: str) -> Iterator[Message]:
        """A fresh Claude Code carries out the plan; the client is not told that the old one is given a rejection."""
        call = f"restart {ask.session} {ask.ask}"
        self._restarts.add(call)
        yield RestartSession(
            session=ask.session, call=call, plan=str(ask.input["plan"]).strip(), mode=mode, tool_use=ask.tool_use
        )
        yield ToolResult(session=ask.session, tool_use=call_of(ask))

    def _settled(self, ask: PermissionAsk, answered: PermissionAnswer) -> Iterator[Message]:
        yield answered
        if is_settled_by_answer(ask):
            yield ToolResult(session=ask.session, tool_use=call_of(ask), is_error=answered.decision != "allow")

    @on(AgentReply)
    def _restarted(self, message: AgentReply, context: Context) -> Outcome:
        """How a restart went; of a failed one the agent end also says that Claude Code is gone (`AgentGone`)."""
        if message.call not in self._restarts:
            return message
        self._restarts.discard(message.call)
        if message.failure is not None:
            logger.error("session {}: no fresh context: {}", message.session, message.failure.message)
        return None

    # ------------------------------------------------------------------------------------------ without an answer

    @on(Answer)
    def _answered(self, message: Answer, context: Context) -> Iterator[Message]:
        """A stage nearer the client has answered in the client's place."""
        yield message
        yield from self._dropped(message.session, message.ask)

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Iterator[Message]:
        yield message
        yield from self._dropped(message.session, message.ask)

    def _dropped(self, name: str, ask: str) -> Iterator[Message]:
        opened = self._session(name).open.pop(ask, None)
        if opened is not None and is_settled_by_answer(opened.ask):
            yield ToolResult(session=name, tool_use=call_of(opened.ask), is_error=True)

    @on(SessionRestarted)
    def _fresh(self, message: SessionRestarted, context: Context) -> Iterator[Message]:
        """What the old Claude Code asked is nobody's question any more."""
        session = self._session(message.session)
        for ask in session.open:
            yield AskWithdrawn(session=message.session, ask=ask)
        session.open.clear()
        session.tasks.clear()
        session.used = None
        yield message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        """The client cannot answer any more: what it was asked does not happen."""
        for session in self._sessions.values():
            for opened in session.open.values():
                yield abort(opened.ask)
            session.open.clear()
        yield message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())
