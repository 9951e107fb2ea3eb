"""The slash commands that the client may offer: Claude Code's list in ACP's words, told when the client can take it.

Owns, by session, the commands that Claude Code has at this moment and what the client was told of them. A client learns
of a session from the answer of the request that opened it, so what is known before waits for that (reference 10.11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from middleware import acp
from middleware.messages import (
    ClaudeStarted,
    Commands,
    Message,
    Request,
    RequestFailed,
    RequestId,
    Response,
    SessionClosed,
    Update,
)
from middleware.stage import Context, Outcome, Stage, on
from middleware.tools.unseen import is_seen, plain

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""The requests that open a session."""

HIDDEN = frozenset(
    {"clear", "cost", "keybindings-help", "login", "logout", "mcp", "output-style:new", "release-notes", "todos"}
)
"""Commands that are nothing for an editor; Claude Code's own `mcp` cannot act without its terminal."""

TERMINAL = frozenset({"color", "doctor", "focus", "reload-plugins"})
"""Commands that only Claude Code's terminal has, until it says itself which these are (with the first turn)."""

MCP = acp.AvailableCommand(
    name="mcp",
    description="Show the MCP servers and their status, or reconnect, enable, or disable a server",
    input=acp.UnstructuredCommandInput(hint="[reconnect|enable|disable [<server>|all]]"),
)
"""The bridge's own command (reference 8.2)."""

_SUFFIX = " (MCP)"


@attrs.define
class _Session:
    known: bool = False  # the client has the session's id
    commands: tuple[Mapping[str, Any], ...] | None = None
    terminal: frozenset[str] = TERMINAL
    told: list[acp.AvailableCommand] | None = None


@attrs.define(eq=False)
class AvailableCommands(Stage):
    """`Commands` in, `available_commands_update` out, whenever the list is another one.

    Args:
        own: commands of the bridge, behind Claude Code's.
    """

    own: tuple[acp.AvailableCommand, ...] = (MCP,)
    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _opening: dict[RequestId, str | None] = attrs.field(factory=dict, init=False)

    @on(Request)
    def _request(self, message: Request, context: Context) -> Outcome:
        if message.method in OPENING:
            self._opening[message.request] = message.session
        return message

    @on(Response)
    def _response(self, message: Response, context: Context) -> Iterator[Message]:
        """The client knows the session; one that it opens again is told again."""
        yield message
        if message.request not in self._opening:
            return
        asked = self._opening.pop(message.request)
        name = getattr(message.result, "session_id", None) or asked
        if name is not None:
            session = self._session(name)
            session.known, session.told = True, None
            yield from self._tell(name, session)

    @on(RequestFailed)
    def _failed(self, message: RequestFailed, context: Context) -> Outcome:
        self._opening.pop(message.request, None)
        return message

    @on(Commands)
    def _commands(self, message: Commands, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        session.commands = message.commands
        yield from self._tell(message.session, session)

    @on(ClaudeStarted)
    def _started(self, message: ClaudeStarted, context: Context) -> Iterator[Message]:
        yield message
        session = self._session(message.session)
        session.terminal = frozenset(message.terminal_commands) or session.terminal
        yield from self._tell(message.session, session)

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _tell(self, name: str, session: _Session) -> Iterator[Message]:
        if not session.known or session.commands is None:
            return
        offered = available(session.commands, session.terminal, self.own)
        if offered != session.told:
            session.told = offered
            yield Update(session=name, update=acp.AvailableCommandsUpdate(available_commands=offered))


def available(
    commands: tuple[Mapping[str, Any], ...],
    terminal: frozenset[str] = TERMINAL,
    own: tuple[acp.AvailableCommand, ...] = (MCP,),
) -> list[acp.AvailableCommand]:
    """What of Claude Code's commands a client can offer, and ours; of a name the first one.

    `server:prompt (MCP)` is offered as `mcp:server:prompt`. A name with blanks, or with characters that are not seen,
    is not offered: nobody could type it.
    """
    offered: dict[str, acp.AvailableCommand] = {}
    for command in commands:
        name = command.get("name")
        if not isinstance(name, str) or name in HIDDEN or name in terminal:
            continue
        if name.endswith(_SUFFIX):
            name = f"mcp:{name.removesuffix(_SUFFIX)}"
        if name and is_seen(name) and not any(character.isspace() for character in name):
            offered.setdefault(name, _command(name, command))
    for mine in own:
        offered.setdefault(mine.name, mine)
    return list(offered.values())


def _command(name: str, command: Mapping[str, Any]) -> acp.AvailableCommand:
    description, hint = command.get("description"), command.get("argumentHint")
    hint = " ".join(str(part) for part in hint) if isinstance(hint, list) else hint
    return acp.AvailableCommand(
        name=name,
        description=plain(description) if isinstance(description, str) else "",
        input=acp.UnstructuredCommandInput(hint=plain(hint)) if isinstance(hint, str) and hint else None,
    )
