"""The four ways to run a pipeline with time standing still: in steps and on threads, by hand and under freezegun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import attrs
from freezegun import freeze_time

from middleware import Clock, ManualClock, Message, Pipeline, Stage, StepRunner, ThreadRunner
from middleware.testing import FrozenClock


@attrs.define
class Timed:
    """A pipeline whose time is moved by `wait`. `sent` is all that has left it, in the order in which it did."""

    sent: list[Message]
    feed: Callable[..., None]
    settle: Callable[[], None]
    expire: Callable[[], None]
    move: Callable[[float], None]

    def play(self, *messages: Message) -> list[Message]:
        """Feed message by message, each handled to its end; what left meanwhile."""
        before = len(self.sent)
        for message in messages:
            self.feed(message)
            self.settle()
        return self.sent[before:]

    def wait(self, seconds: float) -> list[Message]:
        """Let time pass; what left meanwhile."""
        before = len(self.sent)
        self.move(seconds)
        self.expire()
        self.settle()
        return self.sent[before:]


def _steps(pipeline: Pipeline, clock: Clock, move: Callable[[float], None]) -> Timed:
    runner = StepRunner(pipeline, clock)

    def feed(*messages: Message) -> None:
        runner.feed(*messages)

    def settle() -> None:
        runner.run()

    def expire() -> None:
        runner.expire()

    return Timed(runner.sent, feed, settle, expire, move)


def _threads(pipeline: Pipeline, clock: Clock, move: Callable[[float], None], stack: ExitStack) -> Timed:
    sent: list[Message] = []
    runner = stack.enter_context(ThreadRunner(pipeline, to_client=sent.append, to_agent=sent.append, clock=clock))

    def settle() -> None:
        assert runner.wait_idle()

    return Timed(sent, runner.feed, settle, runner.expire, move)


@contextmanager
def timed(kind: str, *stages: Stage) -> Iterator[Timed]:
    """A pipeline of these stages; `kind` is one of `KINDS`."""
    how, clock_kind = kind.split(", ")
    with ExitStack() as stack:
        clock: Clock
        if clock_kind == "by hand":
            manual = ManualClock()
            clock, move = manual, manual.advance
        else:
            frozen = stack.enter_context(freeze_time("2026-11-30", ignore=["_pytest"]))
            clock = FrozenClock(frozen)

            def move(seconds: float) -> None:
                frozen.tick(seconds)

        pipeline = Pipeline(stages)
        yield _steps(pipeline, clock, move) if how == "steps" else _threads(pipeline, clock, move, stack)


KINDS = ("steps, by hand", "steps, freezegun", "threads, by hand", "threads, freezegun")
