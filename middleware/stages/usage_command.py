"""`/usage` in the chat: what Claude Code says there is replaced, once, by a report in Markdown (reference 2.8, 10.10).

The prompt goes to Claude Code as any other does, which keeps its place, its cancel and its one answer where they are;
only its text is another one. The figures are asked for when the prompt begins. Claude Code answers such a prompt in no
time, and the figures may take some (it asks claude.ai), so what is said in the session meanwhile is held back here, in
its order, until they come, or for `WITHIN` seconds. Without them Claude Code's own text stands.

Owns, by session, the prompts that are `/usage` and the one that runs. The text itself is `middleware.usage_report`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

import attrs
from loguru import logger

from middleware import acp
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Interrupt,
    Message,
    MessageStarted,
    ModelNames,
    Prompt,
    PromptState,
    Replayed,
    RequestStarted,
    Result,
    SessionClosed,
    Text,
    Thought,
    ToClient,
    WindowSize,
)
from middleware.stage import Context, Expired, Outcome, Stage, on
from middleware.usage_report import usage_report

WITHIN = 5.0
"""Seconds for which the figures are waited for."""

_CALL = "/usage "
"""What the calls of this stage begin with."""


_BESIDE = (ModelNames, Replayed, WindowSize)
"""What is told beside the turns: it does not wait for the figures, since an answer would overtake it."""


@attrs.define
class _Run:
    """A `/usage` that Claude Code carries out."""

    prompt: str
    call: str
    held: list[ToClient] | None = attrs.field(factory=list)  # None when nothing is waited for any more
    report: str | None = None
    replaced: str | None = None  # Claude Code's text, whose repetition is not shown either
    stopped: bool = False

    @property
    def over(self) -> bool:
        """Whether its result is among what is held back: what comes behind that is another prompt's."""
        return any(isinstance(message, Result) and self.prompt in message.prompts for message in self.held or ())

    def ended_by(self, message: ToClient) -> bool:
        """Whether nothing more comes of it, or Claude Code has made a question to the model of it."""
        if isinstance(message, AgentGone | SessionClosed):
            return True
        asks = isinstance(message, RequestStarted) or (isinstance(message, MessageStarted) and message.parent is None)
        return asks and not self.over


@attrs.define
class _Session:
    asked: set[str] = attrs.field(factory=set)  # prompts that are /usage, until they begin
    run: _Run | None = None


@attrs.frozen
class _Bound:
    """The key of the timer of a call."""

    session: str
    call: str


@attrs.define(eq=False)
class UsageCommand(Stage):
    """The `/usage` prompts of a connection.

    Args:
        zone: the time zone in which times are told; None for the machine's.
    """

    zone: tzinfo | None = None
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)  # those with a /usage
    _calls: int = attrs.field(default=0, init=False)

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        if is_usage(message):
            self._sessions.setdefault(message.session, _Session()).asked.add(message.prompt)
        return message

    @on(Interrupt)
    def _interrupt(self, message: Interrupt, context: Context) -> Iterator[Message]:
        """Of a cancelled `/usage` nothing is said, neither the report nor Claude Code's text."""
        session = self._sessions.get(message.session)
        if session is not None:
            session.asked -= set(message.drop)
            if session.run is not None:
                session.run.stopped = True
                yield from self._give_up(message.session, session, context)
        yield message

    # ------------------------------------------------------------------------------------------ what Claude Code says

    @on(ToClient)
    def _any(self, message: ToClient, context: Context) -> Outcome:
        if not self._sessions:
            return message  # thousands come in a turn
        name = getattr(message, "session", None)
        session = self._sessions.get(name) if name is not None else None
        return message if session is None else self._of_session(str(name), session, message, context)

    def _of_session(self, name: str, session: _Session, message: ToClient, context: Context) -> Iterator[Message]:
        if session.run is not None and session.run.held is not None and not isinstance(message, _BESIDE):
            if not session.run.ended_by(message):
                session.run.held.append(message)
                return
            yield from self._give_up(name, session, context)
        run = session.run
        match message:
            case PromptState(state="started", prompt=prompt) if prompt in session.asked:
                session.asked.discard(prompt)
                yield message
                yield self._begin(name, session, prompt, context)
            case PromptState(prompt=prompt) if message.state in ("cancelled", "discarded", "refused"):
                session.asked.discard(prompt)
                yield message
            case Text(parent=None) if run is not None and message.text and not isinstance(message, Thought):
                yield from self._said(run, message)
            case Result() if run is not None and run.prompt in message.prompts:
                session.run = None
                if run.report is not None and run.replaced is None and not run.stopped:
                    yield Text(session=name, text=run.report)  # a Claude Code that says it in the result only
                yield message
            case AgentGone(prompts=prompts):
                session.asked -= session.asked if prompts is None else set(prompts)
                session.run = None
                yield message
            case _:
                if run is not None and run.ended_by(message):
                    session.run = None
                yield message
        if isinstance(message, SessionClosed) or (session.run is None and not session.asked):
            self._sessions.pop(name, None)

    def _begin(self, name: str, session: _Session, prompt: str, context: Context) -> AgentCall:
        self._calls += 1
        session.run = _Run(prompt, f"{_CALL}{self._calls}")
        context.set_timer(_Bound(name, session.run.call), WITHIN)
        return AgentCall(session=name, call=session.run.call, name="get_usage")

    def _said(self, run: _Run, message: Text) -> Iterator[Message]:
        if run.stopped or message.text == run.replaced:
            return
        if run.report is None or run.replaced is not None:
            yield message
            return
        run.replaced = message.text
        yield attrs.evolve(message, text=run.report)

    # ------------------------------------------------------------------------------------------ the figures

    @on(AgentReply)
    def _reply(self, message: AgentReply, context: Context) -> Iterator[Message]:
        if not message.call.startswith(_CALL):
            yield message
            return
        session = self._sessions.get(message.session)
        if session is None or session.run is None or session.run.call != message.call:
            return  # its time was over, or the prompt is
        report = None
        if message.failure is not None:
            logger.warning("session {}: the figures of /usage were not read: {}", message.session, message.failure)
        else:
            report = usage_report(message.result, self.zone)
            if report is None:
                logger.warning("session {}: the figures of /usage are in a form that is not known", message.session)
        yield from self._go_on(message.session, session, context, report)

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        assert isinstance(expired.key, _Bound)
        session = self._sessions.get(expired.key.session)
        if session is not None and session.run is not None and session.run.call == expired.key.call:
            logger.warning("session {}: the figures of /usage took too long", expired.key.session)
            yield from self._go_on(expired.key.session, session, context, None)

    def _go_on(self, name: str, session: _Session, context: Context, report: str | None) -> Iterator[Message]:
        """No figures are waited for any more: what was held back follows. A second `/usage` in it may hold the rest."""
        run = session.run
        if run is None or run.held is None:
            return
        held, run.held, run.report = run.held, None, report
        context.cancel_timer(_Bound(name, run.call))
        for message in held:
            yield from self._of_session(name, session, message, context)

    def _give_up(self, name: str, session: _Session, context: Context) -> Iterator[Message]:
        """Let everything go that is held back, as it came."""
        while session.run is not None and session.run.held is not None:
            yield from self._go_on(name, session, context, None)

    def close(self, context: Context) -> Iterator[Message]:
        for name, session in list(self._sessions.items()):
            yield from self._give_up(name, session, context)
        self._sessions.clear()


def is_usage(prompt: Prompt) -> bool:
    """Whether a prompt is `/usage` and nothing else."""
    content = prompt.content
    return len(content) == 1 and isinstance(content[0], acp.TextContent) and content[0].text.strip() == "/usage"
