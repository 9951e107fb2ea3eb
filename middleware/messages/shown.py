"""Words about what the client is shown, ready for the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from middleware import acp
from middleware.errors import Failure

from .base import Message, ToAgent, ToClient
from .work import Text


@attrs.frozen(kw_only=True)
class ToolCallLost(ToAgent):
    """An announced tool call did not reach the client; whoever announces calls must announce it again."""

    session: str
    tool_use: str


@attrs.frozen(kw_only=True)
class ToolCall(ToClient):
    """A tool call is announced."""

    session: str
    call: acp.ToolCall

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (ToolCallLost(session=self.session, tool_use=self.call.tool_call_id),)


@attrs.frozen(kw_only=True)
class ToolCallUpdate(ToClient):
    """An announced tool call changes."""

    session: str
    change: acp.ToolCallUpdate


@attrs.frozen(kw_only=True)
class Usage(ToClient):
    """How full the context window is (tokens), and what the session has cost (US dollars).

    `rate_limit` is Claude Code's word on the account's limits, when it has just said it.
    """

    session: str
    used: int
    size: int
    cost: float | None = None
    model: str | None = None
    origin: str | None = None
    rate_limit: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class UserMessage(ToClient):
    """A piece of what the person said, shown again: a loaded session tells the client its conversation."""

    session: str
    content: acp.ContentBlock
    message: str | None = None


@attrs.frozen(kw_only=True)
class Notice(ToClient):
    """Claude Code, or the bridge, has something to tell the person that is no answer of the model.

    Args:
        fallback: the title of a client's notice where `title` is too long for one.
        transcript: the same as a paragraph of a transcript, for a client without notices; else it is made of both.
        where: a few are for clients with notices only, or for transcripts only.
        once: a client with notices is told one of those with the same mark.
        meta: `_meta` of the paragraph in the transcript.
        said: Claude Code's own words, which its result may say again.
    """

    session: str
    title: str
    description: str | None = None
    severity: Literal["info", "warning", "error"] = "info"
    fallback: str | None = None
    transcript: str | None = None
    where: Literal["always", "notices", "transcript"] = "always"
    once: str | None = None
    meta: Mapping[str, Any] | None = None
    said: str | None = None


@attrs.frozen(kw_only=True)
class Compaction(ToClient):
    """The conversation is replaced by a summary of itself.

    `tokens_before` and `tokens` are how long it was and what is left of it, `milliseconds` is how long it took, where
    that is known. `trigger` is "manual", "automatic" or "idle"; `error` says why one failed. One that is in progress
    may be told again.
    """

    session: str
    state: Literal["in_progress", "completed", "failed"]
    compaction: str | None = None
    summary: str | None = None
    error: str | None = None
    trigger: Literal["manual", "automatic", "idle"] | None = None
    tokens_before: int | None = None
    tokens: int | None = None
    milliseconds: int | None = None


@attrs.frozen(kw_only=True)
class CompactionSummary(ToClient):
    """A piece of the summary, while it is written."""

    session: str
    text: str


@attrs.frozen(kw_only=True)
class Replayed(ToClient):
    """A message of a loaded session's past, complete as the client will see it.

    What is past has been through the stages already, through a pipeline of its own. In the live one it is wrapped, so
    that no stage takes it for something that happens: no turn runs, no tokens are used, no cancel holds it back.
    """

    session: str
    message: UserMessage | Text | ToolCall | ToolCallUpdate | Update


@attrs.frozen(kw_only=True)
class WindowSize(ToClient):
    """How many tokens the context of the session's model takes, before any result says so."""

    session: str
    size: int


@attrs.frozen(kw_only=True)
class Update(ToClient):
    """Any other `session/update`, ready made."""

    session: str
    update: acp.SessionUpdate
