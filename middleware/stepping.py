"""Running a pipeline without threads: the caller says which stage moves next and when time passes.

This is how stages are tested (every order of events can be played), and what an asyncio bridge embeds: feed, `run()`,
take what came out at both ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

import attrs
from loguru import logger

from .clock import Clock, ManualClock, exact
from .errors import PipelineError
from .messages import Message, Toward
from .pipeline import Pipeline, answer_failure, close, closing_messages, handle
from .stage import Expired
from .timers import Timers


@attrs.frozen
class _Context:
    _runner: StepRunner
    _index: int

    def now(self) -> float:
        return self._runner.clock.now()

    def set_timer(self, key: Hashable, seconds: float) -> None:
        self._runner.timers.set(self._index, key, self.now() + seconds)

    def cancel_timer(self, key: Hashable) -> None:
        self._runner.timers.cancel(self._index, key)


class StepRunner:
    """A pipeline on the caller's thread.

    `client` and `agent` are what has left the pipeline at either end; take from them (or clear them) at will. `fed` is
    what was fed, and `sent` all that ever left, in order, for checks over a whole run; a bridge that runs for days
    keeps neither (`record=False`).

    A stage that raises stops a test at once: the exception comes out of the step, or of `close`. With
    `raise_failures=False` it is answered and logged as `ThreadRunner` does, which is what a bridge wants.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        clock: Clock | None = None,
        *,
        raise_failures: bool = True,
        record: bool = True,
    ) -> None:
        self.pipeline = pipeline
        self.clock: Clock = clock or ManualClock()
        self.timers = Timers()
        self.client: list[Message] = []
        self.agent: list[Message] = []
        self.fed: list[Message] = []
        self.sent: list[Message] = []
        self._raise_failures = raise_failures
        self._record = record
        self._inboxes: list[deque[Message | Expired]] = [deque() for _ in pipeline.stages]
        self._contexts = [_Context(self, index) for index in range(len(pipeline.stages))]
        self._closed = [False for _ in pipeline.stages]

    def feed(self, *messages: Message) -> StepRunner:
        """Put messages into the inbox at their end. Nothing moves yet.

        Raises:
            PipelineError: one of them is no message; none is fed then.
        """
        for index, message in [(self.pipeline.first_index(message), message) for message in messages]:
            if self._record:
                self.fed.append(message)
            self._put(index, message)
        return self

    @property
    def ready(self) -> tuple[int, ...]:
        """The indices of the stages that have something in their inbox."""
        return tuple(index for index, inbox in enumerate(self._inboxes) if inbox)

    def step(self, index: int | None = None) -> bool:
        """Let one stage handle one item of its inbox; whether one did. Without an index the first that is ready.

        Raises:
            PipelineError: the stage at `index` has nothing to do.
        """
        ready = self.ready
        if index is None:
            if not ready:
                return False
            index = ready[0]
        elif index not in ready:
            raise PipelineError(f"stage {index} has nothing in its inbox")
        item = self._inboxes[index].popleft()
        stage = self.pipeline.stages[index]
        try:
            messages = handle(stage, item, self._contexts[index])
        except Exception as error:
            if self._raise_failures:
                raise
            messages = answer_failure(stage, item, error)
        self._route(index, messages)
        return True

    def run(self) -> StepRunner:
        """Step until every inbox is empty."""
        while self.step():
            pass
        return self

    def advance(self, seconds: float) -> StepRunner:
        """Let time pass: what is in the inboxes first, then timer after timer, each at its own moment.

        Raises:
            PipelineError: the clock is not a `ManualClock` (move it yourself, then call `expire`).
        """
        clock = self.clock
        if not isinstance(clock, ManualClock):
            raise PipelineError(f"{type(clock).__name__} cannot be advanced from here: move it, then call expire()")
        self.run()
        end = exact(clock.now() + seconds)
        while (deadline := self.timers.next_deadline()) is not None and deadline <= end:
            clock.advance(max(0.0, deadline - clock.now()))
            self.expire()
        clock.advance(max(0.0, end - clock.now()))
        return self

    def expire(self) -> StepRunner:
        """Hand out the timers that are due now, behind what is in the inboxes already, and run."""
        self.run()
        while (due := self.timers.pop_due(self.clock.now())) is not None:
            self.timers.claim(due)  # the inboxes are empty, so nothing can come before it
            self._put(due.owner, Expired(due.key))
            self.run()
        return self

    def close(self) -> StepRunner:
        """Run, then close each stage, agent side first, and run what that gave. A second close does nothing."""
        self.run()
        for index in reversed(range(len(self._inboxes))):
            if not self._closed[index]:
                self._closed[index] = True
                last_words = close if self._raise_failures else closing_messages
                self._route(index, last_words(self.pipeline.stages[index], self._contexts[index]))
                self.run()
        return self

    def _route(self, index: int, messages: tuple[Message, ...]) -> None:
        for message in messages:
            following = self.pipeline.next_index(index, message)
            if following is not None:
                self._put(following, message)
            else:
                if self._record:
                    self.sent.append(message)
                (self.client if message.toward is Toward.CLIENT else self.agent).append(message)

    def _put(self, index: int, item: Message | Expired) -> None:
        if not self._closed[index]:
            self._inboxes[index].append(item)
        else:
            logger.debug("{} came for the closed stage {}", type(item).__name__, self.pipeline.stages[index].name)
