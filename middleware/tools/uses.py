"""What a tool call is: kind, title, content and locations by tool (reference 4.3).

One row a tool, one function a family. A tool that is not in the table gets its name as its title. What came of a call
is in `results`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from middleware import acp

from .text import display_path, text_content

Input = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class UseView:
    """How a call is presented. `locations` is None where the tool has none by nature."""

    title: str
    kind: acp.ToolKind = "other"
    content: tuple[acp.ToolCallContent, ...] = ()
    locations: tuple[acp.ToolCallLocation, ...] | None = None


def describe_use(name: str, input: Input, *, cwd: str = "") -> UseView:
    """A call's view from what is known of its input; an incomplete input gives a view that is true so far."""
    describe = _TOOLS.get(name)
    return describe(input, cwd) if describe is not None else UseView(title=name or "Unknown Tool")


def _text(input: Input, *keys: str) -> str:
    for key in keys:
        value = input.get(key)
        if isinstance(value, str):
            return value
    return ""


def _at(path: str, line: int | None = None) -> tuple[acp.ToolCallLocation, ...]:
    return (acp.ToolCallLocation(path=path, line=line),) if path else ()


def _command(input: Input, cwd: str) -> UseView:
    description = _text(input, "description", "command_description")
    return UseView(
        kind="execute",
        title=_text(input, "command") or "Terminal",
        content=(text_content(description),) if description else (),
    )


def _read(input: Input, cwd: str) -> UseView:
    path, offset, limit = _text(input, "file_path"), input.get("offset"), input.get("limit")
    start = offset if isinstance(offset, int) else 1
    lines = ""
    if isinstance(limit, int) and limit > 0:
        lines = f" ({start} - {start + limit - 1})"
    elif isinstance(offset, int) and offset:
        lines = f" (from line {offset})"
    title = f"Read {display_path(path, cwd)}{lines}" if path else "Read File"
    return UseView(kind="read", title=title, locations=_at(path, max(start, 1)))


def _write(input: Input, cwd: str) -> UseView:
    path = _text(input, "file_path", "path")
    text = next(
        (input[key] for key in ("content", "file_text", "file_content") if isinstance(input.get(key), str)), None
    )
    content: tuple[acp.ToolCallContent, ...] = ()
    if path and text is not None:
        content = (acp.Diff(path=path, new_text=text),)
    return UseView(
        kind="edit",
        title=f"Write {display_path(path, cwd)}" if path else "Preparing file…",
        content=content,
        locations=_at(path),
    )


def _edit(input: Input, cwd: str) -> UseView:
    path, old, new = _text(input, "file_path"), input.get("old_string"), input.get("new_string")
    content: tuple[acp.ToolCallContent, ...] = ()
    if path and (isinstance(old, str) or isinstance(new, str)):
        content = (acp.Diff(path=path, old_text=old or None, new_text=new or ""),)
    return UseView(
        kind="edit",
        title=f"Edit {display_path(path, cwd)}" if path else "Edit",
        content=content,
        locations=_at(path),
    )


def _glob(input: Input, cwd: str) -> UseView:
    path, pattern = _text(input, "path"), _text(input, "pattern")
    title = "Find" + (f" `{path}`" if path else "") + (f" `{pattern}`" if pattern else "")
    return UseView(kind="search", title=title, locations=_at(path))


def _grep(input: Input, cwd: str) -> UseView:
    pattern, path = _text(input, "pattern"), _text(input, "path", "file_path")
    return UseView(kind="search", title=f'grep "{pattern}"' + (f" {path}" if path else ""))


def _web_fetch(input: Input, cwd: str) -> UseView:
    url, prompt = _text(input, "url"), _text(input, "prompt")
    content = (text_content(prompt),) if prompt else ()
    return UseView(kind="fetch", title=f"Fetch {url}" if url else "Fetch", content=content)


def _web_search(input: Input, cwd: str) -> UseView:
    query = _text(input, "query")
    return UseView(kind="fetch", title=f'Search "{query}"' if query else "Web search")


def _agent(input: Input, cwd: str) -> UseView:
    prompt = _text(input, "prompt")
    content = (text_content(prompt),) if prompt else ()
    return UseView(kind="think", title=_text(input, "description") or "Task", content=content)


def _exit_plan(input: Input, cwd: str) -> UseView:
    plan = _text(input, "plan")
    return UseView(kind="switch_mode", title="Approve Plan", content=(text_content(plan),) if plan else ())


def _enter_plan(input: Input, cwd: str) -> UseView:
    return UseView(kind="switch_mode", title="EnterPlanMode")


def _skill(input: Input, cwd: str) -> UseView:
    skill = _text(input, "skill")
    return UseView(title=f"Load skill: {skill}" if skill else "Load skill")


_TOOLS: Mapping[str, Callable[[Input, str], UseView]] = {
    "Agent": _agent,
    "Bash": _command,
    "Edit": _edit,
    "EnterPlanMode": _enter_plan,
    "ExitPlanMode": _exit_plan,
    "Glob": _glob,
    "Grep": _grep,
    "PowerShell": _command,
    "Read": _read,
    "Skill": _skill,
    "Task": _agent,
    "WebFetch": _web_fetch,
    "WebSearch": _web_search,
    "Write": _write,
}
