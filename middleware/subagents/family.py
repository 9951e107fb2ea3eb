"""A session and its subagents: who they are, whose call began each, and where each stands.

A child's session id is its task id, which is its agent id too; it keeps it for every delegation to it. All tables are
bounded: of the children an ended one is forgotten first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs

from middleware.messages import PastSubagent, Task

from . import configuration
from .calls import LAUNCHES, HiddenCall
from .waiting import Waiting

CHILDREN = 1000
CALLS = 2048
PLACES = 64

ENDS: dict[str, str] = {
    "completed": "end_turn",
    "killed": "cancelled",
    "cancelled": "cancelled",
    "stopped": "cancelled",
    "failed": "error",
}
"""How Claude Code says that a task ended -> the stop reason of its child session (W2)."""


@attrs.define(eq=False)
class Child:
    """A subagent. `parent` is the session that it belongs to: of who called it, None as long as that is not known."""

    session: str
    parent: str | None = None
    call: str | None = None  # the delegation that it works on
    name: str | None = None
    purpose: str | None = None
    kind: str | None = None
    prompt: str | None = None
    announced: bool = False
    state: Literal["running", "requires_action", "idle"] = "running"
    background: bool = False
    run: str | None = None
    past_calls: set[str] = attrs.field(factory=set)
    told: set[str] = attrs.field(factory=set)  # the messages to it that were shown, by id
    unnamed: int = 0  # the prompts to it that no call has given
    asks: dict[str, int] = attrs.field(factory=dict)  # open ones -> the cancels that had come before
    handed_back: bool = False
    cwd: str | None = None
    homeless: bool = False  # the directory of its own is no longer there
    cancels: int = 0
    stop_reason: str | None = None  # of one that is idle
    error: str | None = None
    error_owed: bool = False  # it failed, and nobody said why
    settings: configuration.Settings = attrs.field(factory=configuration.Settings)

    @property
    def title(self) -> str | None:
        return self.name or self.purpose or self.kind

    @property
    def description(self) -> str | None:
        return self.kind if self.kind != self.title else None

    def next_prompt(self) -> str:
        """The id of a prompt that no call has given (A2)."""
        self.unnamed += 1
        return f"{self.session}:prompt:{self.unnamed}"

    @property
    def works(self) -> bool:
        return self.state != "idle"

    def is_late(self, message: Task) -> bool:
        """Whether a word is of an earlier run of it, or of an earlier delegation (S3, W4)."""
        if message.run is not None and self.run is not None:
            return message.run < self.run
        return message.state == "ended" and message.tool_use in self.past_calls


@attrs.define(eq=False)
class Family:
    """The subagents of one session, which is the `root`. `replay`: all that is told of them is past."""

    root: str
    replay: bool = False
    cwd: str = ""
    offer: configuration.Offer = attrs.field(factory=configuration.Offer)
    children: dict[str, Child] = attrs.field(factory=dict)
    hidden: dict[str, HiddenCall] = attrs.field(factory=dict)  # by tool use
    owners: dict[str, str] = attrs.field(factory=dict)  # a call -> the session that has it
    asks: dict[str, Child] = attrs.field(factory=dict)
    past: dict[str, PastSubagent] = attrs.field(factory=dict)
    places: dict[str, str] = attrs.field(factory=dict)  # of agents that are not known yet
    waiting: Waiting = attrs.field(factory=Waiting)
    cancels: int = 0

    def begun_by(self, call: str | None) -> Child | None:
        """The child whose current or earlier delegation a call is."""
        if call is None:
            return None
        for child in self.children.values():
            if child.call == call or call in child.past_calls:
                return child
        return None

    def named(self, name: str | None) -> Child | None:
        """The child of this id or title."""
        if name is None:
            return None
        known = self.children.get(name) or self.children.get(name.removeprefix("agent-"))
        return known or next((child for child in self.children.values() if child.title == name), None)

    def session_of(self, lane: str | None) -> str | None:
        """The session of what a call began; None when the client was not told of it yet."""
        if lane is None:
            return self.root
        child = self.begun_by(lane)
        return child.session if child is not None and child.announced else None

    def add(self, child: Child) -> None:
        self.children[child.session] = child
        if len(self.children) > CHILDREN:
            over = (name for name, known in self.children.items() if not known.works)
            del self.children[next(over, next(iter(self.children)))]

    def hide(self, hidden: HiddenCall) -> None:
        keep(self.hidden, hidden.tool_use, hidden)

    def own(self, tool_use: str, session: str) -> None:
        keep(self.owners, tool_use, session)

    def learn(self, child: Child, message: Task) -> None:
        """Take over what a frame says of a child, and what the call that began it says (R1)."""
        launch = self.hidden.get(child.call or "")
        launch = launch if launch is not None and launch.name in LAUNCHES else None
        child.kind = message.subagent_type or child.kind or (launch.member("subagent_type") if launch else None)
        child.purpose = message.description or child.purpose or (launch.member("description") if launch else None)
        child.name = child.name or (launch.member("name") if launch else None)
        child.prompt = message.prompt or child.prompt or (launch.member("prompt") if launch else None)
        if message.background is not None:
            child.background = message.background
        elif launch is not None and launch.input.get("run_in_background") is True:
            child.background = True

    def cancels_over(self, child: Child) -> int:
        """The cancels that have reached a child: its own, and those of all above it."""
        return self.cancels + sum(each.cancels for each in self._line(child.session))

    def cwd_of(self, session: str | None) -> str:
        """Where a session works: where that is not known, where its parent does."""
        for child in self._line(session):
            if child.cwd is not None:
                return child.cwd
        return self.cwd

    def lineage(self, task: str) -> list[PastSubagent]:
        """A child from before, behind those above it that the client was not told of, the uppermost first.

        Nothing where somebody in the line is not known, or stands above himself: no parent is guessed (7.8).
        """
        line: list[PastSubagent] = []
        at: str | None = task
        while at is not None:
            known, past = self.children.get(at), self.past.get(at)
            if known is not None and known.announced:
                break
            if past is None or past in line:
                return []
            line.insert(0, past)
            at = past.parent
        return line

    def _line(self, session: str | None) -> Iterator[Child]:
        """A child and those above it."""
        seen: set[str] = set()
        child = self.children.get(session or "")
        while child is not None and child.session not in seen:
            seen.add(child.session)
            yield child
            child = self.children.get(child.parent or "")


def keep(table: dict[str, Any], key: str, value: Any) -> None:
    """Keep a value, and forget the oldest."""
    table.pop(key, None)
    table[key] = value
    while len(table) > CALLS:
        del table[next(iter(table))]
