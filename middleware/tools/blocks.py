"""Content blocks of Claude Code, the model's API and MCP, as the content of a tool call: one row a type.

A block that no row knows is shown as JSON in a code block. None is passed through as it came: a client may be strict,
and what the API sends (`encrypted_content`, ...) is not for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from middleware import acp

from .text import REPEATED, characters, fenced, fenced_json, legal, one_line, text_content
from .views import Contents, text_of

Block = Mapping[str, Any]


def blocks_of(content: Any) -> list[Any]:
    """The blocks of a result's content: its list, its one object, or its text as a block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    return content if isinstance(content, list) else []


def contents_of(content: Any, *, fence: bool = False) -> Contents:
    """A result's content as a client is shown it; `fence` puts each text into a code block."""
    return tuple(item for block in blocks_of(content) for item in _contents(block, fence))


def text_in(content: Any) -> str:
    """The text of a result: the string itself, or its text blocks, a line end between them."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in blocks_of(content) if is_text(block))


def is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def is_image(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "image"


def error_in(content: Any) -> bool:
    """Whether a server tool says in its content that it failed: such a result has no `is_error`."""
    return any(isinstance(block, dict) and str(block.get("type")).endswith("_error") for block in blocks_of(content))


def _contents(block: Any, fence: bool) -> Iterator[acp.ToolCallContent]:
    kind = block.get("type") if isinstance(block, dict) else None
    if is_text(block):
        if block["text"]:
            yield text_content(fenced(block["text"]) if fence else block["text"])
        return
    show = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if show is None and isinstance(kind, str) and kind.endswith("_error"):
        show = _error
    made = show(block) if show is not None else None
    if made is None and characters(block, REPEATED) > REPEATED:
        yield text_content(f"[content of the type {one_line(str(kind))}: too large to be shown]")
    elif made is None:
        yield text_content(fenced_json(block))
    elif isinstance(made, str):
        if made:
            yield text_content(made)
    else:
        yield acp.Content(content=made)


# Each row gives a block of ACP, a text, or None: the block is not what its type says, and is shown as JSON.

_Shown = acp.ContentBlock | str | None


def _image(block: Block) -> _Shown:
    source = block.get("source")
    source = source if isinstance(source, dict) else block
    data, mime = text_of(source, "data"), text_of(source, "media_type", "mimeType")
    if data and mime:
        return acp.ImageContent(data=data, mime_type=mime)
    url = text_of(source, "url")
    return f"[image: {url}]" if url else "[image: file reference]"


def _audio(block: Block) -> _Shown:
    data, mime = text_of(block, "data"), text_of(block, "mimeType", "media_type")
    return acp.AudioContent(data=data, mime_type=mime) if data and mime else None


def _document(block: Block) -> _Shown:
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    title = text_of(block, "title")
    named = f'document "{title}"' if title else "document"
    if text_of(source, "url"):
        return f"[{named}: {text_of(source, 'url')}]"
    data = text_of(source, "data")
    if source.get("type") == "base64":
        return f"[{named}: {text_of(source, 'media_type') or 'unknown type'}, {_size(len(data) * 3 // 4)}]"
    if data:
        return f"[{named}: {text_of(source, 'media_type') or 'text/plain'}, {_size(len(data))}]"
    return f"[{named}: file reference]"


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KB" if count < 1024 * 1024 else f"{count / (1024 * 1024):.1f} MB"


def _resource(block: Block) -> _Shown:
    resource = block.get("resource")
    if not isinstance(resource, dict) or not text_of(resource, "uri"):
        return None
    uri, mime = legal(text_of(resource, "uri")), text_of(resource, "mimeType") or None
    if isinstance(resource.get("text"), str):
        text = legal(resource["text"])
        return acp.EmbeddedResource(resource=acp.TextResourceContents(uri=uri, text=text, mime_type=mime))
    if isinstance(resource.get("blob"), str):
        return acp.EmbeddedResource(resource=acp.BlobResourceContents(uri=uri, blob=resource["blob"], mime_type=mime))
    return None


def _resource_link(block: Block) -> _Shown:
    uri = legal(text_of(block, "uri"))
    if not uri:
        return None
    return acp.ResourceLink(
        uri=uri,
        name=legal(text_of(block, "name")) or uri,
        title=legal(text_of(block, "title")) or None,
        description=legal(text_of(block, "description")) or None,
        mime_type=text_of(block, "mimeType") or None,
    )


def _search_result(block: Block) -> _Shown:
    title, url = text_of(block, "title"), text_of(block, "url", "source")
    return f"{title} ({url})" if title and url else title or url


def _web_fetch(block: Block) -> _Shown:
    return f"Fetched: {text_of(block, 'url')}"


def _tool_search(block: Block) -> _Shown:
    references = block.get("tool_references")
    found = [
        text_of(reference, "tool_name")
        for reference in (references if isinstance(references, list) else ())
        if isinstance(reference, dict)
    ]
    return f"Tools found: {', '.join(name for name in found if name) or 'none'}"


def _run(block: Block) -> _Shown:
    outputs = [text for text in (text_of(block, "stdout"), text_of(block, "stderr")) if text.strip()]
    return f"Output: {chr(10).join(outputs)}" if outputs else "Output: none"


def _created(block: Block) -> _Shown:
    return "File updated" if block.get("is_file_update") is True else "File created"


def _replaced(block: Block) -> _Shown:
    lines = block.get("lines")
    return "\n".join(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ""


def _error(block: Block) -> _Shown:
    code, text = text_of(block, "error_code") or "unknown", text_of(block, "error_message")
    return f"Error: {code}{f' - {text}' if text else ''}"


_BLOCKS: Mapping[str, Callable[[Block], _Shown]] = {
    "advisor_redacted_result": lambda block: "Advisor guidance applied server-side.",
    "advisor_result": lambda block: text_of(block, "text"),
    "advisor_tool_result_error": lambda block: f"Advisor error: {text_of(block, 'error_code') or 'unknown'}",
    "audio": _audio,
    "bash_code_execution_result": _run,
    "code_execution_result": _run,
    "document": _document,
    "image": _image,
    "resource": _resource,
    "resource_link": _resource_link,
    "search_result": _search_result,
    "text_editor_code_execution_create_result": _created,
    "text_editor_code_execution_str_replace_result": _replaced,
    "text_editor_code_execution_view_result": lambda block: text_of(block, "content"),
    "tool_reference": lambda block: f"Tool: {text_of(block, 'tool_name')}",
    "tool_search_tool_search_result": _tool_search,
    "web_fetch_result": _web_fetch,
    "web_search_result": _search_result,
}
