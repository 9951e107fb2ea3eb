"""What `ToolCalls` keeps: the calls that the client holds, and what of each it was told (the reference's 4.7).

A field that did not change is not sent again, and an update in which nothing changed is not sent at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from middleware import acp

from .partial_json import PartialObject

Lane = str | None
"""The main thread, or the Agent call of a subagent."""

REMEMBERED = 1024
"""Ended calls and tasks that are remembered in a session, so that what comes late is told from what is new."""


_META = "_meta.claudeCode."
"""How the members of `_meta.claudeCode` are told from fields in `Call.told`."""


@attrs.define(eq=False)
class Call:
    """A call that the client has and that has not ended. `told` is the last value of each field that it was sent."""

    tool_use: str
    name: str
    parent: Lane = None
    input: Mapping[str, Any] = attrs.field(factory=dict)
    dispatched: bool = False  # its complete input is known: it may have run
    streamed: bool = True  # Claude Code's stream has it; a call that is only asked for may never be seen there
    asked: list[acp.ToolCallContent] | None = None  # what an ask showed, which is more than the input alone says
    responded: bool = False  # the tool's own object was told
    terminal: bool = False  # the client shows it as a terminal
    refined: int = 0
    told: dict[str, Any] = attrs.field(factory=dict)

    @property
    def diffs(self) -> list[acp.ToolCallContent]:
        """The diffs that the client shows."""
        shown = self.told.get("content") if self.asked is None else self.asked
        return [item for item in shown or () if isinstance(item, acp.Diff)]

    @property
    def pinned(self) -> bool:
        """Whether an ask has shown more than refinements know: they leave the content be.

        It is not counted as told: a client may show the request apart from the call, and is sent the truth with the
        result, however alike the two are.
        """
        return self.asked is not None

    def meta(self, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """`_meta.claudeCode` of whatever is sent of this call."""
        claude_code: dict[str, Any] = {"toolName": self.name, **(more or {})}
        if self.parent is not None:
            claude_code["parentToolUseId"] = self.parent
        return {"claudeCode": claude_code}

    def change(
        self,
        claude_code: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> acp.ToolCallUpdate | None:
        """The update that tells the client what is new among these; None when it knows all of it.

        Args:
            claude_code: further members of `_meta.claudeCode`.
            extra: further members of `_meta`, which are always news.
            fields: fields of `acp.ToolCallUpdate`; None leaves a field as it is.
        """
        changed = {key: value for key, value in fields.items() if value is not None and self.told.get(key) != value}
        news = {key: value for key, value in (claude_code or {}).items() if self.told.get(_META + key) != value}
        if not changed and not news and not extra:
            return None
        self.told.update(changed)
        self.told.update({_META + key: value for key, value in news.items()})
        return acp.ToolCallUpdate(tool_call_id=self.tool_use, meta={**self.meta(news), **(extra or {})}, **changed)


@attrs.frozen
class Ended:
    """A call that is over. `late` is whether its tool's own object is still welcome: it has a result, and no object."""

    name: str
    parent: Lane
    late: bool


@attrs.define
class Calls:
    """The calls of one session."""

    cwd: str = ""
    calls: dict[str, Call] = attrs.field(factory=dict)
    streaming: dict[tuple[Lane, int], tuple[Call, PartialObject]] = attrs.field(factory=dict)
    background: set[str] = attrs.field(factory=set)  # calls whose work goes on beside the turn
    closing: bool = False  # the client closes the session: nothing goes on
    ended: dict[str, Ended] = attrs.field(factory=dict)
    tasks: dict[str, tuple[str, ...]] = attrs.field(factory=dict)  # a task -> the call that began it, and later ones
    terminals: dict[str, Call] = attrs.field(factory=dict)  # ended calls whose command still runs

    def end(self, call: Call, *, late: bool = False) -> None:
        """The call is over: nothing of it is sent any more, save what is welcome late."""
        self.calls.pop(call.tool_use, None)
        self.forget_stream(call)
        remember(self.ended, call.tool_use, Ended(call.name, call.parent, late and not call.responded))

    def learn(self, task: str, call: str) -> None:
        """A task works for a call; what a resumed subagent does names the first that it ever worked for."""
        known = self.tasks.get(task, ())
        remember(self.tasks, task, known if call in known else (*known, call))

    def forget_stream(self, call: Call) -> None:
        for place in [place for place, (other, _) in self.streaming.items() if other is call]:
            del self.streaming[place]

    @property
    def foreground(self) -> list[Call]:
        """The open calls of work that has ended: all but those of a running background subagent, and its launch."""
        return [call for call in self.calls.values() if self.closing or not self._is_beside(call)]

    def _is_beside(self, call: Call) -> bool:
        """Whether a call is work in the background: begins it, or is done in it, however deep."""
        seen: set[str] = set()
        at: Call | None = call
        while at is not None and at.tool_use not in seen:
            if at.tool_use in self.background or at.parent in self.background:
                return True
            seen.add(at.tool_use)
            at = self.calls.get(at.parent or "")
        return False


def remember(known: dict[str, Any], key: str, value: Any) -> None:
    """Keep a value, and forget the oldest ones."""
    known.pop(key, None)
    known[key] = value
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
