"""The subagents of one session: which of them live, and which of those in the background. No stage: stages ask it.

Built from `Task` and `TaskLevel` messages (reference 7.1, S1 to S4). Commands in the background are no business of this
module: no prompt waits for them, and nothing of theirs is streamed.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from middleware.messages import SubagentHistory, Task

REMEMBERED = 1000
"""Subagents of a session that are remembered, ended ones for the case that they are resumed (reference S3)."""


@attrs.define(eq=False)
class _Subagent:
    calls: set[str] = attrs.field(factory=set)  # that began it and gave it more: what it does names any of them
    parent: str | None = None
    background: bool = False
    run: str | None = None
    ended: bool = False
    unlisted: bool = False  # gone from the level, without a word of its end

    @property
    def lives(self) -> bool:
        return not self.ended and not self.unlisted


@attrs.define
class LiveSubagents:
    """What is known of a session's subagents, by task id (which is their agent id, too)."""

    _known: dict[str, _Subagent] = attrs.field(factory=dict)

    def take(self, message: Task) -> bool:
        """Learn from a message; whether it concerns a subagent, and is not a late word of an earlier run (S3)."""
        known = self._known.get(message.task)
        if known is None:
            if not message.subagent or message.state == "ended":
                return False
            known = self._known[message.task] = _Subagent()
            self._forget()
        elif message.run is not None and known.run is not None and message.run < known.run:
            return False
        known.run = message.run or known.run
        if message.tool_use is not None:
            known.calls.add(message.tool_use)
        known.parent = message.parent or known.parent
        if message.background is not None:
            known.background = message.background
        if message.state == "ended":
            known.ended = True
        elif known.ended and (message.subagent or message.status in ("running", "pending")):
            # Resumed, which puts it into the background unless it says otherwise (S2).
            known.ended = known.unlisted = False
            known.background = known.background if message.background is not None else True
        return True

    def remember(self, message: SubagentHistory) -> None:
        """Learn of those from before: one that is resumed names the call that began it then."""
        for past in message.subagents:
            if past.task not in self._known and past.call is not None:
                self._known[past.task] = _Subagent(calls={past.call}, parent=past.parent, ended=True)
                self._forget()

    def end(self) -> None:
        """Claude Code is gone, and all of them with it. One may be resumed by its successor."""
        for known in self._known.values():
            known.ended = True

    def level(self, listed: Iterable[str]) -> bool:
        """Learn which tasks run in the background; whether one of ours is gone without a word (S4)."""
        tasks = frozenset(listed)
        lost = False
        for name, known in self._known.items():
            if known.background and not known.ended:
                lost = lost or (known.lives and name not in tasks)
                known.unlisted = name not in tasks
        return lost

    def lives(self, task: str) -> bool:
        known = self._known.get(task)
        return known is not None and known.lives

    def in_background(self, task: str | None) -> bool:
        """Whether this is a subagent (by agent id) that lives in the background, or is waited for by one that does."""
        known = self._known.get(task) if task is not None else None
        return known is not None and known.lives and any(each.background and each.lives for each in self._line(known))

    def owns(self, *calls: str | None) -> bool:
        """Whether one of these is the call of a subagent that lives in the background (reference C27)."""
        return any(
            not known.calls.isdisjoint(calls) and self.in_background(task) for task, known in self._known.items()
        )

    def _line(self, known: _Subagent) -> list[_Subagent]:
        """A subagent and those above it; a circle, which nobody should say, ends where it closes."""
        seen: list[_Subagent] = []
        above: _Subagent | None = known
        while above is not None and above not in seen:
            seen.append(above)
            above = self._known.get(above.parent or "")
        return seen

    def _forget(self) -> None:
        if len(self._known) > REMEMBERED:
            ended = (name for name, known in self._known.items() if known.ended)
            del self._known[next(ended, next(iter(self._known)))]
