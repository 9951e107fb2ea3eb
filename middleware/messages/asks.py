"""Words about what Claude Code wants to know before it goes on, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from middleware import acp
from middleware.errors import Failure

from .base import Key, Message, ToAgent, ToClient


@attrs.frozen(kw_only=True)
class Ask(ToClient):
    """Claude Code wants to know something before it goes on. Answered once, or withdrawn.

    `tool_use` is the call that it is about and `agent` the subagent that asks; None where there is none.
    """

    session: str
    ask: str
    tool_use: str | None = None
    agent: str | None = None

    @property
    def opens(self) -> Key:
        return "ask", self.ask

    def denied(self, reason: str) -> Answer:
        """The answer with which the thing asked for does not happen; the model is given the reason."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is denied")

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (self.denied(failure.message),)


@attrs.frozen(kw_only=True)
class Answer(ToAgent):
    """The parent of what an `Ask` is answered with."""

    session: str
    ask: str

    @property
    def answers(self) -> Key:
        return "ask", self.ask


@attrs.frozen(kw_only=True)
class AskWithdrawn(ToClient):
    """Claude Code no longer wants the answer. An answer that is under way is ignored by it."""

    session: str
    ask: str


@attrs.frozen(kw_only=True)
class FileState:
    """The file that a tool is about to change, as the agent end found it just before the ask (a stage reads no file).

    `text` is all of it when `state` is "text". "hidden" is a file that is there and cannot be shown: larger than
    1 MiB, not UTF-8, not readable, or no regular file.
    """

    path: str
    state: Literal["missing", "text", "hidden"]
    text: str = ""


@attrs.frozen(kw_only=True)
class PermissionAsk(Ask):
    """May this tool run? The members are those of Claude Code's `can_use_tool`; `details` holds the rest as it came.

    `ask_rule` is the configured rule that wants to be asked every time, `no_lasting` says that no lasting choice may be
    offered, `default_to_no` that a refusal is the safe choice. `file` is None where no file was looked at.
    """

    name: str
    input: Mapping[str, Any] = attrs.field(factory=dict)
    suggestions: Any = None
    display_name: str | None = None
    decision_reason: str | None = None
    blocked_path: str | None = None
    ask_rule: Any = None
    no_lasting: bool = False
    default_to_no: bool = False
    mcp_server: Mapping[str, Any] | None = None
    file: FileState | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict)

    def denied(self, reason: str) -> Answer:
        return PermissionAnswer(session=self.session, ask=self.ask, decision="deny", message=reason)


@attrs.frozen(kw_only=True)
class PermissionRequest(PermissionAsk):
    """A `PermissionAsk` in the words in which the client is asked: `session/request_permission`."""

    call: acp.ToolCallUpdate
    options: tuple[acp.PermissionOption, ...]
    meta: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class Reply(ToAgent):
    """The parent of what the client says to an `Ask`; the stage that put the ask into words makes an `Answer` of it."""

    session: str
    ask: str


@attrs.frozen(kw_only=True)
class PermissionReply(Reply):
    """The client's answer to a `PermissionRequest`: an option id, None for `cancelled`, or why there is no answer."""

    option: str | None = None
    failure: Failure | None = None
    meta: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class PermissionAnswer(Answer):
    """What Claude Code is told. `abort` is no refusal: the tool use ends with `Tool use aborted`."""

    decision: Literal["allow", "deny", "abort"]
    message: str = ""
    interrupt: bool = False
    updated_input: Mapping[str, Any] | None = None
    updated_permissions: tuple[Mapping[str, Any], ...] | None = None
    classification: Literal["user_temporary", "user_permanent", "user_reject"] | None = None
    tool_use: str | None = None


@attrs.frozen(kw_only=True)
class Elicitation(Ask):
    """A question to the person: `elicitation/create`. A form has a `schema`, a URL an `elicitation` id too.

    One of an MCP server (`server`) is answered by an `ElicitationAnswer`.
    """

    message: str
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] = attrs.field(factory=dict)
    url: str | None = None
    elicitation: str | None = None
    server: str | None = None

    def denied(self, reason: str) -> Answer:
        return ElicitationAnswer(session=self.session, ask=self.ask, action="cancel")


@attrs.frozen(kw_only=True)
class Question(Elicitation):
    """A question of Claude's (AskUserQuestion), answered by a `PermissionAnswer` of its tool use.

    With `options` it is put as `session/request_permission` instead, about `call`.
    """

    call: acp.ToolCallUpdate | None = None
    options: tuple[acp.PermissionOption, ...] = ()

    def denied(self, reason: str) -> Answer:
        return PermissionAnswer(session=self.session, ask=self.ask, decision="deny", message=reason)


@attrs.frozen(kw_only=True)
class RefusalAsk(Ask):
    """The model has declined a request: shall another one try? Claude Code's dialog `refusal_fallback_prompt`."""

    original_model: str
    fallback_model: str
    category: str | None = None
    guidance: str | None = None

    def denied(self, reason: str) -> Answer:
        return DialogAnswer(session=self.session, ask=self.ask)


@attrs.frozen(kw_only=True)
class Dialog(Elicitation):
    """A dialog of Claude Code in the words in which the client is asked, answered by a `DialogAnswer`."""

    def denied(self, reason: str) -> Answer:
        return DialogAnswer(session=self.session, ask=self.ask)


@attrs.frozen(kw_only=True)
class DialogAnswer(Answer):
    """What the person chose in a dialog; None where there was nobody to choose."""

    result: str | None = None


@attrs.frozen(kw_only=True)
class ElicitationReply(Reply):
    """The client's answer to an `Elicitation`: what the person did, or why there is no answer.

    Of a `Question` with options it is "accept" with the `option`, or "cancel".
    """

    action: Literal["accept", "decline", "cancel"] = "cancel"
    content: Mapping[str, Any] | None = None
    option: str | None = None
    failure: Failure | None = None


@attrs.frozen(kw_only=True)
class ElicitationAnswer(Answer):
    """What an MCP server is told."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class ElicitationCompleted(ToClient):
    """What a question with a URL asked for is done: `elicitation/complete`."""

    session: str
    elicitation: str


@attrs.frozen(kw_only=True)
class ToolGate(Ask):
    """Claude Code's PreToolUse hook: a tool is about to run, whether or not a permission is asked for it."""

    name: str
    input: Mapping[str, Any] = attrs.field(factory=dict)

    def denied(self, reason: str) -> Answer:
        return ToolGateAnswer(session=self.session, ask=self.ask, deny=reason)

    def failed(self, failure: Failure) -> Iterable[Message]:
        # The permission check proper follows; a broken stage must not stop every tool of Claude Code.
        return (ToolGateAnswer(session=self.session, ask=self.ask),)


@attrs.frozen(kw_only=True)
class ToolGateAnswer(Answer):
    """None lets Claude Code go on as it would without the hook; a text denies the tool with it."""

    deny: str | None = None
