"""Questions that Claude Code or an MCP server asks the person, and what the answer means (reference 10.1 and 10.2).

Owns the questions that are open. AskUserQuestion comes as an ask for a permission and is put as a form; to a client
without forms its questions are put one after the other, as permission requests with one option a choice. What an MCP
server asks goes out as it came (less what is not seen), or is refused at once where the client cannot be asked that.
Whether anything may be asked at this moment is `CancelDrop`'s question, which stands on the client's side; the words
are in `middleware.questions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
from loguru import logger

from middleware import acp
from middleware.ids import new_uuid
from middleware.messages import (
    AgentGone,
    Answer,
    AskWithdrawn,
    ClaudeStarted,
    Closing,
    Dialog,
    DialogAnswer,
    Elicitation,
    ElicitationAnswer,
    ElicitationCompleted,
    ElicitationReply,
    Message,
    PermissionAnswer,
    PermissionAsk,
    PermissionRequest,
    Question,
    RefusalAsk,
    SessionClosed,
    SessionRestarted,
    ToolUse,
)
from middleware.questions import (
    DISMISS,
    Answers,
    Asked,
    answers_from,
    asked_in,
    choice_of,
    choices_for,
    form_for,
    refusal_form,
    refusal_result,
    shown_schema,
    shown_url,
    updated_input,
)
from middleware.stage import Context, Outcome, on
from middleware.tools.unseen import plain

from .client_aware import ClientAware
from .open_calls import remember

TOOL = "AskUserQuestion"
NO_QUESTIONS = "AskUserQuestion called with no valid questions."
NOT_ASKABLE = "Could not present the question to the user."
ABORTED = "Tool use aborted"
ONE_CHOICE = (
    "The user's client cannot show a question with several choices (multiSelect). Ask again with one choice a "
    "question, or ask in your answer."
)
UNANSWERED = "ask_user_question_unanswered_v1"
"""The capability of a Claude Code that is told why a question has no answer."""


@attrs.define
class _Open:
    """An open question of Claude's: the ask, and what is answered so far where it is put piece by piece."""

    ask: PermissionAsk
    questions: tuple[Asked, ...]
    answers: dict[str, str] = attrs.field(factory=dict)
    put: int = 0


@attrs.define
class _Session:
    reached: dict[str, bool] = attrs.field(factory=dict)  # uses of the tool that the stream has shown
    open: dict[str, _Open] = attrs.field(factory=dict)  # by ask
    foreign: dict[str, Elicitation] = attrs.field(factory=dict)  # an MCP server's or a dialog, by ask
    unanswered: bool = False


@attrs.define(eq=False)
class Questions(ClientAware):
    """The open questions of all sessions of a connection.

    Args:
        new_uuid: where the ids of elicitations come from whose server gives none.
    """

    new_uuid: Callable[[], str] = new_uuid
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    @on(ClaudeStarted)
    def _started(self, message: ClaudeStarted, context: Context) -> Outcome:
        self._session(message.session).unanswered = UNANSWERED in message.capabilities
        return message

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Outcome:
        if message.name == TOOL:
            remember(self._session(message.session).reached, message.tool_use, True)
        return message

    # ------------------------------------------------------------------------------------------ asking

    @on(PermissionAsk)
    def _ask(self, message: PermissionAsk, context: Context) -> Iterator[Message]:
        if message.name != TOOL or isinstance(message, PermissionRequest):
            yield message
            return
        questions = asked_in(message.input)
        if not questions:
            yield message.denied(NO_QUESTIONS)
        elif not self._profile.elicitation_form and any(asked.several for asked in questions):
            yield message.denied(ONE_CHOICE)
        else:
            session = self._session(message.session)
            if message.tool_use is not None and message.tool_use not in session.reached:
                # A source without one order asks before its stream gets there: the call is announced first.
                yield ToolUse(
                    session=message.session, tool_use=message.tool_use, name=message.name, input=message.input
                )
            opened = session.open[message.ask] = _Open(message, questions)
            yield self._put(opened)

    def _put(self, opened: _Open) -> Question:
        """The form, or the next of the questions."""
        ask = opened.ask
        if self._profile.elicitation_form:
            message, schema = form_for(opened.questions, air=self._profile.air)
            return Question(
                session=ask.session,
                ask=ask.ask,
                tool_use=ask.tool_use,
                agent=ask.agent,
                message=message,
                schema=schema,
            )
        asked = opened.questions[opened.put]
        call, options = choices_for(asked, ask.tool_use or ask.ask)
        return Question(
            session=ask.session,
            ask=ask.ask,
            tool_use=ask.tool_use,
            agent=ask.agent,
            message=asked.question,
            call=call,
            options=options,
        )

    @on(Elicitation)
    def _elicitation(self, message: Elicitation, context: Context) -> Outcome:
        """An MCP server's question, for a client that can be asked it; refused at once for any other."""
        if isinstance(message, Question | Dialog) or self._asks_itself(message):
            return message
        if not (self._profile.elicitation_url if message.mode == "url" else self._profile.elicitation_form):
            return message.denied(NOT_ASKABLE)
        message = attrs.evolve(message, message=plain(message.message))
        if message.mode == "url":
            url = shown_url(message.url or "")
            message = attrs.evolve(message, url=url, elicitation=message.elicitation or self.new_uuid())
        else:
            schema = shown_schema(message.schema)
            try:
                acp.structure(schema, acp.ElicitationSchema)
            except acp.InvalidAcp as error:
                logger.error("session {}: Failed to forward MCP elicitation: {}", message.session, error)
                return message.denied(NOT_ASKABLE)
            message = attrs.evolve(message, schema=schema)
        self._session(message.session).foreign[message.ask] = message
        return message

    @on(RefusalAsk)
    def _refusal(self, message: RefusalAsk, context: Context) -> Outcome:
        """Claude Code's dialog, for a client that has forms."""
        if not self._profile.elicitation_form:
            return message.denied(NOT_ASKABLE)
        text, schema = refusal_form(message)
        dialog = Dialog(session=message.session, ask=message.ask, message=text, schema=schema)
        self._session(message.session).foreign[message.ask] = dialog
        return dialog

    def _asks_itself(self, message: Elicitation) -> bool:
        """A stage on the agent's side asks, and takes the client's reply itself."""
        return message.mode == "url" and message.ask == message.elicitation

    @on(ElicitationCompleted)
    def _completed(self, message: ElicitationCompleted, context: Context) -> Outcome:
        return message if self._profile.elicitation_url else None

    # ------------------------------------------------------------------------------------------ the answer

    @on(ElicitationReply)
    def _reply(self, message: ElicitationReply, context: Context) -> Outcome:
        session = self._session(message.session)
        foreign = session.foreign.pop(message.ask, None)
        if foreign is not None:
            return _dialog_answer(foreign, message) if isinstance(foreign, Dialog) else _mcp_answer(foreign, message)
        opened = session.open.get(message.ask)
        if opened is None:
            return message  # of a stage on the agent's side
        if message.failure is None and message.option is not None and not self._profile.elicitation_form:
            return self._chosen(session, opened, message.option)
        del session.open[message.ask]
        return self._form_answer(session, opened, message)

    def _form_answer(self, session: _Session, opened: _Open, reply: ElicitationReply) -> PermissionAnswer:
        ask = opened.ask
        if reply.failure is not None:
            logger.error(
                "session {}: Failed to present AskUserQuestion elicitation: {}", ask.session, reply.failure.message
            )
            return _answer(ask, "deny", NOT_ASKABLE)
        if reply.action == "cancel":
            return _answer(ask, "abort", ABORTED)
        given = answers_from(opened.questions, reply.content or {}) if reply.action == "accept" else Answers()
        return self._allow(session, opened, given, dismissed=reply.action == "decline")

    def _chosen(self, session: _Session, opened: _Open, option: str) -> Message:
        """A choice was made; the next question, or all answers."""
        asked = opened.questions[opened.put]
        label = choice_of(asked, option)
        if label is None and option != DISMISS:
            del session.open[opened.ask.ask]
            logger.warning("session {}: the option {!r} was not offered", opened.ask.session, option[:80])
            return _answer(opened.ask, "abort", f"Permission option was not offered: {option[:80]}")
        if label is not None:
            opened.answers[asked.question] = label
        opened.put += 1
        if label is not None and opened.put < len(opened.questions):
            return self._put(opened)
        del session.open[opened.ask.ask]
        return self._allow(session, opened, Answers(answers=opened.answers), dismissed=label is None)

    def _allow(self, session: _Session, opened: _Open, given: Answers, *, dismissed: bool) -> PermissionAnswer:
        ask = opened.ask
        why = ("dismissed" if dismissed else "skipped") if session.unanswered else None
        updated = updated_input(ask.input, opened.questions, given, why)  # type: ignore[arg-type]
        return _answer(ask, "allow", "", updated)

    # ------------------------------------------------------------------------------------------ without an answer

    @on(Answer, AskWithdrawn)
    def _settled(self, message: Answer | AskWithdrawn, context: Context) -> Outcome:
        """A stage nearer the client has answered in the client's place, or Claude Code wants no answer any more."""
        self._forget(message.session, message.ask)
        return message

    def _forget(self, name: str, ask: str) -> None:
        session = self._session(name)
        session.open.pop(ask, None)
        session.foreign.pop(ask, None)

    @on(AgentGone, SessionRestarted)
    def _gone(self, message: AgentGone | SessionRestarted, context: Context) -> Iterator[Message]:
        """What the old Claude Code asked is nobody's question any more."""
        session = self._session(message.session)
        for ask in (*session.open, *session.foreign):
            yield AskWithdrawn(session=message.session, ask=ask)
        session.open.clear()
        session.foreign.clear()
        yield message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        session = self._sessions.pop(message.session, _Session())
        for ask in (*session.open, *session.foreign):
            yield AskWithdrawn(session=message.session, ask=ask)
        yield message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        """The client cannot answer any more."""
        for session in self._sessions.values():
            for opened in session.open.values():
                yield _answer(opened.ask, "abort", ABORTED)
            for foreign in session.foreign.values():
                yield foreign.denied(NOT_ASKABLE)
            session.open.clear()
            session.foreign.clear()
        yield message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())


def _answer(
    ask: PermissionAsk, decision: str, text: str, updated: Mapping[str, object] | None = None
) -> PermissionAnswer:
    return PermissionAnswer(
        session=ask.session,
        ask=ask.ask,
        decision=decision,  # type: ignore[arg-type]
        message=text,
        updated_input=updated,
        tool_use=ask.tool_use,
    )


def _dialog_answer(ask: Dialog, reply: ElicitationReply) -> DialogAnswer:
    """What the person chose. A client that failed has asked nobody."""
    if reply.failure is not None:
        logger.error("session {}: a dialog could not be shown: {}", ask.session, reply.failure.message)
        return DialogAnswer(session=ask.session, ask=ask.ask)
    return DialogAnswer(session=ask.session, ask=ask.ask, result=refusal_result(reply.action, reply.content))


def _mcp_answer(ask: Elicitation, reply: ElicitationReply) -> ElicitationAnswer:
    """A failure is a cancel, never a decline: the person has not said no."""
    if reply.failure is not None:
        logger.error("session {}: Failed to forward MCP elicitation: {}", ask.session, reply.failure.message)
        return ElicitationAnswer(session=ask.session, ask=ask.ask, action="cancel")
    content = (reply.content or {}) if reply.action == "accept" else None
    return ElicitationAnswer(session=ask.session, ask=ask.ask, action=reply.action, content=content)
