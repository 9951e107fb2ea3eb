"""Claude's lists of what is to do, out of what its tools take and give (reference 4.11)."""

from __future__ import annotations

from typing import Any

import pytest

from middleware.tools import Given
from middleware.tools.todos import TodoList, approved_plan, todo_entries
from tests.tools.play import Json

Entries = list[tuple[str, str]]


def entries(todos: TodoList) -> Entries:
    assert all(entry.priority == "medium" for entry in todos.entries)
    return [(entry.content, entry.status) for entry in todos.entries]


def known() -> TodoList:
    todos = TodoList()
    todos.apply("TaskCreate", {"subject": "one", "activeForm": "Doing one"}, Given(structured={"task": {"id": 1}}))
    todos.apply("TaskCreate", {"subject": "two"}, Given(content="Task #2 created successfully: two"))
    return todos


def test_todo_write() -> None:
    """The whole list is the plan; what is in progress is told by its active form."""
    todos = [
        {"content": "a", "status": "completed", "activeForm": "Doing a"},
        {"content": "b", "status": "in_progress", "activeForm": "Doing b"},
        {"content": "c", "status": "in_progress", "activeForm": ""},
        {"content": "d", "status": "someday"},
        "nonsense",
    ]
    made = todo_entries({"todos": todos})
    assert made is not None
    assert [(entry.content, entry.status) for entry in made] == [
        ("a", "completed"),
        ("Doing b", "in_progress"),
        ("c", "in_progress"),
        ("d", "pending"),
    ]
    assert todo_entries({"todos": "all"}) is todo_entries({}) is None


@pytest.mark.parametrize(
    ("input", "given", "expected"),
    [
        ({"subject": "x"}, Given(structured={"task": {"id": "7", "subject": "named"}}), [("named", "pending")]),
        ({"subject": "x"}, Given(content="Task #7 created successfully: y"), [("x", "pending")]),
        ({}, Given(content="Task #7 created successfully: y"), [("y", "pending")]),
        ({"subject": "x"}, Given(content="done"), []),
    ],
    ids=["object", "text", "text only", "no id"],
)
def test_create(input: Json, given: Given, expected: Entries) -> None:
    """A new task is pending; the plan is told even when nobody says which task it is."""
    todos = TodoList()
    assert todos.apply("TaskCreate", input, given)
    assert entries(todos) == expected


@pytest.mark.parametrize(
    ("input", "given", "published", "expected"),
    [
        ({"taskId": "1", "status": "in_progress"}, Given(), True, [("Doing one", "in_progress"), ("two", "pending")]),
        (
            {"taskId": "1"},
            Given(structured={"success": True, "taskId": "1", "updatedFields": []}),
            True,
            [("one", "pending"), ("two", "pending")],
        ),
        ({"taskId": "2", "status": "deleted"}, Given(content="ok"), True, [("one", "pending")]),
        (
            {"taskId": "9", "subject": "new"},
            Given(),
            True,
            [("one", "pending"), ("two", "pending"), ("new", "pending")],
        ),
        ({"taskId": "9", "status": "completed"}, Given(), True, [("one", "pending"), ("two", "pending")]),
        (
            {"taskId": "2", "subject": "2", "status": "completed"},
            Given(structured={"success": False}),
            False,
            [("one", "pending"), ("two", "pending")],
        ),
        (
            {"taskId": "2", "status": "completed"},
            Given(content="Task #2 not found"),
            False,
            [("one", "pending"), ("two", "pending")],
        ),
        (
            {"taskId": "2", "status": "deleted"},
            Given(content="Failed to delete task"),
            False,
            [("one", "pending"), ("two", "pending")],
        ),
    ],
    ids=["status", "nothing", "deleted", "unknown, named", "unknown", "failed", "not found", "not deleted"],
)
def test_update(input: Json, given: Given, published: bool, expected: Entries) -> None:
    """What an update says is changed, the rest stays; one that failed changes nothing."""
    todos = known()
    assert todos.apply("TaskUpdate", input, given) is published
    assert entries(todos) == expected


LISTED = """#1 [completed] one
#3 [pending] three (alice) [blocked by #1, #2]
#4 [in_progress] four (of five)"""


@pytest.mark.parametrize(
    ("given", "published", "expected"),
    [
        (
            Given(content=LISTED),
            True,
            [("one", "completed"), ("three", "pending"), ("four", "in_progress")],
        ),
        (
            Given(structured={"tasks": [{"id": 1, "subject": "one", "status": "in_progress"}, {"id": None}]}),
            True,
            [("Doing one", "in_progress")],
        ),
        (Given(content="No tasks found"), True, []),
        (Given(structured={"tasks": []}), True, []),
        (Given(content="Something else\n#1 [completed] one"), False, [("one", "pending"), ("two", "pending")]),
        (Given(content=""), False, [("one", "pending"), ("two", "pending")]),
    ],
    ids=["text", "object", "none", "no object", "other text", "nothing"],
)
def test_list(given: Given, published: bool, expected: Entries) -> None:
    """A list takes the place of what was known, which keeps how it is told; any other text is no list."""
    todos = known()
    assert todos.apply("TaskList", {}, given) is published
    assert entries(todos) == expected


@pytest.mark.parametrize("name", ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"])
def test_errors_change_nothing(name: str) -> None:
    """A tool that failed did nothing, and looking at a task does nothing either."""
    todos = known()
    given = Given(content="Task #9 created successfully: x", is_error=name != "TaskGet")
    assert todos.apply(name, {"taskId": "1", "status": "completed", "subject": "x"}, given) is False
    assert entries(todos) == [("one", "pending"), ("two", "pending")]


def test_hooks() -> None:
    """A hook adds a task that is not known, and completes one, known or not."""
    todos = known()
    todos.created("1", "other", "")
    todos.created("5", "five", "")
    todos.completed("1", "")
    todos.completed("6", "six")
    todos.completed("7", "")
    assert entries(todos) == [("one", "completed"), ("two", "pending"), ("five", "pending"), ("six", "completed")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Given(content="ok"), "input's"),
        (Given(structured={"plan": "tool's"}), "tool's"),
        (Given(is_error=True), ""),
        (Given(structured={"isAgent": True}), ""),
        (Given(structured={"awaitingLeaderApproval": True}), ""),
    ],
)
def test_approved_plan(given: Given, expected: str) -> None:
    """An approved plan is the tool's, else the input's; a subagent's is not the user's (05.7)."""
    assert approved_plan({"plan": "input's"}, given) == expected


def test_entries_are_safe() -> None:
    """An entry is legal text."""
    made: Any = todo_entries({"todos": [{"content": "a\ud800\u2028b"}]})
    assert made[0].content == "a\ufffd\nb"
