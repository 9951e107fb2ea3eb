"""What came of a tool call: status, content and raw output (reference 4.4). How a call looks before is in `uses`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs

from middleware import acp
from middleware.messages import ToolResult

from .text import fenced, text_content


@attrs.frozen(kw_only=True)
class ResultView:
    """How a call ends. `content` is None where what the call shows already stays as it is (a diff, above all).

    `raw_output` is an object or absent, never a bare string: strict clients drop the whole update otherwise
    (examples/clients 1).
    """

    status: acp.ToolCallStatus
    content: tuple[acp.ToolCallContent, ...] | None = None
    raw_output: dict[str, Any] | None = None


_KEEPS_CONTENT = frozenset({"Write", "Edit", "Skill"})
"""Tools whose success says nothing that their call does not show."""

_COMMANDS = frozenset({"Bash", "PowerShell"})


def describe_result(name: str, result: ToolResult) -> ResultView:
    """A result's view; what no rule knows is shown as JSON, never passed through raw."""
    text = result_text(result.content)
    raw = {"output": text} if text else None
    if result.is_error:
        return ResultView(status="failed", content=_error(text), raw_output=raw)
    if name in _KEEPS_CONTENT:
        return ResultView(status="completed", raw_output=raw)
    if name in _COMMANDS:
        shown = (text_content(fenced(text, "console")),) if text.strip() else ()
        return ResultView(status="completed", content=shown, raw_output=raw)
    return ResultView(status="completed", content=tuple(_contents(name, result.content)), raw_output=raw)


def result_text(content: Any) -> str:
    """The text of a result: the string itself, or its text blocks, one behind the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content if _is_text(block))
    return ""


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _error(text: str) -> tuple[acp.ToolCallContent, ...]:
    return (text_content(fenced(text)),) if text.strip() else ()


def _contents(name: str, content: Any) -> Iterator[acp.ToolCallContent]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else ():
        if _is_text(block):
            if block["text"]:
                yield text_content(fenced(block["text"]) if name == "Read" else block["text"])
        elif isinstance(block, dict) and block.get("type") == "image" and isinstance(block.get("source"), dict):
            yield _image(block["source"])
        else:
            yield text_content(fenced(json.dumps(block, ensure_ascii=False, indent=2), "json"))


def _image(source: dict[str, Any]) -> acp.Content:
    data, kind = source.get("data"), source.get("media_type")
    if isinstance(data, str) and isinstance(kind, str):
        return acp.Content(content=acp.ImageContent(data=data, mime_type=kind))
    url = source.get("url")
    return text_content(f"[image: {url}]" if isinstance(url, str) else "[image: file reference]")
