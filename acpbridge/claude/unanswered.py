"""The prompts that one Claude Code was given and has not ended: which of them runs, and which was stopped.

Only for the case that another Claude Code takes its place (`successor`): which prompt is answered when, and how, is the
`Turns` stage's business. No waiting, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from middleware.messages import Prompt

MOST = 256
"""Prompts that are remembered: far more than anybody queues."""

_OVER = frozenset({"cancelled", "discarded", "refused"})


@attrs.define
class _Given:
    prompt: Prompt
    runs: bool = False
    stopped: bool = False


@attrs.define
class Unanswered:
    """The prompts, in the order in which they were given."""

    _given: dict[str, _Given] = attrs.field(factory=dict)

    def give(self, prompt: Prompt) -> None:
        self._given[prompt.prompt] = _Given(prompt)
        if len(self._given) > MOST:
            del self._given[next(iter(self._given))]

    def stop(self, prompts: Iterable[str]) -> None:
        """An interrupt named them."""
        for prompt in prompts:
            if prompt in self._given:
                self._given[prompt].stopped = True

    def observe(self, frame: Mapping[str, Any]) -> None:
        """Read along with what Claude Code writes."""
        kind = frame.get("type")
        if kind == "command_lifecycle":
            name, state = str(frame.get("command_uuid")), frame.get("state")
            if state == "started" and name in self._given:
                self._given[name].runs = True
            elif state in _OVER:
                self._given.pop(name, None)
        elif kind == "result":
            self._end(frame.get("user_message_uuids") or [frame.get("user_message_uuid")])
        elif kind == "system" and frame.get("subtype") == "session_state_changed" and frame.get("state") == "idle":
            self._end([name for name, given in self._given.items() if given.runs])

    def _end(self, named: Any) -> None:
        """What a result names is over, and what ran before it: Claude Code works on one turn at a time."""
        names = list(self._given)
        last = max((names.index(name) for name in named if name in self._given), default=-1)
        for number, name in enumerate(names):
            if name in named or (number < last and self._given[name].runs):
                del self._given[name]

    @property
    def running(self) -> list[Prompt]:
        """Those whose turn it is: several where Claude Code folded them into one."""
        return [given.prompt for given in self._given.values() if given.runs]

    @property
    def waiting(self) -> list[Prompt]:
        """Those that are still to be run."""
        return [given.prompt for given in self._given.values() if not given.runs and not given.stopped]

    @property
    def stopped(self) -> list[str]:
        """Those that an interrupt named."""
        return [name for name, given in self._given.items() if given.stopped]
