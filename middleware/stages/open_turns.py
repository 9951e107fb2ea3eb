"""The prompts of one session that have no answer yet, and where each stands: the state machine of the `Turns` stage.

    queued --start--> running --its result-------------------------> over
                          \\--its result, while its subagents live--> held --they are through--> over

A cancelled prompt is over at once where nothing of it runs (queued, or held without a follow-up), else when its work
has stopped. Every change of state is made here; `Turns` knows when, and gives the answers.
"""

from __future__ import annotations

from typing import Literal

import attrs
from loguru import logger

from middleware.errors import Failure
from middleware.messages import RequestId, Result, StopReason, TokenCount, TurnEnded

from .live_subagents import LiveSubagents
from .turn_outcome import is_autonomous


@attrs.define(eq=False)
class Turn:
    """A prompt on its way to its answer. `usage` is None until it runs: one that never ran has none (reference 2.6)."""

    request: RequestId
    prompt: str
    state: Literal["queued", "running", "held"] = "queued"
    cancelled: bool = False
    stop_reason: StopReason = "end_turn"
    usage: TokenCount | None = None
    model_usage: dict[str, TokenCount] = attrs.field(factory=dict)
    spawned: set[str] = attrs.field(factory=set)  # the subagents that were started while it was open

    def count(self, usage: TokenCount, by_model: tuple[tuple[str, TokenCount], ...]) -> None:
        """Add what a result used."""
        self.usage = (self.usage or TokenCount()) + usage
        for model, more in by_model:
            self.model_usage[model] = self.model_usage.get(model, TokenCount()) + more

    def answer(self, session: str, failure: Failure | None = None) -> TurnEnded:
        """The answer; of a cancelled prompt it is `cancelled`, whatever became of it, with what it has used."""
        return TurnEnded(
            session=session,
            request=self.request,
            prompt=self.prompt,
            stop_reason="cancelled" if self.cancelled else self.stop_reason,
            usage=self.usage,
            model_usage=tuple(self.model_usage.items()),
            failure=None if self.cancelled else failure,
        )


@attrs.define
class OpenTurns:
    """A session's prompts without an answer, in the order in which they came."""

    turns: list[Turn] = attrs.field(factory=list)
    subagents: LiveSubagents = attrs.field(factory=LiveSubagents)
    named: bool = False  # this Claude Code names prompts, so none that waits is ever guessed
    owed: int = 0  # answered prompts whose result an unnamed one may still be

    def find(self, prompt: str) -> Turn | None:
        return next((turn for turn in self.turns if turn.prompt == prompt), None)

    def receive(self, request: RequestId, prompt: str) -> None:
        self.turns.append(Turn(request, prompt))

    def start(self, turn: Turn) -> list[Turn]:
        """A prompt's turn begins. What was stopped or held before it is over, whatever became of its results."""
        if turn.state != "queued":
            return []
        turn.state, turn.usage, self.owed = "running", TokenCount(), 0
        return [earlier for earlier in self._before(turn) if earlier.cancelled or earlier.state == "held"]

    def spawn(self, task: str) -> None:
        """A subagent was started: by whichever prompt has begun and has no answer yet (reference S1)."""
        for turn in self.turns:
            if turn.state != "queued":
                turn.spawned.add(task)

    def ended_by(self, result: Result) -> list[Turn]:
        """The prompts that a result ends: those that it names.

        And those that began before one of them and still run: Claude Code works on one turn at a time, so they were
        folded into it by a version that names only one, or their own result is lost (reference A2).
        """
        named = [turn for turn in self.turns if turn.prompt in result.prompts]
        if named:
            before = [turn for turn in self._before(named[-1]) if turn.state == "running"]
            return [turn for turn in self.turns if turn in named or turn in before]
        return [] if result.prompts or is_autonomous(result) else self._guess(result)

    def hold(self, turn: Turn, stop_reason: StopReason) -> bool:
        """A prompt's result is there. Whether it stays open all the same, since subagents that it started live."""
        turn.stop_reason = stop_reason
        if turn.cancelled or self.is_through(turn):
            return False
        turn.state = "held"
        return True

    def is_through(self, turn: Turn) -> bool:
        return not any(self.subagents.lives(task) for task in turn.spawned)

    def held(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.state == "held"]

    def cancel(self, *, follow_up: bool) -> tuple[list[Turn], list[Turn]]:
        """Cancel all that is not cancelled yet: which prompts these are, and which of them are over at once.

        Over are, in this order: those that never began, and those that are held while no follow-up runs (C18, C22).
        """
        fresh = [turn for turn in self.turns if not turn.cancelled]
        for turn in fresh:
            turn.cancelled = True
        queued = [turn for turn in fresh if turn.state == "queued"]
        self.owed += len(queued)
        return fresh, queued + [turn for turn in fresh if turn.state == "held" and not follow_up]

    def _before(self, turn: Turn) -> list[Turn]:
        return self.turns[: self.turns.index(turn)]

    def _guess(self, result: Result) -> list[Turn]:
        """Whose result is it, where Claude Code does not say? All that runs, else the oldest if nobody is owed one."""
        guessed = [turn for turn in self.turns if turn.state == "running"]
        if not guessed and self.owed:
            self.owed -= 1
        elif not guessed and not self.named:
            guessed = [turn for turn in self.turns if turn.state == "queued"][:1]
        if guessed:
            logger.info("session {}: a result without a name is taken for {}", result.session, guessed[0].prompt)
        return guessed
