"""One session's cancel window: is it open, what is stopped work, and where does that end? The state machine of
`CancelDrop`.

    closed --cancel--> open --the stopped work has its answers--> told --new work begins--> closed

Every change of state is made here, and nothing is emitted: `CancelDrop` asks, and says what follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from middleware.messages import RequestId, Text, ToolUse

from .live_subagents import LiveSubagents

REMEMBERED = 1000
"""Tool uses whose fate is remembered in a session; the oldest is forgotten first (reference 3.1)."""


@attrs.define
class _Prompt:
    request: RequestId
    started: bool = False


@attrs.define
class _Use:
    """A tool use that the stream has reached."""

    call: str
    parent: str | None
    dropped: bool


@attrs.define
class CancelWindow:
    """The window of a session, and what must be known to close it at the right place."""

    state: Literal["closed", "open", "told"] = "closed"
    subagents: LiveSubagents = attrs.field(factory=LiveSubagents)
    _prompts: dict[str, _Prompt] = attrs.field(factory=dict)  # without an answer
    _busy: bool = False  # Claude Code works, with or without a prompt
    _stopped: set[str] = attrs.field(factory=set)  # the prompts that this window's cancels cover
    _unasked: bool = False  # what the cancel stopped is work that no prompt asked for: only an idle ends it
    _lists: bool = False  # this Claude Code says whom a request to the model serves
    _uses: dict[str, _Use] = attrs.field(factory=dict)  # the first record wins
    _cut: dict[str | None, str] = attrs.field(factory=dict)  # lane -> the message of which a piece was dropped

    # ------------------------------------------------------------------------------------------ opening

    def receive(self, prompt: str, request: RequestId) -> None:
        self._prompts[prompt] = _Prompt(request)

    def prompt_of(self, request: RequestId) -> str | None:
        """The prompt that waits for the answer of this request."""
        return next((name for name, prompt in self._prompts.items() if prompt.request == request), None)

    def covers(self, prompt: str) -> bool:
        """Whether a cancel stops this prompt already."""
        return prompt in self._stopped

    def cancel(self) -> None:
        """Open, over all prompts without an answer and what runs. When nothing runs there is nothing to hide.

        In an open window nothing new has started, so what was told stays told: a second cancel over a prompt that waits
        must not let the first one's leftovers through.
        """
        if self.state == "closed" and (self._prompts or self._busy):
            self.state = "open"
            self._unasked = self._busy and not any(prompt.started for prompt in self._prompts.values())
        if self.state != "closed":
            self._stopped |= set(self._prompts)

    # ------------------------------------------------------------------------------------------ told

    def answered(self, prompt: str) -> bool:
        """A prompt has its answer; whether it is the last of the stopped ones, so that the client is told now."""
        self._prompts.pop(prompt, None)
        return self.state == "open" and prompt in self._stopped and not self._stopping

    def works(self, busy: bool) -> bool:
        """Claude Code works or is idle; whether stopped work that no prompt had asked for ended with that."""
        self._busy = busy
        self._unasked = self._unasked and busy
        return self.state == "open" and not busy and not self._stopping

    def tell(self) -> None:
        """Nothing more of what was reached so far: its calls are closed, so from here on it counts as dropped."""
        self.state = "told"
        for use in self._uses.values():
            use.dropped = use.dropped or not self.subagents.owns(use.call, use.parent)

    @property
    def _stopping(self) -> bool:
        return any(prompt in self._prompts for prompt in self._stopped)

    # ------------------------------------------------------------------------------------------ closing

    def starts(self, prompt: str) -> bool:
        """A prompt has begun; whether it is new work, which closes the window (C40)."""
        known = self._prompts.get(prompt)
        if known is None:
            return False
        known.started = True
        return self.state != "closed" and prompt not in self._stopped

    def requests(self, prompts: Iterable[str] | None) -> bool:
        """The model is asked, for these prompts; whether that is new work, which closes the window (C41).

        Claude Code must say whom its requests serve; one that does, and names nobody, serves itself. While work that
        nobody asked for is being stopped, such a request may still be its own.
        """
        self._lists = self._lists or prompts is not None
        serves_stopped = self._unasked or not self._lists or not self._stopped.isdisjoint(prompts or ())
        return self.state == "told" and not serves_stopped

    def close(self) -> None:
        self.state = "closed"
        self._unasked = False
        self._stopped.clear()

    # ------------------------------------------------------------------------------------------ what is stopped work

    def drops(self, *calls: str | None) -> bool:
        """Whether what comes now is dropped; `calls` are the calls that it is about, or comes from."""
        return self.state == "told" and not self.subagents.owns(*calls)

    def drops_of(self, tool_use: str, parent: str | None) -> bool:
        """Whether what follows a tool use is dropped: as the tool use was, where the stream has reached it."""
        dropped = self.dropped(tool_use)
        return self.drops(tool_use, parent) if dropped is None else dropped

    def fails(self, *calls: str | None) -> bool:
        """Whether a result that comes now is that of a tool which was stopped."""
        return self.state == "open" and not self.subagents.owns(*calls)

    def stops(self, agent: str | None) -> bool:
        """Whether a tool that is about to run now belongs to stopped work."""
        return self.state != "closed" and not self.subagents.in_background(agent)

    def reach(self, message: ToolUse) -> bool:
        """The stream comes to a tool use; whether it is dropped. Its first record wins."""
        dropped = self.drops(message.tool_use, message.parent)
        use = self._uses.setdefault(message.tool_use, _Use(message.tool_use, message.parent, dropped))
        while len(self._uses) > REMEMBERED:
            del self._uses[next(iter(self._uses))]
        return use.dropped

    def dropped(self, tool_use: str | None) -> bool | None:
        """Whether a tool use was dropped; None for one that the stream has not reached."""
        use = self._uses.get(tool_use) if tool_use is not None else None
        return use.dropped if use is not None else None

    def hides(self, text: Text) -> bool:
        """Whether text is dropped. A message of which a piece was is shown when it is complete, or not at all (C31)."""
        if text.whole:
            return self.drops(text.parent)
        if self.drops(text.parent):
            if text.message is None:
                return True  # nobody knows whether the next piece is of the same message: it is dropped for itself
            self._cut[text.parent] = text.message
        return text.parent in self._cut and self._cut[text.parent] == text.message

    def next_message(self, lane: str | None) -> None:
        """A message of a lane (a subagent's call, or None) begins, or is complete: what was cut is over."""
        self._cut.pop(lane, None)
