"""The words in which stages and both ends speak: one frozen class a word, its direction in its class.

Words, not wire: a version of ACP words them at the client end, and a version of Claude Code at the agent end. Content
that a client will see is held as the types of `middleware.acp`. A new word goes here when two stages, or a stage and an
end, must agree on it; what one stage keeps for itself does not.

Every request has one answer. `opens` names the request that a message makes and `answers` the one that it ends, so that
`middleware.testing.assert_one_answer` can count; `failed` is the answer that a request gets when a stage breaks on it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import attrs

from . import acp
from .errors import Failure
from .profile import ClientProfile

RequestId = int | str
Key = tuple[str, RequestId]
"""What kind of request, and which."""


class Toward(enum.IntEnum):
    """A direction; as a number it is the step in the pipeline's index."""

    CLIENT = -1
    AGENT = 1


@attrs.frozen(kw_only=True)
class Message:
    """The parent of all messages."""

    toward: ClassVar[Toward]

    @property
    def opens(self) -> Key | None:
        """The request that this message makes."""
        return None

    @property
    def answers(self) -> Key | None:
        """The request that this message ends."""
        return None

    def failed(self, failure: Failure) -> Iterable[Message]:
        """What the sender is owed when a stage fails on this message: an answer for a request, else nothing."""
        return ()


class ToAgent(Message):
    """A message on its way from the client to the agent."""

    toward = Toward.AGENT


class ToClient(Message):
    """A message on its way from the agent to the client."""

    toward = Toward.CLIENT


# --------------------------------------------------------------------------------------------- the connection


@attrs.frozen(kw_only=True)
class Initialized(ToAgent):
    """The client said who it is and what it can do. Comes first, once."""

    profile: ClientProfile


@attrs.frozen(kw_only=True)
class Closing(ToAgent):
    """The client is gone or the program ends: no new work, open asks are withdrawn, the agent closes its sessions."""


@attrs.frozen(kw_only=True)
class Request(ToAgent):
    """A request of the client that an end serves, such as `session/new`; `params` is the ACP type of the method."""

    request: RequestId
    method: str
    params: Any
    session: str | None = None

    @property
    def opens(self) -> Key:
        return "request", self.request

    @property
    def ends_session(self) -> bool:
        """Whether the session's work is over with it, so that it is cancelled first (reference C3)."""
        return self.session is not None and self.method in ("session/close", "session/delete")

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (RequestFailed(request=self.request, failure=failure),)


@attrs.frozen(kw_only=True)
class CancelRequest(ToAgent):
    """`$/cancel_request`: the client gives up one of its requests, which must be answered all the same."""

    request: RequestId


@attrs.frozen(kw_only=True)
class Response(ToClient):
    """The answer of a `Request`; `result` is the ACP type of the method, or None."""

    request: RequestId
    result: Any = None

    @property
    def answers(self) -> Key:
        return "request", self.request


@attrs.frozen(kw_only=True)
class RequestFailed(ToClient):
    """The answer of a `Request` or `Prompt` that was not served."""

    request: RequestId
    failure: Failure

    @property
    def answers(self) -> Key:
        return "request", self.request


@attrs.frozen(kw_only=True)
class AgentCall(ToAgent):
    """A stage asks the agent end for slow work, such as the status of the MCP servers. Bound it with a timer."""

    session: str
    call: str
    name: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def opens(self) -> Key:
        return "call", self.call

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (AgentReply(session=self.session, call=self.call, failure=failure),)


@attrs.frozen(kw_only=True)
class AgentReply(ToClient):
    """The answer of an `AgentCall`: a result, or why there is none."""

    session: str
    call: str
    result: Any = None
    failure: Failure | None = None

    @property
    def answers(self) -> Key:
        return "call", self.call


# --------------------------------------------------------------------------------------------- sessions


@attrs.frozen(kw_only=True)
class SessionModes(ToClient):
    """The permission modes that a session offers at this moment (Claude Code's ids), and the one that it is in.

    The agent end says so when the session opens and at each change.
    """

    session: str
    available: tuple[str, ...]
    current: str | None = None


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
    """A session lives from here on: created, loaded, resumed or forked. Precedes every message of it."""

    session: str
    cwd: str


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


# --------------------------------------------------------------------------------------------- prompts and turns


@attrs.frozen(kw_only=True)
class Prompt(ToAgent):
    """`session/prompt`. `prompt` is the uuid under which Claude Code knows it: whatever it produces carries it back."""

    session: str
    request: RequestId
    prompt: str
    content: tuple[acp.ContentBlock, ...]
    meta: Mapping[str, Any] | None = None

    @property
    def opens(self) -> Key:
        return "request", self.request

    def failed(self, failure: Failure) -> Iterable[Message]:
        return (RequestFailed(request=self.request, failure=failure),)


@attrs.frozen(kw_only=True)
class Cancel(ToAgent):
    """`session/cancel`: stop all work of the session that was asked for so far."""

    session: str


@attrs.frozen(kw_only=True)
class Interrupt(ToAgent):
    """Stop the running turn, and drop these queued prompts before it, in this order on one wire.

    A bare interrupt right behind a prompt is acknowledged and lost (examples/facts 5), so the prompts that have no
    answer yet are all named.
    """

    session: str
    drop: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Interrupted(ToClient):
    """Claude Code's receipt of an interrupt: which of the named prompts it dropped. A dropped prompt has no result."""

    session: str
    dropped: tuple[str, ...] = ()


PromptStage = Literal["queued", "started", "completed", "cancelled", "discarded", "refused"]


@attrs.frozen(kw_only=True)
class PromptState(ToClient):
    """Claude Code's `command_lifecycle`: where it is with a prompt. `started` comes at dequeue, before any output."""

    session: str
    prompt: str
    state: PromptStage


@attrs.frozen(kw_only=True)
class PromptEchoed(ToClient):
    """Claude Code repeated a prompt: the model has it. The start of a turn where no `PromptState` comes."""

    session: str
    prompt: str


@attrs.frozen(kw_only=True)
class RequestStarted(ToClient):
    """Claude Code asks the model (`system/status requesting`), for these prompts; None where it does not say."""

    session: str
    prompts: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class WorkState(ToClient):
    """Claude Code's `session_state_changed`."""

    session: str
    state: Literal["idle", "running", "requires_action"]


@attrs.frozen(kw_only=True)
class TokenCount:
    """Tokens of one message, result or turn."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@attrs.frozen(kw_only=True)
class Result(ToClient):
    """Claude Code's `result`: a turn, or work that it started by itself, is over.

    `prompts` are the uuids that it names, empty where it stamps nothing. `origin` is who asked ("human",
    "task-notification", ...), None where it does not say. `model_usage` is the running total of the session by model.
    """

    session: str
    prompts: tuple[str, ...] = ()
    subtype: str = "success"
    is_error: bool = False
    text: str = ""
    errors: tuple[str, ...] = ()
    stop_reason: str | None = None
    terminal_reason: str | None = None
    origin: str | None = None
    num_turns: int = 1
    usage: TokenCount = TokenCount()
    cost: float | None = None
    model_usage: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class AgentGone(ToClient):
    """Claude Code of this session has ended; `failure` says why when nobody asked it to.

    `prompts` are those that it had been given: a later one goes to its successor. None where nobody counts: all.
    """

    session: str
    failure: Failure | None = None
    prompts: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class WorkStopped(ToClient):
    """What a cancel stopped has ended; whatever of it is open at the client is closed now, before the answers."""

    session: str


StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


@attrs.frozen(kw_only=True)
class TurnEnded(ToClient):
    """The answer of a `Prompt`: the client is told that the work on it has ended.

    `usage` is None for a prompt that never ran. With `failure` the client gets an error instead of a stop reason.
    """

    session: str
    request: RequestId
    prompt: str
    stop_reason: StopReason = "end_turn"
    usage: TokenCount | None = None
    model_usage: tuple[tuple[str, TokenCount], ...] = ()
    failure: Failure | None = None

    @property
    def answers(self) -> Key:
        return "request", self.request


# --------------------------------------------------------------------------------------------- what Claude does


@attrs.frozen(kw_only=True)
class MessageStarted(ToClient):
    """The model's next message begins to stream. `parent` is the Agent call of a subagent, None for the main thread."""

    session: str
    message: str
    parent: str | None = None
    model: str | None = None
    usage: TokenCount | None = None


@attrs.frozen(kw_only=True)
class MessageUsage(ToClient):
    """What the message that streams, or a complete one, has used so far: cumulative, None where nothing new is said."""

    session: str
    output: int | None = None
    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    parent: str | None = None
    model: str | None = None


@attrs.frozen(kw_only=True)
class Text(ToClient):
    """A piece of the answer. `whole` marks the text of a complete message, which may repeat what was streamed.

    `synthetic` text is Claude Code's own, not the model's.
    """

    session: str
    text: str
    message: str | None = None
    parent: str | None = None
    whole: bool = False
    synthetic: bool = False


@attrs.frozen(kw_only=True)
class Thought(Text):
    """A piece of the model's thinking."""


@attrs.frozen(kw_only=True)
class MessageCompleted(ToClient):
    """A complete message has been delivered, all of its blocks before this.

    `error` is Claude Code's word for what went wrong when the message stands for an error ("rate_limit", ...).
    """

    session: str
    message: str | None = None
    parent: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class ToolUse(ToClient):
    """Claude uses a tool. `whole` is false at its streamed start, when the input is still to come (`ToolInput`)."""

    session: str
    tool_use: str
    name: str
    input: Mapping[str, Any] = attrs.field(factory=dict)
    message: str | None = None
    parent: str | None = None
    block: int | None = None
    whole: bool = True


@attrs.frozen(kw_only=True)
class ToolInput(ToClient):
    """A piece of the JSON of a tool use's input; `block` is the tool use's place in the message that streams."""

    session: str
    block: int
    json: str
    parent: str | None = None


@attrs.frozen(kw_only=True)
class ToolResult(ToClient):
    """What a tool gave, or why it did not run.

    `content` is what the model is given: a string, or content blocks as Claude Code wrote them. `structured` is the
    tool's own object where there is one. `non_execution` says why a tool did not run ("user-rejected", ...).
    """

    session: str
    tool_use: str
    content: Any = None
    is_error: bool = False
    structured: Any = None
    non_execution: str | None = None
    user_feedback: str | None = None
    parent: str | None = None


@attrs.frozen(kw_only=True)
class ToolResponse(ToClient):
    """What a tool gave, as Claude Code's PostToolUse hook has it: the tool's own object (`response`).

    It comes before the `ToolResult` or after it, and also where the result has no `structured` object. `agent` is the
    subagent that used the tool.
    """

    session: str
    tool_use: str
    name: str
    response: Any = None
    agent: str | None = None


@attrs.frozen(kw_only=True)
class ToolDenied(ToClient):
    """Claude Code did not let a tool run, without asking anybody (`permission_denied`)."""

    session: str
    tool_use: str
    message: str = ""
    reason_type: str | None = None
    reason: str | None = None


@attrs.frozen(kw_only=True)
class ToolProgress(ToClient):
    """A tool is still running. `elapsed` is in seconds; the rest is what Claude Code says of a subagent's call."""

    session: str
    tool_use: str
    elapsed: float | None = None
    parent: str | None = None
    subagent_type: str | None = None
    subagent_retry: Any = None


@attrs.frozen(kw_only=True)
class MemoryRecalled(ToClient):
    """Claude Code put memories before the model. `memories` are its objects, each with a `path` and maybe a `content`.

    `synthesized`: they are one text that was made of many.
    """

    session: str
    recall: str
    memories: tuple[Mapping[str, Any], ...] = ()
    synthesized: bool = False


@attrs.frozen(kw_only=True)
class TodoChanged(ToClient):
    """A task of Claude's task list was added or is done, as a hook says (TaskCreated, TaskCompleted)."""

    session: str
    todo: str
    subject: str = ""
    description: str | None = None
    done: bool = False


@attrs.frozen(kw_only=True)
class Task(ToClient):
    """Work beside the main thread: a subagent, a command in the background. `tool_use` is the call that began it.

    `background` is None where Claude Code does not say; `run` grows with each run of the same task.
    """

    session: str
    task: str
    state: Literal["running", "ended"]
    tool_use: str | None = None
    subagent: bool = False
    background: bool | None = None
    status: str | None = None
    run: str | None = None
    kind: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    prompt: str | None = None
    error: str | None = None
    summary: str | None = None
    reason: str | None = None


@attrs.frozen(kw_only=True)
class SubagentPlace(ToClient):
    """The directory in which a subagent works, as a hook says it. `agent` is its task id."""

    session: str
    agent: str
    cwd: str


@attrs.frozen
class PastSubagent:
    """A subagent that the history of a loaded or resumed session knows. `parent` is its parent's task id, if any.

    `call` is the call that began it, which what it does names also when it is resumed. `told` is whether a replay has
    told the client of it.
    """

    task: str
    parent: str | None = None
    call: str | None = None
    title: str | None = None
    description: str | None = None
    cwd: str | None = None
    told: bool = False


@attrs.frozen(kw_only=True)
class SubagentHistory(ToClient):
    """The subagents of a session from before it was loaded or resumed, each with its parent.

    Whoever reads transcripts says so before the session's first prompt; a subagent that is resumed then keeps its
    session (reference 7.8). One that is not listed stays unexposed, since its parent would be guessed.
    """

    session: str
    subagents: tuple[PastSubagent, ...]


@attrs.frozen(kw_only=True)
class StopTask(ToAgent):
    """Stop one task: a subagent, or a command in the background. How it ends is told by a `Task`."""

    session: str
    task: str


@attrs.frozen(kw_only=True)
class TaskLevel(ToClient):
    """Claude Code's `background_tasks_changed`: the tasks that run in the background at this moment, all of them.

    It repairs what a lost `Task` left standing (reference S4). Tasks in the foreground are not listed.
    """

    session: str
    tasks: tuple[str, ...]


# --------------------------------------------------------------------------------------------- asks and their answers


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


# --------------------------------------------------------------------------------------------- what the client is shown


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
    """How full the context window is (tokens), and what the session has cost (US dollars)."""

    session: str
    used: int
    size: int
    cost: float | None = None
    model: str | None = None
    origin: str | None = None


@attrs.frozen(kw_only=True)
class UserMessage(ToClient):
    """A piece of what the person said, shown again: a loaded session tells the client its conversation."""

    session: str
    content: acp.ContentBlock
    message: str | None = None


@attrs.frozen(kw_only=True)
class Notice(ToClient):
    """Claude Code, or the bridge, has something to tell the person that is no answer of the model."""

    session: str
    title: str
    description: str | None = None
    severity: Literal["info", "warning", "error"] = "info"


@attrs.frozen(kw_only=True)
class Compaction(ToClient):
    """The conversation is replaced by a summary of itself. `tokens` is what is left of it, where that is known.

    `trigger` is "manual", "automatic" or "idle"; `error` says why one failed.
    """

    session: str
    state: Literal["in_progress", "completed", "failed"]
    compaction: str | None = None
    summary: str | None = None
    error: str | None = None
    trigger: str | None = None
    tokens: int | None = None


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
