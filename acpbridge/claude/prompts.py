"""A prompt of ACP as the user message that Claude Code reads (reference 10.8). Pure functions."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Any

from middleware import acp
from middleware.messages import Prompt

_MCP_COMMAND = re.compile(r"^/mcp:([^\s:]+):(\S+)(\s[\s\S]*)?$")
_URL_SAFE = str.maketrans("-_", "+/")
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TEXTUAL = frozenset(
    f"application/{kind}"
    for kind in ("json", "xml", "javascript", "typescript", "x-yaml", "yaml", "toml", "x-sh", "sql", "graphql")
)


def user_message(prompt: Prompt) -> Mapping[str, Any]:
    """The frame to write. Its uuid is what Claude Code's echo, result and stream will name."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content_of(prompt.content)},
        "session_id": prompt.session,
        "parent_tool_use_id": None,
        "origin": {"kind": "human"},
        "uuid": prompt.prompt,
    }


def content_of(blocks: Iterable[acp.ContentBlock]) -> list[dict[str, Any]]:
    """The content blocks, in their order; what embedded resources hold stands behind them all."""
    content: list[dict[str, Any]] = []
    contexts: list[dict[str, Any]] = []
    first_text = True
    for block in blocks:
        match block:
            case acp.TextContent():
                content.append(_text(_command(block.text) if first_text else block.text))
                first_text = False
            case acp.ResourceLink():
                content.append(_text(_link(block.uri)))
            case acp.ImageContent():
                content.extend(_image(block))
            case acp.EmbeddedResource(resource=acp.TextResourceContents() as resource):
                content.append(_text(_link(resource.uri)))
                contexts.append(_context(resource.uri, resource.text))
            case acp.EmbeddedResource(resource=acp.BlobResourceContents() as resource):
                _blob(resource, content, contexts)
    return content + contexts


def _command(text: str) -> str:
    """`/mcp:server:command args` is how clients call an MCP prompt; Claude Code has `/server:command (MCP) args`."""
    match = _MCP_COMMAND.match(text)
    return f"/{match[1]}:{match[2]} (MCP){match[3] or ''}" if match else text


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _link(uri: str) -> str:
    if uri.startswith(("file://", "zed://")):
        path = uri.removeprefix("file://") if uri.startswith("file://") else uri
        return f"[@{path.rsplit('/', 1)[-1] or path}]({uri})"
    return uri


def _context(uri: str, text: str) -> dict[str, Any]:
    return _text(f'\n<context ref="{uri}">\n{text}\n</context>')


def _image(image: acp.ImageContent) -> Iterable[dict[str, Any]]:
    """Base64 where there is some, else a URL that the API can fetch; nothing else can be shown."""
    if image.data:
        yield {"type": "image", "source": {"type": "base64", "data": image.data, "media_type": image.mime_type}}
    elif image.uri and image.uri.startswith("http"):
        yield {"type": "image", "source": {"type": "url", "url": image.uri}}


def _blob(resource: acp.BlobResourceContents, content: list[dict[str, Any]], contexts: list[dict[str, Any]]) -> None:
    kind, _, parameters = (resource.mime_type or "").lower().partition(";")
    kind = kind.strip().replace("image/jpg", "image/jpeg")
    source = {"type": "base64", "data": resource.blob, "media_type": kind}
    if kind in _IMAGES:
        content += [_text(_link(resource.uri)), {"type": "image", "source": source}]
    elif kind == "application/pdf":
        content += [_text(_link(resource.uri)), {"type": "document", "source": source}]
    elif kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+json", "+xml")):
        text = _decoded(resource.blob, parameters)
        if text is not None:
            content.append(_text(_link(resource.uri)))
            contexts.append(_context(resource.uri, text))


def _decoded(blob: str, parameters: str) -> str | None:
    charset = re.search(r"charset=\"?([\w.-]+)", parameters)
    try:
        data = base64.b64decode(blob.translate(_URL_SAFE).rstrip("=") + "==")  # one "=" too many is ignored
    except (binascii.Error, ValueError):
        return None
    try:
        return data.decode(charset[1] if charset else "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")
