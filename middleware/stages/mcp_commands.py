"""`/mcp` in the chat: the status of the MCP servers, and reconnect, enable, disable (reference 08.2).

Stands next to the agent and behaves as an agent for the prompts that it takes: such a prompt waits its turn, is
started, answered by a text and a `Result` that names it, and never reaches Claude Code. Prompts that come behind it are
held back until it is through, since what it does to the servers is meant for them.

Owns which prompts Claude Code has and which wait, by session. What is said is in `middleware.mcp`; the command is
advertised by `AvailableCommands`; signing in to a server is `McpServers`' business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import attrs
from loguru import logger

from middleware.ids import new_uuid
from middleware.mcp import McpCommand, done, failed, nothing_to_do, parse, servers_in, status_list, targets
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Interrupt,
    Interrupted,
    McpReconnected,
    Message,
    Prompt,
    PromptEchoed,
    PromptState,
    RequestFailed,
    RequestId,
    Result,
    SessionClosed,
    Text,
    WorkState,
)
from middleware.stage import Context, Expired, Outcome, Stage, on

from .turn_outcome import is_autonomous

STATUS_WITHIN = 5.0
"""Seconds in which the servers' status must be read (reference M1)."""

ACTION_WITHIN = 30.0
"""Seconds that one action on one server may take (reference M3)."""

TIMED_OUT = "The request timed out."
NO_STATUS = "The status of the MCP servers could not be read. Please try `/mcp` again."

_CALL = "/mcp "
"""What the calls of this stage begin with."""


@attrs.define
class _Run:
    """A `/mcp` that is being carried out: what it does at this moment, and what it has to say."""

    prompt: str
    command: McpCommand
    call: str = ""
    server: str | None = None  # what the call is about; None while the status is read
    left: deque[str] = attrs.field(factory=deque)
    acting: bool = False
    lines: list[str] = attrs.field(factory=list)
    reconnected: list[str] = attrs.field(factory=list)


@attrs.define
class _Session:
    working: dict[str, RequestId] = attrs.field(factory=dict)  # the prompts that Claude Code has, in order
    started: set[str] = attrs.field(factory=set)
    waiting: deque[Prompt] = attrs.field(factory=deque)
    run: _Run | None = None
    idle_owed: bool = False  # Claude Code is idle, and that was not told since a /mcp runs

    def ended(self, *prompts: str) -> None:
        for prompt in prompts:
            self.working.pop(prompt, None)
            self.started.discard(prompt)


@attrs.frozen
class _Bound:
    """The key of the timer of a call."""

    session: str
    call: str


@attrs.define(eq=False)
class McpCommands(Stage):
    """The `/mcp` prompts of a connection.

    Args:
        new_uuid: where the ids of the messages in the chat come from.
    """

    new_uuid: Callable[[], str] = new_uuid
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _calls: int = attrs.field(default=0, init=False)

    # ------------------------------------------------------------------------------------------ prompts

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Iterator[Message]:
        self._session(message.session).waiting.append(message)
        yield from self._advance(message.session, context)

    def _advance(self, name: str, context: Context) -> Iterator[Message]:
        """Let go what need not wait: up to the next `/mcp`, and that when nothing is left before it."""
        session = self._session(name)
        while session.waiting and session.run is None:
            prompt = session.waiting[0]
            command = parse(prompt.content)
            if command is None:
                session.working[prompt.prompt] = prompt.request
                yield session.waiting.popleft()
            elif session.working:
                return
            else:
                session.waiting.popleft()
                session.run = _Run(prompt.prompt, command)
                yield PromptState(session=name, prompt=prompt.prompt, state="started")
                yield self._call(name, session.run, context)

    @on(Interrupt)
    def _interrupt(self, message: Interrupt, context: Context) -> Iterator[Message]:
        """A cancel stops what waits here and what runs here; the rest of it is for Claude Code."""
        name, session = message.session, self._session(message.session)
        kept = deque(prompt for prompt in session.waiting if prompt.prompt not in message.drop)
        stopped = [prompt.prompt for prompt in session.waiting if prompt.prompt in message.drop]
        session.waiting = kept
        run = session.run
        if run is not None and run.prompt in message.drop:
            stopped.insert(0, run.prompt)
            session.run = None
            context.cancel_timer(_Bound(name, run.call))
        yield attrs.evolve(message, drop=tuple(prompt for prompt in message.drop if prompt not in stopped))
        for prompt in stopped:
            yield PromptState(session=name, prompt=prompt, state="cancelled")
        if run is not None and session.run is None:
            yield from self._over(name, run, context)
        else:
            yield from self._advance(name, context)

    # ------------------------------------------------------------------------------------------ what Claude Code has

    @on(Result)
    def _result(self, message: Result, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        named = message.prompts
        if not named and not is_autonomous(message):
            named = tuple(session.working)[:1]  # a Claude Code that names nothing takes them in order
        session.ended(*named)
        yield message
        yield from self._advance(message.session, context)

    @on(PromptState)
    def _state(self, message: PromptState, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if message.state == "started":
            session.started.add(message.prompt)
        elif message.state in ("cancelled", "discarded", "refused"):
            session.ended(message.prompt)
        yield message
        yield from self._advance(message.session, context)

    @on(PromptEchoed)
    def _echoed(self, message: PromptEchoed, context: Context) -> Outcome:
        self._session(message.session).started.add(message.prompt)
        return message

    @on(WorkState)
    def _work_state(self, message: WorkState, context: Context) -> Iterator[Message]:
        """What began and has no result when Claude Code is idle will have none.

        While a `/mcp` runs the agent is not idle: Claude Code's word is kept until then.
        """
        session = self._session(message.session)
        if message.state == "idle":
            session.ended(*tuple(session.started))
        session.idle_owed = session.run is not None and message.state == "idle"
        if not session.idle_owed:
            yield message
        yield from self._advance(message.session, context)

    @on(Interrupted)
    def _interrupted(self, message: Interrupted, context: Context) -> Iterator[Message]:
        self._session(message.session).ended(*message.dropped)
        yield message
        yield from self._advance(message.session, context)

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Iterator[Message]:
        yield message
        for name, session in self._sessions.items():
            lost = [prompt for prompt, request in session.working.items() if request == message.request]
            session.ended(*lost)
            if lost:
                yield from self._advance(name, context)

    @on(AgentGone)
    def _gone(self, message: AgentGone, context: Context) -> Iterator[Message]:
        """What Claude Code had been given is over; what waits goes to its successor, where there is one."""
        session = self._session(message.session)
        session.ended(*(message.prompts if message.prompts is not None else tuple(session.working)))
        yield message
        if message.prompts is None:
            del self._sessions[message.session]
            yield from self._drop(message.session, session, context)
        else:
            yield from self._advance(message.session, context)

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Iterator[Message]:
        """What was not taken is told as cancelled: nothing of a session follows its end."""
        session = self._sessions.pop(message.session, None)
        if session is not None:
            yield from self._drop(message.session, session, context)
        yield message

    def close(self, context: Context) -> Iterator[Message]:
        for name, session in self._sessions.items():
            yield from self._drop(name, session, context)
        self._sessions.clear()

    def _drop(self, name: str, session: _Session, context: Context) -> Iterator[Message]:
        if session.run is not None:
            context.cancel_timer(_Bound(name, session.run.call))
            yield PromptState(session=name, prompt=session.run.prompt, state="cancelled")
        for prompt in session.waiting:
            yield PromptState(session=name, prompt=prompt.prompt, state="cancelled")

    # ------------------------------------------------------------------------------------------ carrying it out

    @on(AgentReply)
    def _reply(self, message: AgentReply, context: Context) -> Iterator[Message]:
        if not message.call.startswith(_CALL):
            yield message
            return
        session = self._sessions.get(message.session)
        run = session.run if session is not None else None
        if run is None or run.call != message.call:
            return  # its bound was over, or the command was cancelled
        context.cancel_timer(_Bound(message.session, run.call))
        failure = message.failure
        error = None if failure is None else _reason(failure.message, failure.data)
        yield from self._go_on(message.session, run, context, message.result, error)

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        assert isinstance(expired.key, _Bound)
        session = self._sessions.get(expired.key.session)
        run = session.run if session is not None else None
        if run is not None and run.call == expired.key.call:
            yield from self._go_on(expired.key.session, run, context, None, TIMED_OUT)

    def _go_on(self, name: str, run: _Run, context: Context, result: object, error: str | None) -> Iterator[Message]:
        """One step of the command is done."""
        if run.server is not None:
            self._acted(run, run.server, error)
        else:
            servers = servers_in(result) if error is None else None
            if servers is None:
                logger.warning(
                    "session {}: the status of the MCP servers could not be read: {}", name, error or "no list"
                )
                blocks = run.lines if run.acting else [NO_STATUS]
                yield from self._finish(name, run, context, "\n".join(blocks))
                return
            if run.command.action == "status" or run.acting:
                yield from self._finish(name, run, context, _joined(run.lines, status_list(servers)))
                return
            run.left = deque(targets(run.command, servers))
            run.acting = True
            if not run.left:
                run.lines.append(nothing_to_do(run.command))
                yield from self._finish(name, run, context, _joined(run.lines, status_list(servers)))
                return
        run.server = run.left.popleft() if run.left else None
        yield self._call(name, run, context)

    def _acted(self, run: _Run, server: str, error: str | None) -> None:
        action = run.command.action
        run.lines.append(done(action, server) if error is None else failed(action, server, error))
        if action == "reconnect":
            run.reconnected.append(server)  # one that failed may want to be signed in to

    def _call(self, name: str, run: _Run, context: Context) -> AgentCall:
        self._calls += 1
        run.call = f"{_CALL}{self._calls}"
        context.set_timer(_Bound(name, run.call), STATUS_WITHIN if run.server is None else ACTION_WITHIN)
        if run.server is None:
            return AgentCall(session=name, call=run.call, name="mcp_status")
        if run.command.action == "reconnect":
            return AgentCall(session=name, call=run.call, name="mcp_reconnect", arguments={"serverName": run.server})
        enabled = run.command.action == "enable"
        arguments = {"serverName": run.server, "enabled": enabled}
        return AgentCall(session=name, call=run.call, name="mcp_toggle", arguments=arguments)

    def _finish(self, name: str, run: _Run, context: Context, text: str) -> Iterator[Message]:
        session = self._session(name)
        session.run = None
        yield Text(session=name, text=text, message=self.new_uuid())
        yield Result(session=name, prompts=(run.prompt,), num_turns=0)
        yield from self._over(name, run, context)

    def _over(self, name: str, run: _Run, context: Context) -> Iterator[Message]:
        """What follows the end of a command, however it came."""
        session = self._session(name)
        if session.idle_owed:
            session.idle_owed = False
            yield WorkState(session=name, state="idle")
        if run.reconnected:
            yield McpReconnected(session=name, servers=tuple(run.reconnected))
        yield from self._advance(name, context)

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())


def _joined(lines: list[str], listed: str) -> str:
    return "\n\n".join([*(["\n".join(lines)] if lines else []), listed])


def _reason(message: str, data: object) -> str:
    """What Claude Code said, which stands in the details of the agent end's failure."""
    details = data.get("details") if isinstance(data, dict) else None
    return details if isinstance(details, str) and details else message
