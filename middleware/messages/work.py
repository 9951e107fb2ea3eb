"""Words about what Claude says and does: text, thinking, tool uses and results, tasks beside the main thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from .base import ToAgent, ToClient
from .turns import TokenCount


@attrs.frozen(kw_only=True)
class MessageStarted(ToClient):
    """The model's next message begins to stream. `parent` is the Agent call of a subagent, None for the main thread.

    `hour_cache`: some of what the model was given is cached for an hour.
    """

    session: str
    message: str
    parent: str | None = None
    model: str | None = None
    usage: TokenCount | None = None
    hour_cache: bool = False


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

    `background` is None where Claude Code does not say; `run` grows with each run of the same task; `parent` is the
    task of the subagent that began it, None for the main thread's.
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
    parent: str | None = None


@attrs.frozen(kw_only=True)
class SubagentPlace(ToClient):
    """The directory in which a subagent works, as a hook says it. `agent` is its task id."""

    session: str
    agent: str
    cwd: str


@attrs.frozen(kw_only=True)
class SubagentSettings(ToClient):
    """What a subagent works with, as a hook says it: permission mode, effort, kind of agent. `agent` is its task id."""

    session: str
    agent: str
    mode: str | None = None
    effort: str | None = None
    kind: str | None = None


@attrs.frozen(kw_only=True)
class SubagentModel(ToClient):
    """The model that answers a subagent, said before each of its answers. `parent` is the call that it works for."""

    session: str
    parent: str
    model: str


@attrs.frozen(kw_only=True)
class SubagentMessage(ToClient):
    """A message to a subagent that its transcript says has arrived, at its place in one of the two transcripts.

    Only whoever reads transcripts knows this. `sender` and `recipient` are session ids, the sender's None where nobody
    knows it. `seen_by` says in whose transcript it stands; `message` is its id in both.
    """

    session: str
    message: str
    text: str
    recipient: str
    sender: str | None = None
    seen_by: Literal["sender", "recipient"] = "recipient"


@attrs.frozen
class PastSubagent:
    """A subagent that the history of a loaded or resumed session knows. `parent` is its parent's task id, if any.

    `call` is the call that began it, which what it does names also when it is resumed. `told` is whether a replay has
    told the client of it, with the end (`status`, `error`, as a `Task` has them) and the `model` that are known of it.
    `homeless` says that the directory of its own is no longer there.
    """

    task: str
    parent: str | None = None
    call: str | None = None
    title: str | None = None
    description: str | None = None
    cwd: str | None = None
    told: bool = False
    status: str | None = None
    error: str | None = None
    model: str | None = None
    homeless: bool = False


@attrs.frozen(kw_only=True)
class SubagentHistory(ToClient):
    """The subagents of a session from before it was loaded or resumed, each with its parent.

    Whoever reads transcripts says so before the session's first prompt; a subagent that is resumed then keeps its
    session (reference 7.8). One that is not listed stays unexposed, since its parent would be guessed. Parents come
    before their children.
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
