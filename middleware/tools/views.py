"""The words of this package: what is asked of a tool's renderer (`Use`, `Given`), and what it says (`UseView`, ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from middleware import acp
from middleware.messages import FileState

Input = Mapping[str, Any]
Contents = tuple[acp.ToolCallContent, ...]


@attrs.frozen(kw_only=True)
class Use:
    """A tool that is used: its input as far as it is known, and where."""

    name: str
    input: Input = attrs.field(factory=dict)
    cwd: str = ""
    file: FileState | None = None


@attrs.frozen(kw_only=True)
class UseView:
    """How a call is presented. `locations` is None where the tool has none by nature.

    `texts` names the members of the input that `content` shows as a diff. `command` marks what runs in a terminal.
    """

    title: str
    kind: acp.ToolKind = "other"
    content: Contents = ()
    locations: tuple[acp.ToolCallLocation, ...] | None = None
    texts: tuple[str, ...] = ()
    command: bool = False


@attrs.frozen(kw_only=True)
class Given:
    """What a tool gave: the members of `ToolResult` that a renderer needs."""

    content: Any = None
    is_error: bool = False
    structured: Any = None

    @property
    def object(self) -> Mapping[str, Any]:
        """The tool's own object; empty where there is none."""
        return self.structured if isinstance(self.structured, dict) else {}


@attrs.frozen(kw_only=True)
class Printed:
    """What a command printed. `exit_code` is None where nobody knows it; `running`: it goes on in the background."""

    text: str
    exit_code: int | None = None
    running: bool = False


@attrs.frozen(kw_only=True)
class ResultView:
    """How a call ends. A member is None where what the call shows already stays as it is (a diff, above all).

    `raw_output` is an object or absent, never a bare string: strict clients drop the whole update otherwise
    (examples/clients 1). `printed` is what a client with terminals is shown in place of `content`. `whole`: `content`
    is all there is to show, so that a diff that the call shows already gives way to it.
    """

    status: acp.ToolCallStatus
    title: str | None = None
    content: Contents | None = None
    locations: tuple[acp.ToolCallLocation, ...] | None = None
    raw_output: dict[str, Any] | None = None
    printed: Printed | None = None
    whole: bool = False


@attrs.frozen(kw_only=True)
class Tool:
    """A row of the table: how a use of the tool looks, and how what it gave does (None: as any tool's)."""

    use: Callable[[Use], UseView]
    result: Callable[[Use, Given], ResultView] | None = None


def text_of(source: Mapping[str, Any], *keys: str) -> str:
    """The first of these members that is a text; "" when none is."""
    for key in keys:
        value = source.get(key)
        if isinstance(value, str):
            return value
    return ""


def count_of(source: Mapping[str, Any], key: str) -> int | None:
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(path: str, line: int | None = None) -> tuple[acp.ToolCallLocation, ...]:
    return (acp.ToolCallLocation(path=path, line=line),) if path else ()
