"""What a transcript says of work in the background: that it began, and how it ended (reference 9.7, item 6).

A transcript has no frames about tasks. What they said stands elsewhere in it, and is said again in their words, so that
the stages close a call as they did live:

    in the transcript                              the frame
    ---------------------------------------------  -----------------------------------------
    the result of a call names its task            task_started, before the result
    `<task-notification>`, a record or steered in  task_notification
    the result of TaskStop names a task            task_notification, behind the result
    nothing of a command, and Claude Code is new   task_notification: it ended with the last one

What a subagent did meanwhile is told in `past_subagents`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import attrs

from acpbridge.claude.events import messages_of
from middleware.messages import Message, ToolResult, ToolUse
from middleware.subagents.calls import LAUNCHES

from .transcripts import Record

UNFINISHED = "Background shell command didn't finish before the previous session ended"
"""Claude Code's own words, which it writes into the transcript of a session that it resumes."""

_OTHERS = LAUNCHES | {"Monitor", "Workflow"}
"""Tools that begin other work than a command."""

_ENDS = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})
_NOTIFICATION = re.compile(r"<task-notification>(.*)</task-notification>", re.DOTALL)
_MEMBER = re.compile(r"<(task-id|tool-use-id|status|summary)>(.*?)</\1>", re.DOTALL)
_RESULT = re.compile(r"<result>(.*)</result>", re.DOTALL)


@attrs.define(eq=False)
class PastTasks:
    """The tasks of one session, in the order in which its records are read.

    Args:
        session: the ACP session id.
        elsewhere: tasks of which somebody else tells: subagents that are sessions of their own.
    """

    session: str
    elsewhere: Container[str] = ()
    _open: dict[str, ToolUse] = attrs.field(factory=dict, init=False)  # calls without a result
    _running: dict[str, ToolUse] = attrs.field(factory=dict, init=False)  # a task -> the call that began it
    _ended: set[str] = attrs.field(factory=set, init=False)

    def with_tasks(self, record: Record, messages: Iterable[Message]) -> list[Message]:
        """The messages of a record, with what it says of tasks at its place."""
        told = [each for message in messages for each in self._around(message)]
        for text in _notifications(record):
            told += self._notified(text)
        return told

    def unfinished(self) -> list[Message]:
        """That commands whose end nobody wrote down have ended with their Claude Code."""
        return [
            message
            for task, use in list(self._running.items())
            if use.name not in _OTHERS
            for message in self._end(task, use.tool_use, "stopped", UNFINISHED)
        ]

    def _around(self, message: Message) -> Iterator[Message]:
        if isinstance(message, ToolUse):
            self._open[message.tool_use] = message
        if not isinstance(message, ToolResult):
            yield message
            return
        use = self._open.pop(message.tool_use, None)
        structured = message.structured if isinstance(message.structured, Mapping) else {}
        begun, stopped = _begun(use, structured), structured.get("task_id")
        if use is not None and begun is not None and begun not in self.elsewhere:
            self._running[begun] = use
            yield from self._begin(begun, message.tool_use)
        yield message
        stops = "task_type" in structured and not message.is_error  # TaskStop; others only look at a task
        if stops and isinstance(stopped, str) and stopped in self._running:
            began = self._running[stopped]
            yield from self._end(stopped, began.tool_use, "stopped", _about(began))

    def _notified(self, text: str) -> Iterator[Message]:
        head, _, _ = text.partition("<result>")
        members = {name: value.strip() for name, value in _MEMBER.findall(head)}
        result = _RESULT.search(text)
        task, call, status = (members.get(name, "") for name in ("task-id", "tool-use-id", "status"))
        if not task or not call or status not in _ENDS or task in self._ended or task in self.elsewhere:
            return
        if task not in self._running:
            yield from self._begin(task, call)
        yield from self._end(task, call, status, result[1] if result is not None else members.get("summary", ""))

    def _begin(self, task: str, call: str) -> Iterable[Message]:
        return self._frame("task_started", task, call, is_backgrounded=True)

    def _end(self, task: str, call: str, status: str, summary: str) -> Iterable[Message]:
        self._ended.add(task)
        self._running.pop(task, None)
        return self._frame("task_notification", task, call, status=status, summary=summary)

    def _frame(self, subtype: str, task: str, call: str, **members: Any) -> Iterable[Message]:
        frame = {"type": "system", "subtype": subtype, "task_id": task, "tool_use_id": call, **members}
        return messages_of(self.session, frame)


def _begun(use: ToolUse | None, structured: Mapping[str, Any]) -> str | None:
    """The task that a call has begun, as its result says."""
    if use is not None and use.name in _OTHERS:
        launched = structured.get("isAsync") is True if use.name in LAUNCHES else True
        task = structured.get("agentId") or structured.get("taskId") if launched else None
    else:
        task = structured.get("backgroundTaskId")
    return task if isinstance(task, str) and task else None


def _about(use: ToolUse) -> str:
    """What a call says that it does."""
    said = (use.input.get(key) for key in ("description", "command"))
    return next((text for text in said if isinstance(text, str) and text), "")


def _notifications(record: Record) -> Iterator[str]:
    """The notifications in a record; the person's own words are none, whatever they look like."""
    attachment = record.get("attachment")
    if isinstance(attachment, Mapping) and attachment.get("commandMode") == "task-notification":
        texts = list(_texts(attachment.get("prompt")))
    else:
        origin, message = record.get("origin"), record.get("message")
        kind = origin.get("kind") if isinstance(origin, Mapping) else None
        if record.get("type") != "user" or kind != "task-notification" or not isinstance(message, Mapping):
            return
        texts = list(_texts(message.get("content")))
    for text in texts:
        found = _NOTIFICATION.search(text)
        if found is not None:
            yield found[1]


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield block["text"]
