"""What the person said, out of a transcript's records: only that, and as the client sent it (reference 9.7, item 6).

Reminders, commands' markers, interruptions and the words of others stand in user records too, and are not the person's.
A link, and the file that a client put into a prompt, were written as text (`claude.prompts`), and are told as the
blocks that they were: a client shows a link then, and not the whole file as the person's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from middleware import acp
from middleware.messages import Message, UserMessage

from .records import origin_of, uuid_of
from .transcripts import Record

_MARKERS = re.compile(
    r"<(command-name|command-message|command-args|local-command-stdout|local-command-stderr|local-command-caveat|"
    r"system-reminder|task-notification)>.*?</\1>",
    re.DOTALL,
)
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_MCP_COMMAND = re.compile(r"/(?:mcp__(?P<server>.+?)__(?P<name>.+)|(?P<both>.+:.+) \(MCP\))")
_LOCAL = frozenset(
    {"/clear", "/compact", "/context", "/extra-usage", "/heapdump", "/mcp", "/model", "/status", "/usage"}
)
"""Commands that Claude Code runs by itself: their output is not in the conversation, and so neither are they."""

_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_HIDDEN_ORIGINS = frozenset({"peer", "channel", "observer", "observer-activity", "slack-ping", "coordinator"})

_LINK = re.compile(r"\[@(?P<name>[^\n]*?)\]\((?P<uri>(?:file|zed)://[^\n]*)\)")
_CONTEXT = re.compile(r'\n<context ref="(?P<uri>[^\n]*?)">\n(?P<text>.*)\n</context>', re.DOTALL)


def by_the_person(session: str, record: Record, content: Any) -> Iterator[Message]:
    """What the person said in a record with this content, block by block."""
    kind, origin = origin_of(record), record.get("origin")
    if kind in _HIDDEN_ORIGINS or (kind == "task-notification" and not origin.get("subkind")):  # type: ignore[union-attr]
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    for shown in _with_files(_shown(block) for block in blocks):
        yield UserMessage(session=session, content=shown, message=uuid_of(record))


def while_a_turn_ran(session: str, record: Record) -> Iterable[Message]:
    """A prompt that Claude Code took into a turn that ran: an attachment."""
    attachment = record.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return ()
    if attachment.get("commandMode") not in (None, "prompt") or attachment.get("isMeta"):
        return ()
    said = {"origin": attachment.get("origin"), "uuid": attachment.get("source_uuid") or record.get("uuid")}
    return by_the_person(session, said, attachment.get("prompt"))


def visible_text(text: str) -> str:
    """What of a user's text the person wrote: a command as it was typed, nothing of Claude Code's own (9.7, item 6)."""
    if text.strip() in _INTERRUPTED:
        return ""
    rest = _MARKERS.sub("", text)
    if rest == text:
        return text
    if rest.strip():
        return rest.strip()
    command, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    name = command[1].strip() if command else ""
    if not name.startswith("/") or name in _LOCAL or "<local-command-std" in text:
        return ""
    called = _MCP_COMMAND.fullmatch(name)
    if called is not None:  # as clients call it, see `claude.prompts`
        name = f"/mcp:{called['both'] or called['server'] + ':' + called['name']}"
    given = arguments[1].strip() if arguments else ""
    return f"{name} {given}" if given else name


def _shown(block: Mapping[str, Any]) -> acp.ContentBlock | None:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return _text(block["text"])
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, dict):
        if isinstance(source.get("data"), str) and isinstance(source.get("media_type"), str):
            return acp.ImageContent(data=source["data"], mime_type=source["media_type"])
        if isinstance(source.get("url"), str):
            return acp.ResourceLink(uri=source["url"], name=source["url"])
    return None


def _text(text: str) -> acp.ContentBlock | None:
    link = _LINK.fullmatch(text)
    if link is not None:
        return acp.ResourceLink(uri=link["uri"], name=link["name"])
    file = _CONTEXT.fullmatch(text)
    if file is not None:
        return acp.EmbeddedResource(resource=acp.TextResourceContents(uri=file["uri"], text=file["text"]))
    seen = visible_text(text)
    return acp.TextContent(text=seen) if seen else None


def _with_files(shown: Iterable[acp.ContentBlock | None]) -> list[acp.ContentBlock]:
    """Each file where its link stands: what files hold was written behind all else."""
    blocks = [block for block in shown if block is not None]
    files = {
        block.resource.uri: block
        for block in blocks
        if isinstance(block, acp.EmbeddedResource) and isinstance(block.resource, acp.TextResourceContents)
    }
    linked = {block.uri for block in blocks if isinstance(block, acp.ResourceLink)}
    told: list[acp.ContentBlock] = []
    for block in blocks:
        if isinstance(block, acp.ResourceLink) and block.uri in files:
            told.append(files[block.uri])
        elif not isinstance(block, acp.EmbeddedResource) or block.resource.uri not in linked:
            told.append(block)
    return told
