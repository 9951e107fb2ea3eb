"""Claude's lists of what is to do, as ACP plan entries: TodoWrite's whole list, and the task list that Task* tools keep
(reference 4.11). No tool call is made of them: how a call of theirs looks when it is shown after all is in `planning`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from middleware import acp

from .blocks import text_in
from .text import shown
from .views import Given, Input, text_of

TODO_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})

_STATUSES = frozenset({"pending", "in_progress", "completed"})
_CREATED = re.compile(r"Task #(\S+) created successfully: (.*)")
_NOT_UPDATED = re.compile(r"Task #\S+ not found|Failed to delete task")
_LISTED = re.compile(
    r"#(?P<id>\S+) \[(?P<status>pending|in_progress|completed)\] (?P<subject>.*?)"
    r"(?: \([^()]*\))?(?: \[blocked by #[^\]]*\])?"
)
_NONE_LISTED = "No tasks found"


def todo_entries(input: Input) -> list[acp.PlanEntry] | None:
    """The plan that a TodoWrite call is; None when its input holds no list."""
    todos = input.get("todos")
    if not isinstance(todos, list):
        return None
    return [
        _entry(text_of(todo, "content"), text_of(todo, "status"), text_of(todo, "activeForm"))
        for todo in todos
        if isinstance(todo, dict)
    ]


def _entry(content: str, status: str, active: str) -> acp.PlanEntry:
    known: acp.PlanEntryStatus = status if status in _STATUSES else "pending"  # type: ignore[assignment]
    return acp.PlanEntry(
        content=shown(active if known == "in_progress" and active else content), priority="medium", status=known
    )


@attrs.frozen(kw_only=True)
class Todo:
    """A task of the list."""

    subject: str
    status: str = "pending"
    active: str = ""
    description: str = ""


@attrs.define
class TodoList:
    """The task list of a session, in its order. Methods say whether the plan is to be published."""

    todos: dict[str, Todo] = attrs.field(factory=dict)

    @property
    def entries(self) -> list[acp.PlanEntry]:
        return [_entry(todo.subject, todo.status, todo.active) for todo in self.todos.values()]

    @property
    def is_unfinished(self) -> bool:
        return any(todo.status != "completed" for todo in self.todos.values())

    def apply(self, name: str, input: Input, given: Given) -> bool:
        """What a Task* tool gave."""
        if given.is_error:
            return False
        if name == "TaskCreate":
            return self._create(input, given)
        if name == "TaskUpdate":
            return self._update(input, given)
        return name == "TaskList" and self._replace(given)

    def created(self, todo: str, subject: str, description: str) -> None:
        """A hook tells of a new task; one that is known already stays as it is."""
        self.todos.setdefault(todo, Todo(subject=subject, description=description))

    def completed(self, todo: str, subject: str) -> None:
        """A hook tells that a task is done."""
        known = self.todos.get(todo) or (Todo(subject=subject) if subject else None)
        if known is not None:
            self.todos[todo] = attrs.evolve(known, status="completed")

    def _create(self, input: Input, given: Given) -> bool:
        task = given.object.get("task")
        task = task if isinstance(task, dict) else {}
        said = _CREATED.search(text_in(given.content))
        name = _id(task.get("id")) or (said.group(1) if said else "")
        subject = text_of(task, "subject") or text_of(input, "subject") or (said.group(2) if said else "")
        if name:
            self.todos[name] = Todo(
                subject=subject,
                active=text_of(input, "activeForm"),
                description=text_of(task, "description") or text_of(input, "description"),
            )
        return True

    def _update(self, input: Input, given: Given) -> bool:
        succeeded = given.object.get("success")
        if succeeded is False or (succeeded is None and _NOT_UPDATED.search(text_in(given.content))):
            return False
        name = _id(given.object.get("taskId")) or _id(input.get("taskId"))
        known, subject, status = self.todos.get(name), text_of(input, "subject"), text_of(input, "status")
        if status == "deleted":
            self.todos.pop(name, None)
        elif name and (known is not None or subject):
            before = known or Todo(subject=subject)
            self.todos[name] = Todo(
                subject=subject or before.subject,
                status=status or before.status,
                active=text_of(input, "activeForm") or before.active,
                description=text_of(input, "description") or before.description,
            )
        return True

    def _replace(self, given: Given) -> bool:
        listed = list(_listed(given))
        if not listed and not _says_none(given):
            return False
        before, self.todos = self.todos, {}
        for name, subject, status in listed:
            known = before.get(name) or Todo(subject=subject)
            self.todos[name] = attrs.evolve(known, subject=subject, status=status)
        return True


def _says_none(given: Given) -> bool:
    return given.object.get("tasks") == [] or text_in(given.content).strip() == _NONE_LISTED


def _listed(given: Given) -> Iterator[tuple[str, str, str]]:
    tasks = given.object.get("tasks")
    if isinstance(tasks, list):
        for task in tasks:
            if isinstance(task, dict) and _id(task.get("id")):
                yield _id(task.get("id")), text_of(task, "subject"), text_of(task, "status") or "pending"
        return
    lines = [line for line in text_in(given.content).splitlines() if line.strip()]
    found = [_LISTED.fullmatch(line.strip()) for line in lines]
    if all(found):  # any other text is no list
        yield from ((line["id"], line["subject"], line["status"]) for line in found if line is not None)


def _id(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def approved_plan(input: Input, given: Given) -> str:
    """The plan of an ExitPlanMode call that went through; "" where it is not this user's (reference 5.7)."""
    tool: Mapping[str, Any] = given.object
    if given.is_error or tool.get("isAgent") is True or tool.get("awaitingLeaderApproval") is True:
        return ""
    return text_of(tool, "plan") or text_of(input, "plan")
