"""Whose output is this: the main thread's, or a subagent's? And in which session is it shown?

For Claude Code all of it is one session: one cancel, one list of tasks, one wire. Only the client may see a subagent as
a session of its own, so this stage stands next to the client, on its side of `ToolCalls`, and addresses what the others
have worked out.

- A client without child sessions has the flat form: a subagent's text stays out of its parent's answer, unless the
  client or the session asked for it, and its calls name the call that began it (reference S5).
- A client with `clientCapabilities.subagents` has child sessions: announced before any traffic, with their work state,
  their messages, their permission requests, and a cancel of their own (reference 7.2 and 7.3).

What is known of a session's children is in `middleware.subagents`. `SubagentHistory` is how whoever loads a session
tells of the children from before.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from loguru import logger

from middleware import acp
from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    Answer,
    AskWithdrawn,
    Cancel,
    CancelRequest,
    Closing,
    Elicitation,
    Message,
    ModelNames,
    PermissionRequest,
    Prompt,
    Reply,
    Request,
    RequestFailed,
    Response,
    SessionClosed,
    SessionOpened,
    SessionRestarted,
    StopTask,
    SubagentHistory,
    SubagentMessage,
    SubagentModel,
    SubagentPlace,
    SubagentSettings,
    Task,
    Text,
    ToolCall,
    ToolCallLost,
    ToolCallUpdate,
    TurnEnded,
    Update,
)
from middleware.stage import Context, Outcome, on
from middleware.subagents import lives
from middleware.subagents.family import Child, Family
from middleware.subagents.hidden import show
from middleware.subagents.routing import announce, come_back, deliver, route
from middleware.subagents.words import configured

from .client_aware import ClientAware
from .prompt_requests import PromptRequests
from .setup_requests import SetupRequests, wished_options


@attrs.define(eq=False)
class Subagents(ClientAware):
    """The subagents of all sessions of a connection.

    Args:
        replay: all that passes is past: no child can be stopped, and a message has reached one where its transcript
            says so (reference 7.9).
    """

    replay: bool = False
    _families: dict[str, Family] = attrs.field(factory=dict, init=False)
    _setups: SetupRequests = attrs.field(factory=SetupRequests, init=False)
    _prompts: PromptRequests = attrs.field(factory=PromptRequests, init=False)
    _transcripts: set[str] = attrs.field(factory=set, init=False)  # sessions that asked for their subagents' text

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._family(message.session).cwd = message.cwd
        return message

    # ------------------------------------------------------------------------------------------ from the client

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        if self._root_of(message.session) is not None:
            return self._refused(message)
        self._prompts.made(message)
        return message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        """Nothing can be asked of a child, save to stop."""
        if message.session is not None and self._root_of(message.session) is not None:
            return self._refused(message)
        self._setups.made(message)
        if message.session is not None and message.ends_session:
            self._family(message.session).cancels += 1  # whoever asks is being stopped, and does not go on
        if message.session is not None and wished_options(message).get("forwardSubagentText") is True:
            self._transcripts.add(message.session)
        return message

    def _refused(self, message: Prompt | Request) -> RequestFailed:
        return RequestFailed(request=message.request, failure=Failure.session_not_found(str(message.session)))

    @on(TurnEnded)
    def _ended(self, message: TurnEnded, context: Context) -> Outcome:
        self._prompts.answered(message)
        return message

    @on(Response, RequestFailed)
    def _answered(self, message: Response | RequestFailed, context: Context) -> Iterator[Message]:
        opened = self._setups.answered(message)
        if isinstance(message, RequestFailed):
            self._prompts.answered(message)
        yield message
        if opened is None:
            return
        if opened.options.get("forwardSubagentText") is True:
            self._transcripts.add(opened.session)
        family = self._family(opened.session)
        family.offer.options = opened.config_options
        if opened.method == "session/load":
            yield from lives.loaded(family)

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        """A child is stopped by its own session id; how it ended, and what a cancel of all ends, Claude Code tells."""
        root = self._root_of(message.session)
        if root is None:
            self._family(message.session).cancels += 1
            return message
        child = self._family(root).children.get(message.session)
        if child is None or not child.works:
            return None
        child.cancels += 1
        return StopTask(session=root, task=child.session)

    @on(CancelRequest)
    def _cancel_request(self, message: CancelRequest, context: Context) -> Outcome:
        """`$/cancel_request` of a prompt is a cancel of its session."""
        session = self._prompts.session_of(message.request)
        if session is not None:
            self._family(session).cancels += 1
        return message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Outcome:
        for family in self._families.values():
            family.cancels += 1
        return message

    @on(Reply, Answer)
    def _reply(self, message: Reply | Answer, context: Context) -> Iterator[Message]:
        root = self._root_of(message.session) or message.session
        yield attrs.evolve(message, session=root)
        yield from lives.settled(self._family(root), message.ask)

    @on(ToolCallLost)
    def _lost(self, message: ToolCallLost, context: Context) -> Outcome:
        return attrs.evolve(message, session=self._root_of(message.session) or message.session)

    # ------------------------------------------------------------------------------------------ text and calls

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if message.parent is None:
            return message
        if self._profile.subagents:
            return tuple(route(self._family(message.session), message))
        wanted = self._profile.subagent_transcript or message.session in self._transcripts
        return message if wanted else None

    @on(ToolCall, ToolCallUpdate)
    def _call(self, message: ToolCall | ToolCallUpdate, context: Context) -> Outcome:
        if not self._profile.subagents:
            return message
        return tuple(route(self._family(message.session), message))

    # ------------------------------------------------------------------------------------------ a child's life

    @on(Task)
    def _task(self, message: Task, context: Context) -> Iterator[Message]:
        yield message
        if not self._profile.subagents:
            return
        family = self._family(message.session)
        child = family.children.get(message.task)
        if child is None:
            if message.subagent and message.state == "running":
                yield from self._begins(family, message)
        elif child.is_late(message):
            logger.debug("session {}: a late word of an earlier run of {}", message.session, message.task)
        else:
            yield from self._goes_on(family, child, message)

    def _begins(self, family: Family, message: Task) -> Iterator[Message]:
        child = lives.begins(family, message)
        if child is None:
            return
        if child.session in family.past:
            yield from come_back(family, child, message)
        elif child.call is None or child.call in family.hidden:
            yield from announce(family, child)

    def _goes_on(self, family: Family, child: Child, message: Task) -> Iterator[Message]:
        child.run = message.run or child.run
        if message.state == "ended":
            yield from lives.ends(family, child, message)
        elif not child.works and (message.subagent or message.status in ("running", "pending")):
            yield from lives.resumes(family, child, message)
            yield from deliver(family, child)
        elif message.background is not None:
            child.background = message.background

    @on(SubagentHistory)
    def _history(self, message: SubagentHistory, context: Context) -> Outcome:
        return tuple(lives.remembered(self._family(message.session), message)) if self._profile.subagents else None

    @on(SubagentMessage)
    def _message(self, message: SubagentMessage, context: Context) -> Outcome:
        return tuple(lives.heard(self._family(message.session), message)) if self._profile.subagents else None

    @on(SubagentPlace)
    def _place(self, message: SubagentPlace, context: Context) -> Outcome:
        return tuple(lives.placed(self._family(message.session), message)) if self._profile.subagents else None

    # ------------------------------------------------------------------------------------------ what it works with

    @on(ModelNames)
    def _models(self, message: ModelNames, context: Context) -> Outcome:
        self._family(message.session).offer.models = message.entries
        return message

    @on(Update)
    def _update(self, message: Update, context: Context) -> Outcome:
        if isinstance(message.update, acp.ConfigOptionUpdate):
            self._family(message.session).offer.options = message.update.config_options
        return message

    @on(SubagentModel)
    def _model(self, message: SubagentModel, context: Context) -> Outcome:
        family = self._family(message.session)
        return self._learned(family, family.begun_by(message.parent), model=message.model)

    @on(SubagentSettings)
    def _settings(self, message: SubagentSettings, context: Context) -> Outcome:
        family = self._family(message.session)
        child = family.children.get(message.agent)
        return self._learned(family, child, mode=message.mode, effort=message.effort, agent=message.kind)

    def _learned(self, family: Family, child: Child | None, **values: str | None) -> Outcome:
        if child is None:
            return None
        child.settings.learn(**values)
        return tuple(configured(family, child))

    # ------------------------------------------------------------------------------------------ asks

    @on(PermissionRequest, Elicitation)
    def _ask(self, message: PermissionRequest | Elicitation, context: Context) -> Iterator[Message]:
        """A child's question is asked in its session; of a child that nobody knows in the root's (P1, S7)."""
        family = self._family(message.session)
        if not self._profile.subagents:
            yield message
            return
        child = family.children.get(message.agent) if message.agent is not None else None
        tool_use = message.call.tool_call_id if isinstance(message, PermissionRequest) else message.tool_use
        hidden = family.hidden.get(tool_use or "")
        if hidden is not None and not hidden.shown:
            yield from show(family, hidden)
        if child is not None and child.announced:
            yield from lives.asked(family, child, message.ask)
            yield attrs.evolve(message, session=child.session)
            return
        if tool_use is not None and message.agent is not None:
            for held in family.waiting.take_call(tool_use):
                yield attrs.evolve(held, session=family.root)
            family.own(tool_use, family.root)
        yield message

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Iterator[Message]:
        family = self._family(message.session)
        child = family.asks.get(message.ask)
        yield message if child is None else attrs.evolve(message, session=child.session)
        yield from lives.settled(family, message.ask, withdrawn=True)

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        yield message
        yield from lives.all_end(self._family(message.session))

    @on(SessionRestarted, SessionClosed)
    def _over(self, message: SessionRestarted | SessionClosed, context: Context) -> Iterator[Message]:
        """What still runs is idle, and nobody knows how it ended; then nothing of the children is known (W5)."""
        family = self._families.pop(message.session, None)
        if family is not None:
            yield from lives.all_end(family)
            for child in reversed(family.children.values()):
                if child.announced:
                    yield SessionClosed(session=child.session)
        if isinstance(message, SessionClosed):
            self._transcripts.discard(message.session)
        elif family is not None:
            self._family(message.session).cwd = family.cwd
        yield message

    def _root_of(self, session: str) -> str | None:
        """The session that a child belongs to; None for what is no child."""
        for root, family in self._families.items():
            child = family.children.get(session)
            if child is not None and child.announced:
                return root
        return None

    def _family(self, name: str) -> Family:
        return self._families.setdefault(name, Family(root=name, replay=self.replay))
