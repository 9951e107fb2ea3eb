"""Commands: Bash and PowerShell, what runs in the background, and code that the model's API runs (reference 4.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from middleware import acp

from .blocks import blocks_of, contents_of, error_in, is_image, text_in
from .text import fenced, legal, one_line, raw_text, text_content
from .unseen import plain, spelled
from .views import Given, Printed, ResultView, Tool, Use, UseView, count_of, text_of

ABORTED = "[Command was aborted before completion]"
_EXIT_CODE = re.compile(r"\s*Exit code (\d{1,10})\b")


def _command(use: Use) -> UseView:
    description = text_of(use.input, "description", "command_description")
    return UseView(
        kind="execute",
        title=spelled(legal(text_of(use.input, "command"))) or "Terminal",
        content=(text_content(plain(description)),) if description else (),
        command=True,
    )


def _command_result(use: Use, given: Given) -> ResultView:
    """Standard output and error beside each other, in a console block, or for the client's terminal."""
    images = tuple(block for block in blocks_of(given.content) if is_image(block))
    text = "" if images else _output(given)
    running = _runs_on(use, given)
    printed = Printed(text=text, exit_code=None if running else _exit_code(given), running=running)
    status: acp.ToolCallStatus = "failed" if given.is_error else "completed"
    if images:
        content = contents_of(list(images))
    elif given.is_error:
        content = (text_content(fenced(text)),) if text.strip() else ()
    else:
        content = (text_content(fenced(text, "console")),) if text.strip() else ()
    raw = raw_text(text) or {}
    if printed.exit_code is not None:
        raw["metadata"] = {"exit": printed.exit_code}
    return ResultView(status=status, content=content, raw_output=raw or None, printed=printed)


def _output(given: Given) -> str:
    tool, text = given.object, None
    if isinstance(tool.get("stdout"), str) and not given.is_error and tool.get("isImage") is not True:
        parts = [part for part in (tool["stdout"], text_of(tool, "stderr")) if part]
        if tool.get("interrupted") is True:
            parts.append(ABORTED)
        saved = text_of(tool, "persistedOutputPath")
        if saved:
            size = count_of(tool, "persistedOutputSize")
            total = f"{size} bytes total" if size is not None else "more than is shown"
            parts.append(f"[Output truncated ({total}): full output saved to {saved}]")
        if not _background(tool):
            text = "\n".join(parts)
    return text if text is not None else text_in(given.content)


def _background(tool: Mapping[str, Any]) -> bool:
    return bool(text_of(tool, "backgroundTaskId"))


def _runs_on(use: Use, given: Given) -> bool:
    return not given.is_error and (_background(given.object) or use.input.get("run_in_background") is True)


def _exit_code(given: Given) -> int | None:
    """What is known of it: Claude Code says it only of a command that failed, in the first line of its text."""
    tool = given.object
    if tool.get("interrupted") is True:
        return None
    if given.is_error:
        found = _EXIT_CODE.match(text_in(given.content))
        return int(found.group(1)) if found else None
    return None if text_of(tool, "returnCodeInterpretation") else 0


# ------------------------------------------------------------------------------------------------- in the background


def _output_of(use: Use) -> UseView:
    task = one_line(text_of(use.input, "bash_id", "task_id", "shell_id"))
    return UseView(kind="read", title=f"Output of background task {task}" if task else "Output of a background task")


def _output_of_result(use: Use, given: Given) -> ResultView:
    text = text_in(given.content)
    raw = raw_text(text)
    content = (text_content(fenced(text, "" if given.is_error else "console")),) if text.strip() else ()
    return ResultView(status="failed" if given.is_error else "completed", content=content, raw_output=raw)


def _stop(use: Use) -> UseView:
    task = one_line(text_of(use.input, "shell_id", "task_id", "bash_id"))
    return UseView(kind="execute", title=f"Stop background task {task}" if task else "Stop a background task")


def _monitor(use: Use) -> UseView:
    command, description = text_of(use.input, "command"), text_of(use.input, "description")
    about = one_line(description) or one_line(spelled(command))
    return UseView(
        kind="execute",
        title=f"Monitor: {about}" if about else "Monitor",
        content=(text_content(fenced(spelled(command), "console")),) if command else (),
    )


# ------------------------------------------------------------------------------------------------- run by the API


def _code(use: Use) -> UseView:
    code = text_of(use.input, "code", "command")
    return UseView(
        kind="execute",
        title="Run code",
        content=(text_content(fenced(code)),) if code else (),
    )


def _code_result(use: Use, given: Given) -> ResultView:
    code = next((count_of(block, "return_code") for block in blocks_of(given.content) if isinstance(block, dict)), None)
    failed = given.is_error or error_in(given.content)
    return ResultView(
        status="failed" if failed else "completed",
        content=contents_of(given.content),
        raw_output={"metadata": {"exit": code}} if code is not None else None,
    )


def _editor(use: Use) -> UseView:
    path, action = text_of(use.input, "path"), text_of(use.input, "command")
    what = {"view": "View", "create": "Create", "str_replace": "Edit"}.get(action, "Edit")
    return UseView(
        kind="read" if action == "view" else "edit",
        title=f"{what} {one_line(path)} in the API's sandbox" if path else "Edit a file in the API's sandbox",
    )


TOOLS: Mapping[str, Tool] = {
    "Bash": Tool(use=_command, result=_command_result),
    "BashOutput": Tool(use=_output_of, result=_output_of_result),
    "KillBash": Tool(use=_stop),
    "KillShell": Tool(use=_stop),
    "Monitor": Tool(use=_monitor, result=_output_of_result),
    "PowerShell": Tool(use=_command, result=_command_result),
    "TaskOutput": Tool(use=_output_of, result=_output_of_result),
    "TaskStop": Tool(use=_stop),
    "bash_code_execution": Tool(use=_code, result=_code_result),
    "code_execution": Tool(use=_code, result=_code_result),
    "text_editor_code_execution": Tool(use=_editor),
}
