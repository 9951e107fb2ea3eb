"""Work that outlives its call: a command or an agent in the background ends, and its call says how.

Claude Code ends such a call at once ("running in background"), so the client would never learn what became of it. Owns
the calls that run or have work in the background, and what they show. A cancel spares work in the background, save
workflows: these are the prompt's own work, and are stopped one by one. Stands on the client's side of `ToolCalls`; a
client that has terminals is told by the terminal's end, which is `ToolCalls`' business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from middleware import acp
from middleware.messages import (
    Cancel,
    CancelRequest,
    Message,
    Prompt,
    RequestFailed,
    SessionClosed,
    SessionRestarted,
    StopTask,
    Task,
    ToolCall,
    ToolCallUpdate,
    TurnEnded,
)
from middleware.stage import Context, Outcome, Stage, on
from middleware.tools.text import text_content

from .open_calls import remember
from .prompt_requests import PromptRequests

WORKFLOW = "local_workflow"
"""Claude Code's kind of a workflow."""


@attrs.define
class _Call:
    name: str
    parent: str | None
    content: Sequence[acp.ToolCallContent] = ()
    over: bool = False
    background: bool = False  # its work goes on beside the turn
    owed: Task | None = None  # how that ended, which the call itself does not say

    @property
    def has_terminal(self) -> bool:
        return any(isinstance(item, acp.Terminal) for item in self.content)


@attrs.define
class _Session:
    calls: dict[str, _Call] = attrs.field(factory=dict)
    tasks: dict[str, str] = attrs.field(factory=dict)  # a task -> the call that began it
    workflows: dict[str, None] = attrs.field(factory=dict)  # those that run, in order

    def forget(self, name: str) -> None:
        """Let go of a call that is over and has nothing in the background: what it shows may be two whole files."""
        if self.calls[name].over and name not in self.tasks.values():
            del self.calls[name]


@attrs.define(eq=False)
class BackgroundTasks(Stage):
    """Add to a call that has ended how the work ended that it began."""

    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)
    _prompts: PromptRequests = attrs.field(factory=PromptRequests, init=False)

    @on(ToolCall)
    def _call(self, message: ToolCall, context: Context) -> Outcome:
        claude_code: dict[str, Any] = (message.call.meta or {}).get("claudeCode") or {}
        call = _Call(str(claude_code.get("toolName", "")), claude_code.get("parentToolUseId"), message.call.content)
        remember(self._session(message.session).calls, message.call.tool_call_id, call)
        return message

    @on(ToolCallUpdate)
    def _change(self, message: ToolCallUpdate, context: Context) -> Iterator[Message]:
        yield message
        session, name = self._session(message.session), message.change.tool_call_id
        call = session.calls.get(name)
        if call is not None:
            call.content = message.change.content if message.change.content is not None else call.content
            call.over = call.over or message.change.status in ("completed", "failed")
            if call.over and call.owed is not None:
                ended, call.owed = call.owed, None
                yield self._follow_up(name, call, ended)
            session.forget(name)

    @on(Task)
    def _task(self, message: Task, context: Context) -> Iterator[Message]:
        """Followed up once, by the frame that says what came of it; what ends before its call is told by the call."""
        yield message
        session = self._session(message.session)
        if message.tool_use is not None and message.state == "running":
            remember(session.tasks, message.task, message.tool_use)
        call = session.calls.get(session.tasks.get(message.task, ""))
        if call is not None and message.background:
            call.background = True
        if message.state == "ended":
            session.workflows.pop(message.task, None)
        elif message.kind == WORKFLOW:
            remember(session.workflows, message.task, None)
        if message.state != "ended" or message.summary is None:
            return
        began = session.tasks.pop(message.task, None)
        if began is None or call is None:
            return
        if call.over:
            yield self._follow_up(began, call, message)
            session.forget(began)
        elif call.background:
            call.owed = message  # the call will only say that it is in the background

    def _follow_up(self, began: str, call: _Call, ended: Task) -> Message:
        told = {"taskId": ended.task, "status": ended.status, "summary": ended.summary}
        claude_code: dict[str, Any] = {"toolName": call.name, "task": told}
        if call.parent is not None:
            claude_code["parentToolUseId"] = call.parent
        content = None if call.has_terminal else [*call.content, text_content(ended.summary or "")]
        call.content = content if content is not None else call.content
        change = acp.ToolCallUpdate(tool_call_id=began, content=content, meta={"claudeCode": claude_code})
        return ToolCallUpdate(session=ended.session, change=change)

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Outcome:
        self._prompts.made(message)
        return message

    @on(TurnEnded, RequestFailed)
    def _answered(self, message: TurnEnded | RequestFailed, context: Context) -> Outcome:
        self._prompts.answered(message)
        return message

    @on(Cancel, CancelRequest)
    def _cancel(self, message: Cancel | CancelRequest, context: Context) -> Iterator[Message]:
        """An interrupt does not reach workflows (reference 7.3, X2)."""
        yield message
        name = message.session if isinstance(message, Cancel) else self._prompts.session_of(message.request)
        if name is not None:
            for task in self._session(name).workflows:
                yield StopTask(session=name, task=task)

    @on(SessionRestarted, SessionClosed)
    def _over(self, message: SessionRestarted | SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())
