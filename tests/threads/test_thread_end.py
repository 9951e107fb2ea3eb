"""The end of a `ThreadRunner`: a round trip that handles what was fed, closes each stage once, and leaves no thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import attrs
import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, Stage, StepRunner, ThreadRunner
from middleware.errors import PipelineError
from tests.core import Does, Down, Echo, Log, Pass, Up, logged
from tests.threads.support import REPETITIONS, SECONDS, Ends, Held, partitions


@attrs.define(eq=False)
class LastWords(Stage):
    """Says `Down(number)`, and in vain `Up(number)`, at its end."""

    number: int
    ends: list[int] = attrs.field(factory=list)

    def close(self, context: Context) -> Iterable[Message]:
        self.ends.append(self.number)
        return Down(number=self.number), Up(number=self.number)


# --------------------------------------------------------------------------------------------- the round trip


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_the_end_comes_from_the_agent_side(lanes: tuple[int, ...]) -> None:
    """Stages are closed from the agent to the client, each once, whatever shares a thread, also when closed twice."""
    closed: list[int] = []
    runner = Ends().runner(*(LastWords(number, closed) for number in range(3)), lanes=lanes).start()
    runner.close()
    runner.close()
    assert closed == [2, 1, 0]


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_last_words_reach_the_client(lanes: tuple[int, ...]) -> None:
    """What `close` gives passes the stages toward the client before they are closed, as in `StepRunner`."""
    ends, near = Ends(), Log()
    with ends.runner(near, LastWords(1), LastWords(2), lanes=lanes):
        pass
    assert near.seen == ends.client == [Down(number=2), Down(number=1)]
    assert ends.agent == [Up(number=2)]


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_what_was_fed_is_handled(lanes: tuple[int, ...]) -> None:
    """Many times: what was fed before the end reaches its far end, in both directions, before the last words."""
    for _ in range(REPETITIONS // 8):
        ends = Ends()
        ups, downs = [Up(number=n) for n in range(10)], [Down(number=10 + n) for n in range(10)]
        with ends.runner(LastWords(-1), Pass(), Pass(), lanes=lanes) as runner:
            for up, down in zip(ups, downs, strict=True):
                runner.feed(up, down)
        assert ends.agent == ups
        assert ends.client == [*downs, Down(number=-1)]


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_what_waits_behind_a_slow_stage_is_handled(lanes: tuple[int, ...]) -> None:
    """A close that begins while a stage is busy waits for it and for what stands behind it."""
    ends, held = Ends(), Held(Up)
    runner = ends.runner(held, Pass(), Pass(), lanes=lanes).start()
    runner.feed(Up(number=0), Up(number=1), Up(number=2))
    held.gate.wait_held()
    closing = threading.Thread(target=runner.close)
    closing.start()
    held.gate.open()
    closing.join(SECONDS)
    assert ends.agent == [Up(number=number) for number in range(3)]


@pytest.mark.usefixtures("switching")
def test_an_agent_that_answers_at_once_is_heard() -> None:
    """What the agent's sink feeds while it takes what was fed before the end still reaches the client."""

    def closed_at_once() -> list[Message]:
        client: list[Message] = []
        runner = ThreadRunner(
            Pipeline([Pass(), Pass()]), to_client=client.append, to_agent=lambda message: runner.feed(Down(number=5))
        )
        with runner:
            runner.feed(Up(), Up())
        return client

    for _ in range(REPETITIONS // 8):
        assert closed_at_once() == [Down(number=5), Down(number=5)]


# --------------------------------------------------------------------------------------------- before and after


def test_a_runner_starts_once() -> None:
    """Starting a second time is an error, while it runs and when it is closed."""
    runner = Ends().runner(Pass()).start()
    with pytest.raises(PipelineError, match="starts once; this one is running"):
        runner.start()
    runner.close()
    with pytest.raises(PipelineError, match="starts once; this one is closed"):
        runner.start()


def test_a_runner_that_never_started_can_be_closed() -> None:
    """Closing it closes no stage and is no error; what was fed is gone; it cannot be started any more."""
    closed: list[int] = []
    runner = Ends().runner(LastWords(1, closed))
    runner.feed(Up())
    runner.close()
    assert closed == []
    assert runner.wait_idle(0)
    with pytest.raises(PipelineError, match="closed"):
        runner.start()


def test_what_comes_after_the_end_does_no_harm() -> None:
    """What is fed after the end goes nowhere, is no error, and is not on its way; the log mentions it."""
    ends = Ends()
    with ends.runner(Pass(), Pass()) as runner:
        pass
    with logged() as entries:
        runner.feed(Up(), Down())
    assert ends.client == ends.agent == []
    assert runner.wait_idle(0)
    assert entries == ["DEBUG 2 messages or timers came after the end and are lost\n"]


@pytest.mark.usefixtures("switching")
def test_what_is_fed_during_the_end_does_no_harm() -> None:
    """A source that feeds on and on, without asking, keeps no runner from its end, and leaves nothing on its way."""

    def closed_under_fire() -> ThreadRunner:
        runner = Ends().runner(Pass(), Echo(), Pass()).start()
        started, over = threading.Event(), threading.Event()

        def feed() -> None:
            while not over.is_set():
                runner.feed(Up(), Down())
                started.set()

        source = threading.Thread(target=feed)
        source.start()
        assert started.wait(SECONDS)
        runner.close()
        over.set()
        source.join(SECONDS)
        return runner

    for _ in range(10):
        assert closed_under_fire().wait_idle(0)


@pytest.mark.parametrize("lanes", partitions(2), ids=str)
def test_a_closed_stage_is_given_nothing(lanes: tuple[int, ...]) -> None:
    """A message that another stage sends to one that is closed already is dropped, and the log mentions it."""
    far = Log()

    class Stubborn(Stage):
        def close(self, context: Context) -> Iterable[Message]:
            return [Up(number=9)]

    with logged() as entries, Ends().runner(Stubborn(), far, lanes=lanes) as runner:
        pass
    assert far.seen == []
    assert [entry.split()[0] for entry in entries] == ["DEBUG"]
    assert runner.wait_idle(0)


def test_no_thread_is_left() -> None:
    """Every thread has a name while it runs, and has ended when `close` comes back."""
    before = set(threading.enumerate())
    with Ends().runner(Pass(), Echo(), Pass()):
        names = {thread.name for thread in threading.enumerate() if thread not in before}
        assert names == {"stage 0 Pass", "stage 1 Echo", "stage 2 Pass", "timers"}
    assert set(threading.enumerate()) == before


def test_an_error_in_the_block_closes_the_runner() -> None:
    """Leaving the `with` block by an exception closes the runner and lets the exception out."""
    ends = Ends()
    with pytest.raises(KeyError), ends.runner(LastWords(1)):
        raise KeyError
    assert ends.client == [Down(number=1)]


# --------------------------------------------------------------------------------------------- failures


def refusing(first: Exception, second: Exception) -> tuple[ThreadRunner, list[Message]]:
    taken: list[Message] = []

    def take(message: Message) -> None:
        if message == Down(number=1):
            raise first
        if message == Down(number=2):
            raise second
        taken.append(message)

    return ThreadRunner(Pipeline([Pass(), Pass()]), to_client=take, to_agent=taken.append), taken


def test_a_sink_that_raises_is_heard_of() -> None:
    """`close` raises what a sink raised first; until then, and for all other messages, the pipeline goes on."""
    first, second = OSError("broken pipe"), OSError("still broken")
    runner, taken = refusing(first, second)
    with logged() as entries:
        runner.start().feed(Down(number=1), Down(number=2), Down(number=3), Up(number=4))
        assert runner.wait_idle(SECONDS)
        assert sorted(map(repr, taken)) == [repr(Down(number=3)), repr(Up(number=4))]
        with pytest.raises(OSError, match="broken pipe") as raised:
            runner.close()
    assert raised.value is first
    assert [entry.startswith("ERROR the CLIENT end refused Down") for entry in entries] == [True, True]
    runner.close()


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_a_stage_that_fails_to_close_harms_nobody(lanes: tuple[int, ...]) -> None:
    """A stage whose `close` raises is logged; the others are closed, and the threads end."""

    class Raises(Stage):
        def close(self, context: Context) -> Iterable[Message]:
            raise RuntimeError("no")

    ends = Ends()
    with logged() as entries, ends.runner(LastWords(0), Raises(), LastWords(2), lanes=lanes):
        pass
    assert ends.client == [Down(number=2), Down(number=0)]
    assert [entry for entry in entries if entry.startswith("ERROR stage Raises failed to close: RuntimeError")]


def test_a_sink_cannot_close_the_runner() -> None:
    """`close` on one of the runner's own threads would wait for itself: it is an error, and the runner runs on."""
    ends = Ends()

    def take(message: Message) -> None:
        ends.client.append(message)
        if message == Down(number=1):
            runner.close()

    runner = ThreadRunner(Pipeline([Pass()]), to_client=take, to_agent=ends.agent.append).start()
    with logged():
        runner.feed(Down(number=1), Down(number=2))
        assert runner.wait_idle(SECONDS)
    assert ends.client == [Down(number=1), Down(number=2)]
    with pytest.raises(PipelineError, match="have another one call close"):
        runner.close()


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_who_ends_its_thread_ends_the_pipeline(place: int, lanes: tuple[int, ...]) -> None:
    """A stage that exits its thread is logged, releases the sources, blocks no `close`, and comes out of it."""

    def leave(item: Message | Expired, context: Context) -> Outcome:
        if item == Up(number=1):
            raise SystemExit(3)
        return item if isinstance(item, Message) else None

    stages = [Does(leave) if index == place else Pass() for index in range(3)]
    with logged() as entries:
        runner = Ends().runner(*stages, lanes=lanes).start()
        runner.in_flight.change(2000)
        runner.feed(Up(number=1), Up(number=2))
        assert runner.wait_room(SECONDS)
        with pytest.raises(SystemExit):
            runner.close()
    assert [entry for entry in entries if entry.startswith("CRITICAL the thread of stage")]


# --------------------------------------------------------------------------------------------- as step by step


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_the_end_is_that_of_a_step_runner(lanes: tuple[int, ...]) -> None:
    """The same messages, then the end, leave the same at both ends as with `StepRunner`."""

    def stages() -> list[Stage]:
        return [LastWords(-1), Echo(), LastWords(-3)]

    stepped = StepRunner(Pipeline(stages())).feed(*(Up(number=number) for number in range(5))).close()
    ends = Ends()
    with ends.runner(*stages(), lanes=lanes) as runner:
        runner.feed(*(Up(number=number) for number in range(5)))
    assert (ends.client, ends.agent) == (stepped.client, stepped.agent)
