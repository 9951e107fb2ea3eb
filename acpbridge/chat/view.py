"""From ACP's session updates to the text of a terminal. Pure: the view is handed messages and returns strings.

What the agent sends is untrusted and may be malformed: a kind of update that is not known here, or one with a shape
that is not ACP's, is left out; control characters are made harmless, so that no tool output can drive the terminal.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

MAX_DIFF_LINES: Final = 60
MAX_OUTPUT_LINES: Final = 12
# difflib is quadratic at its worst.
_MAX_DIFF_CHARACTERS: Final = 200_000

# Tab and line feed stay; everything else that a terminal acts on, C1 included, is shown as a replacement character.
_HARMLESS: Final = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"} | {13: None}


@attrs.frozen(kw_only=True)
class Style:
    """How a terminal shows things: with or without colours, with the symbols that its encoding has."""

    colour: bool
    unicode: bool

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def red(self, text: str) -> str:
        return self._paint("31", text)

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def symbol(self, status: str) -> str:
        """The mark before a tool call or a plan's entry."""
        return _SYMBOLS.get(status, _SYMBOLS["pending"])[0 if self.unicode else 1]

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


_SYMBOLS: Final[Mapping[str, tuple[str, str]]] = {
    "pending": ("○", "[ ]"),
    "in_progress": ("●", "[>]"),
    "completed": ("✓", "[x]"),
    "failed": ("✗", "[!]"),
}


@attrs.define
class _Tool:
    title: str = "(unnamed tool)"
    status: str = "pending"
    shown: str | None = None  # the status that it was last shown with
    diffs: set[int] = attrs.Factory(set)


class View:
    """Renders one conversation. It remembers where the cursor is and what it has shown, no more."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._at_line_start = True
        # What is being streamed: its kind and message, or None after a block of its own.
        self._flow: tuple[str, object] | None = None
        self._tools: dict[str, _Tool] = {}

    def update(self, update: object) -> str:
        """The text of one `session/update`'s update; empty for what is not shown."""
        update = _dict(update)
        kind = update.get("sessionUpdate")
        render = _RENDERERS.get(kind) if isinstance(kind, str) else None
        return "" if render is None else render(self, update)

    def question(self, params: object) -> str:
        """A `session/request_permission`: the tool call, and the options numbered from 1."""
        params = _dict(params)
        lines = [
            f"  {number}) {clean(_str(option.get('name')) or _str(option.get('optionId')))}"
            for number, option in enumerate(options(params), 1)
        ]
        call = _dict(params.get("toolCall"))
        tool = self._of(call)
        if tool.status == "pending":
            tool.shown = tool.status  # the question itself says what it is about
        shown = self._tool(call)
        return shown + self.block(self._style.bold(f"? {tool.title}"), *lines)

    def block(self, *lines: str) -> str:
        """Lines of the program's own, from the start of a line on."""
        start = "" if self._at_line_start else "\n"
        self._flow = None
        self._at_line_start = True
        return start + "".join(line + "\n" for line in lines)

    def note(self, text: str) -> str:
        """A remark of the program's own."""
        return self.block(self._style.dim(clean(text)))

    def starting(self) -> str:
        """The agent is being started: it takes a moment in which nothing else is to be seen."""
        return self.note(f"starting Claude Code{'…' if self._style.unicode else '...'}")

    def problem(self, text: str) -> str:
        """A message about a failure; it may contain what the agent said."""
        return self.block(self._style.red(clean(text)))

    def prompt(self, text: str) -> str:
        """A prompt that was not typed at this terminal."""
        return self.block(self._style.bold("> " + clean(text)))

    def marker(self, text: str = "> ") -> str:
        """The invitation to type, at the start of a line; `entered` says that its line is over."""
        start = self.block()
        self._at_line_start = False
        return start + self._style.bold(text)

    def entered(self) -> None:
        """The person has typed a line: their Enter has moved the cursor."""
        self._at_line_start = True

    def _chunk(self, update: Mapping[str, Any]) -> str:
        return self._stream(update, lambda text: text)

    def _thought(self, update: Mapping[str, Any]) -> str:
        return self._stream(update, self._style.dim)

    def _stream(self, update: Mapping[str, Any], paint: Callable[[str], str]) -> str:
        text = _content_text(update.get("content"))
        if not text:
            return ""
        flow = (_str(update.get("sessionUpdate")), update.get("messageId"))
        start = "" if self._at_line_start or flow == self._flow else "\n"
        self._flow = flow
        self._at_line_start = text.endswith("\n")
        return start + paint(text)

    def _of(self, call: Mapping[str, Any]) -> _Tool:
        """What is known of a tool call, with what this message says of it."""
        tool = self._tools.setdefault(_str(call.get("toolCallId")), _Tool())
        tool.title = clean(_str(call.get("title"))).replace("\n", " ") or tool.title
        tool.status = _str(call.get("status")) or tool.status
        return tool

    def _tool(self, call: Mapping[str, Any]) -> str:
        """A `tool_call`, a `tool_call_update`, or the tool call of a question: what is new about it.

        While it is pending it is shown once, when its input begins to be known: before that its title is a placeholder,
        and after that it only becomes longer.
        """
        tool = self._of(call)
        lines: list[str] = []
        known = bool(call.get("rawInput")) or bool(_dicts(call.get("content"))) or tool.status != "pending"
        if tool.shown != tool.status and known:
            tool.shown = tool.status
            lines.append(f"{self._mark(tool.status)} {tool.title} {self._style.dim(tool.status.replace('_', ' '))}")
        for item in _dicts(call.get("content")):
            lines.extend(self._tool_content(tool, item))
        return self.block(*lines) if lines else ""

    def _tool_content(self, tool: _Tool, item: Mapping[str, Any]) -> Iterator[str]:
        if item.get("type") == "diff":
            path, old, new = _str(item.get("path")), _str(item.get("oldText")), _str(item.get("newText"))
            lines = _diff(old, new)
            # The same change comes with several updates and with the question, with more or less around it.
            key = hash((path, *(line for line in lines if line[:1] in ("+", "-", "("))))
            if key not in tool.diffs:
                tool.diffs.add(key)
                yield "    " + self._style.bold(clean(path))
                for line in _cut(lines, MAX_DIFF_LINES):
                    paint = {"+": self._style.green, "-": self._style.red}.get(line[:1], self._style.dim)
                    yield "    " + paint(line)
        elif item.get("type") == "content" and tool.status in ("completed", "failed"):
            text = _content_text(item.get("content")).rstrip("\n")
            for line in _cut(text.split("\n") if text else [], MAX_OUTPUT_LINES):
                yield self._style.dim("    " + line)

    def _mark(self, status: str) -> str:
        paint = {"completed": self._style.green, "failed": self._style.red}.get(status, self._style.bold)
        return paint(self._style.symbol(status))

    def _plan(self, update: Mapping[str, Any]) -> str:
        entries = [
            f"  {self._mark(_str(entry.get('status')))} {clean(_str(entry.get('content')))}"
            for entry in _dicts(update.get("entries"))
        ]
        return self.block(self._style.bold("Plan"), *entries) if entries else ""

    def _plan_update(self, update: Mapping[str, Any]) -> str:
        return self._plan(_dict(update.get("plan")))

    def _mode(self, update: Mapping[str, Any]) -> str:
        return self.note(f"mode: {_str(update.get('currentModeId'))}")

    def _notice(self, update: Mapping[str, Any]) -> str:
        text = ": ".join(filter(None, (_str(update.get("title")), _str(update.get("description")))))
        show = self.problem if update.get("severity") == "error" else self.note
        return show(text) if text else ""


_RENDERERS: Final[Mapping[str, Callable[[View, Mapping[str, Any]], str]]] = {
    "agent_message_chunk": View._chunk,
    "agent_thought_chunk": View._thought,
    "tool_call": View._tool,
    "tool_call_update": View._tool,
    "plan": View._plan,
    "plan_update": View._plan_update,
    "current_mode_update": View._mode,
    "notice": View._notice,
}


def options(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The options of a permission request that can be chosen: those with an id."""
    return [option for option in _dicts(params.get("options")) if _str(option.get("optionId"))]


def clean(text: str) -> str:
    """The text without anything that a terminal would act on, tabs and line feeds excepted."""
    return text.translate(_HARMLESS)


def _content_text(content: object) -> str:
    """A content block as text: its own, or in brackets what it is."""
    block = _dict(content)
    match block.get("type"):
        case "text":
            return clean(_str(block.get("text")))
        case "resource_link":
            return clean(f"[{_str(block.get('name'))}]({_str(block.get('uri'))})")
        case "resource":
            return clean(f"[{_str(_dict(block.get('resource')).get('uri'))}]")
        case "image" | "audio" as kind:
            return clean(f"[{kind} {_str(block.get('mimeType'))}]")
        case _:
            return ""


def _diff(old: str, new: str) -> list[str]:
    """The lines of a unified diff without its file names, or one line in brackets that measures it."""
    if len(old) + len(new) > _MAX_DIFF_CHARACTERS:
        return [f"({len(old)} characters become {len(new)})"]
    before, after = (clean(text).removesuffix("\n").split("\n") if text else [] for text in (old, new))
    return list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]


def _cut(lines: list[str], limit: int) -> Iterable[str]:
    if len(lines) <= limit:
        return lines
    return [*lines[:limit], f"... {len(lines) - limit} more lines"]


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
