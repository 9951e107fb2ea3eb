"""What a request of Claude Code is, and which round of a script it asks for. Pure: bodies in, facts out.

The rules were read off Claude Code 2.1.332 (the bodies it sends to a local server); the tests in tests/testing run it
and notice when a later one differs. Choosing the script is model.py's task, the answers to side requests are in
sides.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import attrs

Kind: TypeAlias = Literal[
    "main", "subagent", "title", "suggestion", "compact", "recall", "quota", "helper", "count_tokens", "other"
]
"""main: the loop of the session. subagent: the loop of an Agent tool call. title: an answer in a JSON schema (session
titles). suggestion: prompt suggestions. compact: a summary of the conversation. recall: which memories matter. quota:
the probe of one token. helper: no tools at all. count_tokens, other: not `POST /v1/messages`."""

SIDE_KINDS: tuple[Kind, ...] = ("title", "suggestion", "compact", "recall", "quota", "helper")
"""The requests that are answered at once, without a script."""

_FOLDED = re.compile(
    r"The user sent a new message while you were working:\n"
    r"(.*?)(?:\n\nThis is how Claude Code surfaces|\n</system-reminder>|\Z)",
    re.DOTALL,
)
"""A prompt that was queued while a tool ran: Claude Code puts it behind the tool's result, in the running turn."""

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)

_NOT_THE_PERSON = (
    "<system-reminder>",
    "[SYSTEM NOTIFICATION",
    "<task-notification>",
    "Output token limit hit.",
    "Stop hook feedback",
    "[SUGGESTION MODE",
    "[Image: ",
)
"""How texts begin that stand in a user message but are Claude Code's own."""

_BOUNDARIES = (
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below were generated",
    "<local-command-",
    "<command-",
    "<bash-",
)
"""As above, and what stands before one of these is an earlier prompt, even in the same user message."""

_COMPACTION = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
    "Your task is to create a detailed summary of",
)

_ATTRIBUTION = "x-anthropic-billing-header:"
"""Begins the first block of the system prompt, unless the person has turned it off; it says whether a subagent asks."""

_DIRECTORY = re.compile(r"Primary working directory: (.+)")


@attrs.frozen(kw_only=True)
class Due:
    """What a request of a main loop or a subagent asks for.

    `prompts`: the text blocks of the person's last prompt, in order (a block that ends with a line break is taken for
    the end of an earlier prompt, if another follows it). `round`: from 0, the assistant messages that came after it.
    """

    prompts: tuple[str, ...]
    round: int

    @property
    def prompt(self) -> str:
        """All of the prompt's text."""
        return "\n".join(self.prompts)


NOTHING_DUE = Due(prompts=(), round=0)
"""What a request that answers no prompt asks for."""


def classify(body: Mapping[str, Any]) -> Kind:
    """The kind of a `POST /v1/messages` body."""
    tools = body.get("tools") or []
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    if wanted.get("type") == "json_schema" and not tools:
        properties = (wanted.get("schema") or {}).get("properties") or {}
        return "recall" if "selected_memories" in properties else "title"
    if body.get("max_tokens") == 1:
        return "quota"
    last = last_user_text(body)
    if last.startswith("[SUGGESTION MODE"):
        return "suggestion"
    system = system_text(body)
    if last.startswith(_COMPACTION) or "summarizing conversations" in system:
        return "compact"
    if not tools:
        return "helper"
    if _ATTRIBUTION in system:
        return "subagent" if "cc_is_subagent=true" in system else "main"
    can_delegate = any(tool.get("name") in ("Agent", "Task") for tool in tools)
    return "main" if can_delegate and "You are an agent for Claude Code" not in system else "subagent"


def conversation(body: Mapping[str, Any]) -> Due:
    """The prompt of the person that is being answered, and the round that is due.

    System reminders, task notifications, interruption markers, the output of local commands and tool results are not
    the person's; a prompt that Claude Code folds into the running turn is, and starts at round 0.
    """
    prompts: list[str] = []
    due = 0
    fresh = True
    for message in body.get("messages", ()):
        if message.get("role") == "assistant":
            due += 1
            fresh = True
        elif message.get("role") == "user":
            for block in _blocks(message):
                if block.get("type") == "text":
                    text = block.get("text", "")
                    if text.lstrip().startswith(_BOUNDARIES):
                        fresh = True
                        continue
                    spoken = persons_text(text)
                    if spoken is None:
                        continue
                    if fresh:
                        prompts, due, fresh = [], 0, False
                    prompts.append(spoken)
                    # A prompt that failed stays in the conversation: Claude Code joins it with the next one in one
                    # message, and the seam is a line break at the end of its last block.
                    fresh = text.endswith("\n")
    return Due(prompts=tuple(prompts), round=due)


def persons_text(text: str) -> str | None:
    """What the person wrote in a text block of a user message, None if Claude Code wrote it all."""
    folded = _FOLDED.search(text)
    if folded is not None and text.lstrip().startswith(("<system-reminder>", "The user sent a new message")):
        return folded.group(1)
    rest = _REMINDER.sub("", text) if text.lstrip().startswith("<system-reminder>") else text
    stripped = rest.strip()
    if not stripped or stripped.startswith(_NOT_THE_PERSON + _BOUNDARIES):
        return None
    return rest


def last_user_text(body: Mapping[str, Any]) -> str:
    """The last text block of the last user message, "" if there is none."""
    for message in reversed(body.get("messages", ())):
        if message.get("role") == "user":
            texts = [block.get("text", "") for block in _blocks(message) if block.get("type") == "text"]
            return texts[-1] if texts else ""
    return ""


def system_text(body: Mapping[str, Any]) -> str:
    """The system prompt (not the system messages inside the conversation)."""
    return "\n".join(block.get("text", "") for block in _as_blocks(body.get("system") or ""))


def session_id(body: Mapping[str, Any]) -> str | None:
    """The session's id, which Claude Code writes into `metadata.user_id`."""
    found = re.search(r'"session_id":\s*"([^"]+)"', str((body.get("metadata") or {}).get("user_id", "")))
    return found.group(1) if found else None


def working_directory(body: Mapping[str, Any]) -> str | None:
    """The directory in which Claude Code says it works, None if it does not say."""
    texts = [system_text(body)]
    for message in body.get("messages", ()):
        if message.get("role") == "system":
            texts += [block.get("text", "") for block in _blocks(message)]
    found = _DIRECTORY.search("\n".join(texts))
    return found.group(1).strip() if found else None


def number_of_blocks(body: Mapping[str, Any]) -> int:
    """The content blocks of the conversation: the same at each try of a request, more at each later request."""
    return sum(1 for message in body.get("messages", ()) for _block in _blocks(message))


def _blocks(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return _as_blocks(message.get("content") or "")


def _as_blocks(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content
