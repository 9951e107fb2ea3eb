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

from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    Answer,
    AskWithdrawn,
    Cancel,
    Elicitation,
    Initialized,
    Message,
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
    SubagentPlace,
    Task,
    Text,
    ToolCall,
    ToolCallLost,
    ToolCallUpdate,
)
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on
from middleware.subagents.calls import HAND_BACK, HIDDEN, LAUNCHES, SEND, HiddenCall, id_of, merged, name_of, parent_of
from middleware.subagents.family import ENDS, PLACES, Child, Family
from middleware.subagents.waiting import Routed
from middleware.subagents.words import announcement, place_of, reported, spoken, state_of

from .setup_requests import SetupRequests, wished_options

_NO_REASON = frozenset({"worker_restart"})


@attrs.define(eq=False)
class Subagents(Stage):
    """The subagents of all sessions of a connection."""

    _profile: ClientProfile = attrs.field(factory=ClientProfile, init=False)
    _families: dict[str, Family] = attrs.field(factory=dict, init=False)
    _roots: dict[str, str] = attrs.field(factory=dict, init=False)  # a child's session -> its root
    _setups: SetupRequests = attrs.field(factory=SetupRequests, init=False)
    _transcripts: set[str] = attrs.field(factory=set, init=False)  # sessions that asked for their subagents' text

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        self._profile = message.profile
        return message

    @on(SessionOpened)
    def _opened(self, message: SessionOpened, context: Context) -> Outcome:
        self._family(message.session).cwd = message.cwd
        return message

    # ------------------------------------------------------------------------------------------ from the client

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        return self._refused(message) if message.session in self._roots else message

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        """Nothing can be asked of a child, save to stop."""
        if message.session in self._roots:
            return self._refused(message)
        self._setups.made(message)
        if message.session is not None and wished_options(message).get("forwardSubagentText") is True:
            self._transcripts.add(message.session)
        return message

    def _refused(self, message: Prompt | Request) -> RequestFailed:
        return RequestFailed(request=message.request, failure=Failure.session_not_found(str(message.session)))

    @on(Response, RequestFailed)
    def _answered(self, message: Response | RequestFailed, context: Context) -> Outcome:
        opened = self._setups.answered(message)
        if opened is not None and opened.options.get("forwardSubagentText") is True:
            self._transcripts.add(opened.session)
        return message

    @on(Cancel)
    def _cancel(self, message: Cancel, context: Context) -> Outcome:
        """A child is stopped by its own session id; how it ended, and what a cancel of all ends, Claude Code tells."""
        root = self._roots.get(message.session)
        if root is None:
            self._family(message.session).cancels += 1
            return message
        child = self._family(root).children.get(message.session)
        if child is None or not child.works:
            return None
        child.cancels += 1
        return StopTask(session=root, task=child.session)

    @on(Reply, Answer)
    def _reply(self, message: Reply | Answer, context: Context) -> Iterator[Message]:
        root = self._roots.get(message.session, message.session)
        yield attrs.evolve(message, session=root)
        yield from self._settled(self._family(root), message.ask)

    @on(ToolCallLost)
    def _lost(self, message: ToolCallLost, context: Context) -> Outcome:
        return attrs.evolve(message, session=self._roots.get(message.session, message.session))

    # ------------------------------------------------------------------------------------------ text and calls

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if message.parent is None:
            return message
        if self._profile.subagents:
            return tuple(self._in_lane(self._family(message.session), message.parent, message))
        wanted = self._profile.subagent_transcript or message.session in self._transcripts
        return message if wanted else None

    @on(ToolCall, ToolCallUpdate)
    def _call(self, message: ToolCall | ToolCallUpdate, context: Context) -> Outcome:
        if not self._profile.subagents:
            return message
        return tuple(self._route(self._family(message.session), message))

    def _route(self, family: Family, message: Routed) -> Iterator[Message]:
        """A message goes to the session that it belongs to, or waits until the client knows that one (7.2)."""
        if isinstance(message, Text):
            yield from self._in_lane(family, message.parent, message)
            return
        tool_use, lane = id_of(message), parent_of(message)
        hidden = family.hidden.get(tool_use)
        if hidden is not None and not hidden.shown:
            if isinstance(message, ToolCallUpdate):
                yield from self._hidden_change(family, hidden, message)
        elif tool_use in family.owners:
            yield attrs.evolve(message, session=family.owners[tool_use])
        elif isinstance(message, ToolCall) and self._is_control(family, message):
            session = family.session_of(lane)
            if session is None:
                family.waiting.put(str(lane), message)  # nobody guesses whose it is
            else:
                yield from self._hide(family, HiddenCall(session, message.call))
        else:
            yield from self._in_lane(family, lane, message)

    def _in_lane(self, family: Family, lane: str | None, message: Routed) -> Iterator[Message]:
        session = family.session_of(lane)
        if session is None:
            family.waiting.put(str(lane), message)
            return
        if session != family.root and not isinstance(message, Text):
            family.own(id_of(message), session)
        yield attrs.evolve(message, session=session)

    # ------------------------------------------------------------------------------------------ hidden calls

    def _is_control(self, family: Family, message: ToolCall) -> bool:
        name = name_of(message.call.meta)
        return name in HIDDEN and (name != HAND_BACK or family.begun_by(parent_of(message)) is not None)

    def _hide(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        family.hide(hidden)
        child = family.begun_by(hidden.tool_use)
        if child is not None and not child.announced and hidden.name in LAUNCHES:
            yield from self._announce(family, child)
        if hidden.ended:
            yield from self._finished(family, hidden)

    def _hidden_change(self, family: Family, hidden: HiddenCall, message: ToolCallUpdate) -> Iterator[Message]:
        over = hidden.ended
        hidden.call = merged(hidden.call, message.change)
        if hidden.ended and not over:
            yield from self._finished(family, hidden)

    def _finished(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        """The end of a hidden call: a child session has replaced it, or it is shown after all."""
        if hidden.name in LAUNCHES:
            yield from self._launch_finished(family, hidden)
        elif hidden.name == SEND:
            yield from self._sent(family, hidden)
        else:
            yield from self._handed_back(family, hidden)

    def _launch_finished(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        child = family.begun_by(hidden.tool_use)
        completed = hidden.call.status == "completed"
        background = hidden.input.get("run_in_background") is True or hidden.response.get("status") == "async_launched"
        if child is not None and child.announced:
            if completed and not (background or child.background or child.handed_back):
                yield from reported(child, hidden.tool_use, hidden.texts())
        elif not (completed and background):  # of one in the background the child starts later
            family.waiting.take(hidden.tool_use)
            if child is not None:
                del family.children[child.session]
            yield from self._show(family, hidden)

    def _sent(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        """A message that reached a child stands in both transcripts instead of the call (M1)."""
        resumed = hidden.response.get("resumedAgentId")
        child = family.named(resumed if isinstance(resumed, str) else hidden.member("to", "recipient"))
        refused = hidden.call.status != "completed" or hidden.response.get("success") is False
        if refused or child is None or not child.announced:
            yield from self._show(family, hidden)
        else:
            yield from self._tell(child, hidden.session, hidden.tool_use, hidden.member("message", "content"))

    def _handed_back(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        child = family.children.get(hidden.session)
        text = hidden.member("message")
        if child is None or child.parent is None or hidden.call.status != "completed" or text is None:
            yield from self._show(family, hidden)
        else:
            child.handed_back = True
            yield from spoken(child.session, child.parent, hidden.tool_use, text)

    def _show(self, family: Family, hidden: HiddenCall) -> Iterator[Message]:
        """The client gets the call after all, as far as it is."""
        hidden.shown = True
        family.own(hidden.tool_use, hidden.session)
        call = hidden.at_last() if hidden.ended else hidden.call
        yield ToolCall(session=hidden.session, call=call)

    def _tell(self, child: Child, sender: str | None, name: str, text: str | None) -> Iterator[Message]:
        """A message to a child, once."""
        if text and name not in child.told:
            child.told.add(name)
            yield from spoken(sender, child.session, name, text)

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
            return
        if child.is_late(message):
            logger.debug("session {}: a late word of an earlier run of {}", message.session, message.task)
            return
        child.run = message.run or child.run
        if message.state == "ended":
            yield from self._ends(family, child, message)
        elif not child.works and (message.subagent or message.status in ("running", "pending")):
            yield from self._resumes(family, child, message)
        else:
            child.background = child.background if message.background is None else message.background

    def _begins(self, family: Family, message: Task) -> Iterator[Message]:
        child = Child(
            session=message.task, call=message.tool_use, run=message.run, cwd=family.places.pop(message.task, None)
        )
        past = family.past.get(message.task)
        if past is not None:
            yield from self._returns(family, child, message)
            return
        sent = family.hidden.get(message.tool_use or "")
        if sent is not None and sent.name == SEND:
            logger.info("session {}: {} was resumed, and its history is not known", family.root, message.task)
            return
        family.add(child)
        family.learn(child, message)
        if child.call is None:
            child.parent = family.root
        if child.call is None or child.call in family.hidden:
            yield from self._announce(family, child)

    def _announce(self, family: Family, child: Child) -> Iterator[Message]:
        """Tell of the child, then what it was told, then what it did meanwhile (A1 to A3)."""
        launch = family.hidden.get(child.call or "")
        if launch is not None:
            child.parent = launch.session
            family.learn(child, Task(session=family.root, task=child.session, state="running", prompt=child.prompt))
        yield from self._introduce(family, child)
        name = child.call or f"{child.session}:prompt:1"
        if launch is None or launch.shown:  # the call itself stands in its maker's transcript
            if child.prompt and name not in child.told:
                child.told.add(name)
                yield from spoken(child.parent, child.session, name, child.prompt, outgoing=False)
        else:
            yield from self._tell(child, child.parent, name, child.prompt)
        yield from self._deliver(family, child)

    def _introduce(self, family: Family, child: Child, *, live: bool = True) -> Iterator[Message]:
        child.announced = True
        self._roots[child.session] = family.root
        yield from announcement(family, child, live=live)

    def _deliver(self, family: Family, child: Child) -> Iterator[Message]:
        for held in family.waiting.take(child.call):
            yield from self._route(family, held)

    def _ends(self, family: Family, child: Child, message: Task) -> Iterator[Message]:
        """How it ended; of one that was never announced nothing is said, since its parent would be guessed (W3)."""
        error = message.error or (message.summary if message.status == "failed" else None)
        if not child.announced:
            family.waiting.take(child.call)
            del family.children[child.session]
        elif child.works:
            child.state = "idle"
            reason = ENDS.get(message.status or "")
            reason = None if message.reason in _NO_REASON else reason
            child.error_owed = reason == "error" and error is None
            yield state_of(child, reason, error if reason == "error" else None)
        elif child.error_owed and error is not None:
            child.error_owed = False
            yield state_of(child, "error", error)

    def _resumes(self, family: Family, child: Child, message: Task) -> Iterator[Message]:
        """A new delegation of a child that had ended; its session is the same (W4)."""
        if message.tool_use is not None and message.tool_use != child.call:
            if child.call is not None:
                child.past_calls.add(child.call)
            child.past_calls.discard(message.tool_use)
            child.call = message.tool_use
        child.handed_back = child.error_owed = False
        child.background = True if message.background is None else message.background
        child.state = "requires_action" if child.asks else "running"
        if not child.announced:
            return
        yield state_of(child)
        sent = family.hidden.get(message.tool_use or "")
        if sent is not None:
            text = sent.member("message", "content", "prompt") or message.prompt
            yield from self._tell(child, sent.session, sent.tool_use, text)
        elif message.tool_use is not None:
            yield from self._tell(child, child.parent, message.tool_use, message.prompt)
        yield from self._deliver(family, child)

    # ------------------------------------------------------------------------------------------ children from before

    @on(SubagentHistory)
    def _history(self, message: SubagentHistory, context: Context) -> Outcome:
        self._family(message.session).past = {past.task: past for past in message.subagents}
        return None

    def _returns(self, family: Family, child: Child, message: Task) -> Iterator[Message]:
        """A child from before this connection is resumed: those above it are told of first, without a state (7.8)."""
        for above in (*family.unannounced_ancestors(child.session), family.past[child.session]):
            known = child if above.task == child.session else Child(session=above.task, state="idle")
            known.parent = above.parent or family.root
            known.title, known.description = above.title, above.description
            known.cwd = known.cwd or above.cwd
            family.add(known)
            yield from self._introduce(family, known, live=known is child)
        if message.background is not None:
            child.background = message.background
        sent = family.hidden.get(message.tool_use or "")
        if message.tool_use is not None:
            text = (sent.member("message", "content") if sent is not None else None) or message.prompt
            yield from self._tell(child, sent.session if sent is not None else child.parent, message.tool_use, text)
        yield from self._deliver(family, child)

    @on(SubagentPlace)
    def _place(self, message: SubagentPlace, context: Context) -> Outcome:
        """Where a child works is told when it is another directory than before, its parent's to begin with (D1)."""
        family = self._family(message.session)
        child = family.children.get(message.agent)
        if child is None:
            if len(family.places) < PLACES:
                family.places[message.agent] = message.cwd
            return None
        before, child.cwd = family.cwd_of((child.cwd and child.session) or child.parent), message.cwd
        return place_of(child, message.cwd) if child.announced and before != message.cwd else None

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
            yield from self._show(family, hidden)
        if child is None or not child.announced:
            for held in family.waiting.take_call(tool_use) if tool_use is not None else ():
                family.own(id_of(held), family.root)  # type: ignore[arg-type]
                yield attrs.evolve(held, session=family.root)
            yield message
            return
        child.asks[message.ask] = family.cancels_over(child)
        family.asks[message.ask] = child
        if child.state == "running":
            child.state = "requires_action"
            yield state_of(child)
        yield attrs.evolve(message, session=child.session)

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Iterator[Message]:
        family = self._family(message.session)
        child = family.asks.get(message.ask)
        yield attrs.evolve(message, session=child.session) if child is not None else message
        if child is not None:
            yield from self._settled(family, message.ask, withdrawn=True)

    def _settled(self, family: Family, ask: str, *, withdrawn: bool = False) -> Iterator[Message]:
        """With its last open ask a child runs again; not one that is being stopped (W1)."""
        child = family.asks.pop(ask, None)
        if child is None:
            return
        cancels = child.asks.pop(ask)
        stopped = withdrawn and family.cancels_over(child) > cancels
        if not child.asks and child.state == "requires_action" and not stopped:
            child.state = "running"
            yield state_of(child)

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        yield message
        yield from self._all_end(self._family(message.session))

    @on(SessionRestarted, SessionClosed)
    def _over(self, message: SessionRestarted | SessionClosed, context: Context) -> Iterator[Message]:
        """What still runs is idle, and nobody knows how it ended; then nothing of the children is known (W5)."""
        family = self._families.pop(message.session, None)
        if family is not None:
            yield from self._all_end(family)
            for child in reversed(family.children.values()):
                if child.announced:
                    self._roots.pop(child.session, None)
                    yield SessionClosed(session=child.session)
        if isinstance(message, SessionClosed):
            self._transcripts.discard(message.session)
        elif family is not None:
            self._family(message.session).cwd = family.cwd
        yield message

    def _all_end(self, family: Family) -> Iterator[Message]:
        for child in reversed(list(family.children.values())):
            for ask in list(child.asks):
                family.asks.pop(ask, None)
                yield AskWithdrawn(session=child.session, ask=ask)
            child.asks.clear()
            if child.announced and child.works:
                child.state = "idle"
                yield state_of(child)
        family.waiting = type(family.waiting)()

    def _family(self, name: str) -> Family:
        return self._families.setdefault(name, Family(root=name))
