"""Plans and questions: plan mode, todo lists, AskUserQuestion, ReportFindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .blocks import contents_of, text_in
from .text import one_line, raw_text, text_content
from .unseen import plain, spelled
from .views import Given, ResultView, Tool, Use, UseView, at, count_of, text_of


def _enter_plan(use: Use) -> UseView:
    return UseView(kind="switch_mode", title="EnterPlanMode")


def _exit_plan(use: Use) -> UseView:
    plan = text_of(use.input, "plan")
    return UseView(kind="switch_mode", title="Approve Plan", content=(text_content(spelled(plan)),) if plan else ())


def _exit_plan_result(use: Use, given: Given) -> ResultView:
    """The plan was approved. What the model is told of it is no news for the user who approved it."""
    text = text_in(given.content)
    raw = raw_text(text)
    path = text_of(given.object, "filePath")
    return ResultView(status="completed", title="Exited Plan Mode", locations=at(path) or None, raw_output=raw)


def _todos(use: Use) -> UseView:
    todos = [text_of(todo, "content") for todo in _objects(use.input, "todos")]
    named = one_line(", ".join(todo for todo in todos if todo))
    return UseView(kind="think", title=f"Update TODOs: {named}" if named else "Update TODOs")


def _create_task(use: Use) -> UseView:
    subject = one_line(text_of(use.input, "subject"))
    return UseView(kind="think", title=f"Create task: {subject}" if subject else "Create task")


def _update_task(use: Use) -> UseView:
    subject = one_line(text_of(use.input, "subject"))
    return UseView(kind="think", title=f"Update task: {subject}" if subject else "Update task")


def _list_tasks(use: Use) -> UseView:
    return UseView(kind="think", title="List tasks")


def _get_task(use: Use) -> UseView:
    return UseView(kind="think", title="Get task")


def _ask(use: Use) -> UseView:
    questions = [text_of(question, "question") for question in _objects(use.input, "questions")]
    questions = [question for question in questions if question]
    return UseView(
        title=one_line(questions[0]) if len(questions) == 1 else "Asking for your input",
        content=tuple(text_content(plain(question)) for question in questions),
    )


def _findings(use: Use) -> UseView:
    findings = _objects(use.input, "findings")
    if not findings:
        known = isinstance(use.input.get("findings"), list)
        return UseView(kind="think", title="Report findings: none found" if known else "Report findings")
    title = f"Report {len(findings)} finding{'s' if len(findings) > 1 else ''}"
    return UseView(kind="think", title=title, content=tuple(text_content(_finding(finding)) for finding in findings))


def _finding(finding: Mapping[str, Any]) -> str:
    file, line = text_of(finding, "file"), count_of(finding, "line")
    place = f"{file}:{line}" if line is not None else file
    return f"**{place}** — {text_of(finding, 'summary')}"


def _plain_result(use: Use, given: Given) -> ResultView:
    text = text_in(given.content)
    raw = raw_text(text)
    return ResultView(status="completed", content=contents_of(given.content), raw_output=raw)


def _objects(source: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = source.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


TOOLS: Mapping[str, Tool] = {
    "AskUserQuestion": Tool(use=_ask, result=_plain_result),
    "EnterPlanMode": Tool(use=_enter_plan),
    "ExitPlanMode": Tool(use=_exit_plan, result=_exit_plan_result),
    "ReportFindings": Tool(use=_findings),
    "TaskCreate": Tool(use=_create_task),
    "TaskGet": Tool(use=_get_task),
    "TaskList": Tool(use=_list_tasks),
    "TaskUpdate": Tool(use=_update_task),
    "TodoWrite": Tool(use=_todos),
}
