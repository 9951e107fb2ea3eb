"""Words about sessions: opened, closed, their modes, their past, a new Claude Code under them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from middleware import acp

from .base import ToClient
from .connection import AgentCall


@attrs.frozen(kw_only=True)
class SessionModes(ToClient):
    """The permission modes that a session offers at this moment (Claude Code's ids), and the one that it is in.

    The agent end says so when the session opens and at each change.
    """

    session: str
    available: tuple[str, ...]
    current: str | None = None


@attrs.frozen(kw_only=True)
class ModelNames(ToClient):
    """What a session calls the models that may answer in it: the entry of its model option, by the model's own id."""

    session: str
    entries: Mapping[str, acp.SessionConfigSelectOption]


@attrs.frozen(kw_only=True)
class RestartSession(AgentCall):
    """A fresh Claude Code takes over a session, and its running prompt, to carry out an approved plan (reference 5.7).

    Sent before the answer of the ask that the user decided, so that nothing of the old Claude Code's end is taken in:
    from here on the agent end feeds nothing of it. docs/clear-context.md says all that it has to do.
    """

    name: str = "session/restart"
    plan: str
    mode: str
    tool_use: str | None = None


@attrs.frozen(kw_only=True)
class SessionRestarted(ToClient):
    """Nothing of the session's old Claude Code follows: its calls and its tasks are over, its context is empty.

    Comes before the first message of the new one. Also sent when a conversation was cleared (`conversation_reset`).
    """

    session: str


@attrs.frozen(kw_only=True)
class SessionOpened(ToClient):
    """A session lives from here on: created, loaded, resumed or forked. Precedes every message of it.

    `resumed` is whether it has a past, whose tokens its running totals begin with.
    """

    session: str
    cwd: str
    resumed: bool = False


@attrs.frozen(kw_only=True)
class ClaudeStarted(ToClient):
    """What Claude Code says of itself when it takes up work (`system/init`), at each turn anew.

    `mcp_servers` are pairs of name and status. `terminal_commands` are commands that only its terminal has.
    """

    session: str
    mcp_servers: tuple[tuple[str, str], ...] = ()
    terminal_commands: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Commands(ToClient):
    """The slash commands that Claude Code has at this moment, all of them, as it describes them."""

    session: str
    commands: tuple[Mapping[str, Any], ...]


@attrs.frozen(kw_only=True)
class McpReconnected(ToClient):
    """A `/mcp reconnect` of these servers is over, and its turn with it."""

    session: str
    servers: tuple[str, ...]


@attrs.frozen(kw_only=True)
class SessionClosed(ToClient):
    """Nothing of this session follows; a stage forgets it."""

    session: str
