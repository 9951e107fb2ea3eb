"""The prompts that one Claude Code was given: has it taken them, which of them run, which were stopped, which are over.

For the case that this Claude Code dies, or that another one takes its place: what it never took, or still has in its
queue, is its successor's. Which prompt is answered when, and how, is the `Turns` stage's business. No waiting, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from middleware.messages import Prompt

from .members import text_in

REMEMBERED = 256
"""Prompts that are remembered: far more than anybody queues."""

_OVER = frozenset({"cancelled", "discarded", "refused"})


@attrs.define
class _Given:
    prompt: Prompt  # without its content when it is over: that may be megabytes of images
    taken: bool = False  # Claude Code said something of it
    runs: bool = False
    completed: bool = False  # of one that was folded into a turn before the result
    stopped: bool = False
    over: bool = False

    def end(self) -> None:
        self.over, self.prompt = True, attrs.evolve(self.prompt, content=(), meta=None)


@attrs.define
class GivenPrompts:
    """The prompts, in the order in which they were given."""

    _given: dict[str, _Given] = attrs.field(factory=dict)

    def give(self, prompt: Prompt) -> None:
        self._given[prompt.prompt] = _Given(prompt)
        if len(self._given) > REMEMBERED:
            del self._given[next(iter(self._given))]

    def stop(self, prompts: Iterable[str]) -> None:
        """An interrupt named them: they must not run, whether or not Claude Code has taken them."""
        for prompt in prompts:
            if prompt in self._given:
                self._given[prompt].stopped = True

    def observe(self, frame: Mapping[str, Any]) -> None:
        """Read along with what Claude Code writes."""
        kind = frame.get("type")
        if kind == "command_lifecycle":
            given = self._given.get(str(frame.get("command_uuid")))
            if given is not None:
                given.taken = True
                given.runs = given.runs or frame.get("state") == "started"
                given.completed = given.completed or frame.get("state") == "completed"
                if text_in(frame, "state") in _OVER:
                    given.end()
        elif kind == "result":
            several = frame.get("user_message_uuids")
            self._end(several if isinstance(several, list) and several else [frame.get("user_message_uuid")])
        elif kind == "system" and frame.get("subtype") == "session_state_changed" and frame.get("state") == "idle":
            self._end([name for name, given in self._given.items() if given.runs or given.completed])

    def _end(self, named: list[Any]) -> None:
        """What a result names is over, and what ran before it: Claude Code works on one turn at a time."""
        names = list(self._given)
        last = max((names.index(name) for name in named if name in self._given), default=-1)
        for number, (name, given) in enumerate(self._given.items()):
            if not given.over and (name in named or (number < last and given.runs)):
                given.end()

    @property
    def names(self) -> list[str]:
        """All of them, also those that are over: a turn may be held beyond its result."""
        return list(self._given)

    @property
    def late(self) -> list[Prompt]:
        """Those that it never took, and that nobody stopped."""
        open_ = (given for given in self._given.values() if not given.taken and not given.over)
        return [given.prompt for given in open_ if not given.stopped]

    @property
    def running(self) -> list[Prompt]:
        """Those whose turn it is: several where Claude Code folded them into one."""
        return [given.prompt for given in self._given.values() if given.runs and not given.over]

    @property
    def waiting(self) -> list[Prompt]:
        """Those that are still to be run."""
        open_ = (given for given in self._given.values() if not given.runs and not given.over)
        return [given.prompt for given in open_ if not given.stopped]

    @property
    def stopped(self) -> list[str]:
        """Those that an interrupt named."""
        return [name for name, given in self._given.items() if given.stopped]
