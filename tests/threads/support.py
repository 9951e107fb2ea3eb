"""What the tests with threads share: both ends as lists, and a stage or sink that is held until it is let go."""

from __future__ import annotations

import threading

import attrs

from middleware import Clock, Context, InFlight, Message, Outcome, Pipeline, Stage, ThreadRunner, on

SECONDS = 20.0
"""A bound for what must happen, not a time that a test spends."""

REPETITIONS = 300
"""How often a rule that a race could break is tried."""


@attrs.define
class Ends:
    """What has left the pipeline at either end."""

    client: list[Message] = attrs.field(factory=list)
    agent: list[Message] = attrs.field(factory=list)

    def runner(
        self,
        *stages: Stage,
        clock: Clock | None = None,
        lanes: tuple[int, ...] | None = None,
        in_flight: InFlight | None = None,
    ) -> ThreadRunner:
        return ThreadRunner(
            Pipeline(stages),
            to_client=self.client.append,
            to_agent=self.agent.append,
            clock=clock,
            lanes=lanes,
            in_flight=in_flight,
        )


@attrs.define
class Gate:
    """A place where a thread is held: it says that it has come, and goes on when it is let."""

    came: threading.Event = attrs.field(factory=threading.Event)
    opened: threading.Event = attrs.field(factory=threading.Event)

    def hold(self) -> None:
        self.came.set()
        assert self.opened.wait(SECONDS), "nobody opened the gate"

    def wait_held(self) -> None:
        assert self.came.wait(SECONDS), "nobody came to the gate"

    def open(self) -> None:
        self.opened.set()


@attrs.define(eq=False)
class Held(Stage):
    """Holds its thread, as no stage may, at the first message of a class; keeps all that it was given."""

    kind: type[Message]
    gate: Gate = attrs.field(factory=Gate)
    seen: list[Message] = attrs.field(factory=list)

    @on(Message)
    def _message(self, message: Message, context: Context) -> Outcome:
        if isinstance(message, self.kind) and not self.gate.came.is_set():
            self.gate.hold()
        self.seen.append(message)
        return message


def partitions(count: int) -> list[tuple[int, ...]]:
    """Every way to put `count` neighbouring stages on threads: (1, 1, 1), (1, 2), (2, 1), (3,) for three."""
    if count == 0:
        return [()]
    return [(size, *rest) for size in range(1, count + 1) for rest in partitions(count - size)]
