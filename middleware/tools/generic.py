"""Tools that no family knows: MCP tools, new tools of Claude Code, and what all results have in common."""

from __future__ import annotations

from middleware import acp

from .blocks import contents_of, error_in, text_in
from .text import fenced, fenced_json, one_line, raw_text, text_content
from .unseen import spelled
from .views import Given, ResultView, Use, UseView, at, text_of

_TELLING = (
    "title",
    "description",
    "command",
    "query",
    "url",
    "file_path",
    "path",
    "pattern",
    "name",
    "subject",
    "question",
    "message",
    "prompt",
    "id",
)
"""Members that say what a call is about, the most telling first."""

_TITLE = 120
"""Characters of such a member that still make a title."""


def describe_unknown(use: Use) -> UseView:
    """A tool that no table has. An MCP tool's name says what it does; of another its input is asked."""
    if use.name == "Other":
        return UseView(title="Other", content=(text_content(spelled(fenced_json(dict(use.input)))),))
    name = one_line(spelled(use.name)) or "Unknown Tool"
    if name.startswith("mcp__"):
        return UseView(title=name)
    return UseView(title=_titled(use, name), locations=at(text_of(use.input, "file_path", "notebook_path")) or None)


def _titled(use: Use, name: str) -> str:
    for key in _TELLING:
        value = one_line(spelled(text_of(use.input, key)))
        if value and len(value) <= _TITLE:
            return f"{name}: {value}"
    return name


def describe_any_result(use: Use, given: Given) -> ResultView:
    """What a tool gave, block by block."""
    text = text_in(given.content)
    status: acp.ToolCallStatus = "failed" if error_in(given.content) else "completed"
    raw = raw_text(text)
    return ResultView(status=status, content=contents_of(given.content), raw_output=raw)


def describe_error(given: Given) -> ResultView:
    """Why a tool failed, in a code block; what is no text is shown as it is."""
    text = text_in(given.content)
    raw = raw_text(text)
    content = [text_content(fenced(text))] if text.strip() else []
    others = [block for block in given.content if not _has_text(block)] if isinstance(given.content, list) else []
    return ResultView(status="failed", content=(*content, *contents_of(others)), raw_output=raw)


def _has_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"
