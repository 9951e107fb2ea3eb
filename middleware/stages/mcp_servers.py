"""The MCP servers that the client gave a session: told by name when one is missing, and signed in to.

Owns, by session, which servers are the client's and what of them was told; and the one sign-in that runs (OAuth by URL
elicitation, reference 08.3): read the status, ask Claude Code for the address, send the person there, and ask every
second whether the server is connected. `/mcp` itself is `McpCommands`' business, which stands on the agent's side and
says which servers were reconnected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from loguru import logger

from middleware.ids import new_uuid
from middleware.mcp import server_notice, servers_in
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    AskWithdrawn,
    ClaudeStarted,
    Closing,
    Elicitation,
    ElicitationAnswer,
    ElicitationCompleted,
    ElicitationReply,
    McpReconnected,
    Message,
    Request,
    RequestFailed,
    Response,
    SessionClosed,
)
from middleware.questions import shown_url
from middleware.stage import Context, Expired, Outcome, on
from middleware.tools.text import one_line
from middleware.tools.unseen import spelled

from .client_aware import ClientAware
from .setup_requests import SetupRequests

POLL = 1.0
"""Seconds between two looks at a server that is being signed in to."""

SIGN_IN_WITHIN = 600.0
"""Seconds that a person has for it."""

STARTS_WITHIN = 30.0
"""Seconds after which a server that still connects is not waited for."""

CALL_WITHIN = 30.0
"""Seconds that Claude Code has for one answer."""

_CALL = "sign in "
"""What the calls of this stage begin with."""


@attrs.define
class _SignIn:
    """A sign-in that runs: to which servers, and how far it is with the first of them."""

    wanted: frozenset[str]
    left: deque[str] = attrs.field(factory=deque)
    server: str | None = None
    call: str | None = None  # what Claude Code is asked at this moment
    ask: str | None = None  # what the person is asked at this moment
    elicitation: str | None = None
    accepted: bool = False
    until: float = 0.0


@attrs.define
class _Session:
    servers: frozenset[str] = frozenset()
    told: set[tuple[str, str]] = attrs.field(factory=set)
    sign_in: _SignIn | None = None


@attrs.frozen
class _Timer:
    """The key of a session's timer: the bound of a call, or the next look."""

    session: str
    call: str | None


@attrs.define(eq=False)
class McpServers(ClientAware):
    """The client's MCP servers, of all sessions of a connection.

    Args:
        new_uuid: where the ids of elicitations come from.
    """

    new_uuid: Callable[[], str] = new_uuid
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _setups: SetupRequests = attrs.field(factory=SetupRequests, init=False)
    _numbers: int = attrs.field(default=0, init=False)

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        self._setups.made(message)
        return message

    @on(Response, RequestFailed)
    def _answered(self, message: Response | RequestFailed, context: Context) -> Iterator[Message]:
        yield message
        opened = self._setups.answered(message)
        if opened is not None and opened.servers:
            self._session(opened.session).servers = opened.servers
            yield from self._begin(opened.session, opened.servers, context)

    @on(McpReconnected)
    def _reconnected(self, message: McpReconnected, context: Context) -> Iterator[Message]:
        wanted = self._session(message.session).servers.intersection(message.servers)
        yield from self._begin(message.session, wanted, context)

    # ------------------------------------------------------------------------------------------ what is missing

    @on(ClaudeStarted)
    def _started(self, message: ClaudeStarted, context: Context) -> Iterator[Message]:
        """Say which of the client's servers are missing: each once, and once more if it was late and then failed."""
        yield message
        session = self._session(message.session)
        for server, status in message.mcp_servers:
            if server not in session.servers or (status == "needs-auth" and self._profile.elicitation_url):
                continue
            kind = "late" if status == "pending" else "missing"
            notice = server_notice(message.session, server, status, notices=self._profile.notices)
            if notice is not None and (server, kind) not in session.told and (server, "missing") not in session.told:
                session.told.add((server, kind))
                yield notice

    # ------------------------------------------------------------------------------------------ signing in

    def _begin(self, name: str, servers: frozenset[str], context: Context) -> Iterator[Message]:
        session = self._session(name)
        if servers and session.sign_in is None and self._profile.elicitation_url:
            session.sign_in = _SignIn(servers, until=context.now() + STARTS_WITHIN)
            yield self._call(name, session.sign_in, "mcp_status", {}, context)

    @on(AgentReply)
    def _reply(self, message: AgentReply, context: Context) -> Iterator[Message]:
        if not message.call.startswith(_CALL):
            yield message
            return
        sign_in = self._session(message.session).sign_in
        if sign_in is None or sign_in.call != message.call:
            return
        context.cancel_timer(_Timer(message.session, message.call))
        sign_in.call = None
        if message.failure is not None:
            yield from self._give_up(message.session, sign_in, context, message.failure.message)
        elif sign_in.server is None:
            listed = [server for server in servers_in(message.result) or () if server.name in sign_in.wanted]
            if any(server.status == "pending" for server in listed) and context.now() < sign_in.until:
                # Whether it needs a sign-in is not known before it was connected to, which goes on in the background.
                context.set_timer(_Timer(message.session, None), POLL)
                return
            needing = [server.name for server in listed if server.status == "needs-auth"]
            sign_in.left = deque(dict.fromkeys(needing))
            yield from self._next(message.session, sign_in, context)
        elif sign_in.elicitation is None:
            yield from self._address(message.session, sign_in, context, message.result)
        else:
            yield from self._looked(message.session, sign_in, context, message.result)

    def _next(self, name: str, sign_in: _SignIn, context: Context) -> Iterator[Message]:
        sign_in.server = sign_in.ask = sign_in.elicitation = None
        sign_in.accepted = False
        if not sign_in.left:
            self._session(name).sign_in = None
            return
        sign_in.server = sign_in.left.popleft()
        yield self._call(name, sign_in, "mcp_authenticate", {"serverName": sign_in.server}, context)

    def _address(self, name: str, sign_in: _SignIn, context: Context, result: Any) -> Iterator[Message]:
        answer = result if isinstance(result, dict) else {}
        url = answer.get("authUrl")
        if not answer.get("requiresUserAction"):
            yield from self._next(name, sign_in, context)
        elif not isinstance(url, str) or not url:
            error = "Claude Code requested user action without returning an authorization URL"
            yield from self._give_up(name, sign_in, context, error)
        else:
            sign_in.elicitation = f"mcp-oauth-{self.new_uuid()}"
            sign_in.ask = sign_in.elicitation
            sign_in.until = context.now() + SIGN_IN_WITHIN
            yield Elicitation(
                session=name,
                ask=sign_in.ask,
                message=f"Authenticate with MCP server {one_line(spelled(sign_in.server or ''))}",
                mode="url",
                url=shown_url(url),
                elicitation=sign_in.elicitation,
                server=sign_in.server,
            )
            yield self._call(name, sign_in, "mcp_status", {}, context)

    def _looked(self, name: str, sign_in: _SignIn, context: Context, result: Any) -> Iterator[Message]:
        """Is the server connected by now? While it wants to be signed in to, look again in a second."""
        status = next((one.status for one in servers_in(result) or () if one.name == sign_in.server), "missing")
        if status in ("needs-auth", "pending") and context.now() < sign_in.until:
            context.set_timer(_Timer(name, None), POLL)
            return
        assert sign_in.elicitation is not None
        if sign_in.ask is not None:  # it went without the person's answer
            yield AskWithdrawn(session=name, ask=sign_in.ask)
        yield ElicitationCompleted(session=name, elicitation=sign_in.elicitation)
        yield from self._next(name, sign_in, context)

    @on(ElicitationReply, ElicitationAnswer)
    def _person(self, message: ElicitationReply | ElicitationAnswer, context: Context) -> Iterator[Message]:
        """What the person says, or what a stage said in their place: without an accept there is no sign-in."""
        sign_in = self._session(message.session).sign_in
        if sign_in is None or sign_in.ask is None or sign_in.ask != message.ask:
            yield message
            return
        sign_in.ask = None
        if message.action != "accept":
            self._stop_looking(message.session, sign_in, context)
            yield from self._next(message.session, sign_in, context)

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Iterator[Message]:
        assert isinstance(expired.key, _Timer)
        name = expired.key.session
        sign_in = self._session(name).sign_in
        if sign_in is None:
            return
        if expired.key.call is None:
            yield self._call(name, sign_in, "mcp_status", {}, context)
        elif sign_in.call == expired.key.call:
            sign_in.call = None
            yield from self._give_up(name, sign_in, context, "Claude Code did not answer")

    def _give_up(self, name: str, sign_in: _SignIn, context: Context, error: str) -> Iterator[Message]:
        """Nothing of the session fails with it (O6)."""
        logger.error("session {}: Failed to authenticate MCP server {}: {}", name, sign_in.server, error)
        if sign_in.ask is not None:
            yield AskWithdrawn(session=name, ask=sign_in.ask)
        if sign_in.elicitation is not None:
            yield ElicitationCompleted(session=name, elicitation=sign_in.elicitation)
        yield from self._next(name, sign_in, context)

    def _call(self, name: str, sign_in: _SignIn, what: str, arguments: dict[str, Any], context: Context) -> AgentCall:
        self._numbers += 1
        sign_in.call = f"{_CALL}{self._numbers}"
        context.set_timer(_Timer(name, sign_in.call), CALL_WITHIN)
        return AgentCall(session=name, call=sign_in.call, name=what, arguments=arguments)

    def _stop_looking(self, name: str, sign_in: _SignIn, context: Context) -> None:
        context.cancel_timer(_Timer(name, None))
        context.cancel_timer(_Timer(name, sign_in.call))
        sign_in.call = None

    # ------------------------------------------------------------------------------------------ the end

    @on(AgentGone, SessionClosed)
    def _gone(self, message: AgentGone | SessionClosed, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if session.sign_in is not None:
            self._stop_looking(message.session, session.sign_in, context)
            if session.sign_in.ask is not None:
                yield AskWithdrawn(session=message.session, ask=session.sign_in.ask)
            session.sign_in = None
        if isinstance(message, SessionClosed):
            self._sessions.pop(message.session, None)
        yield message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Outcome:
        """The client cannot answer any more."""
        for name, session in self._sessions.items():
            if session.sign_in is not None:
                self._stop_looking(name, session.sign_in, context)
                session.sign_in = None
        return message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())
