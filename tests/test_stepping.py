"""The rules of `StepRunner`: nothing moves unasked, every order can be played, and it ends as the threads do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import attrs
import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, Stage, StepRunner
from middleware.errors import PipelineError
from middleware.messages import RequestFailed
from middleware.testing import schedules
from tests.core import Alarm, Does, Down, Echo, Fails, Log, Pass, Up, Wish, logged

# --------------------------------------------------------------------------------------------- stepping


def test_nothing_moves_unasked() -> None:
    """What is fed waits in the inbox at its end until somebody steps."""
    runner = StepRunner(Pipeline([Pass(), Pass(), Pass()])).feed(Up(), Down())
    assert runner.ready == (0, 2)
    assert runner.sent == []


def test_a_step_is_one_message_of_one_stage() -> None:
    """`step(index)` moves one message to its next place, in the stage that was named."""
    runner = StepRunner(Pipeline([Pass(), Pass()])).feed(Up(number=1), Up(number=2), Down())
    assert runner.step(1)
    assert list(runner.ready) == [0]
    assert runner.step(0)
    assert list(runner.ready) == [0, 1]
    assert (runner.client, runner.agent) == ([], [])
    assert runner.step(1)
    assert runner.agent == [Up(number=1)]


def test_a_step_without_an_index_takes_the_first() -> None:
    """`step()` lets the ready stage nearest the client move, and says when there is none."""
    runner = StepRunner(Pipeline([Pass(), Pass()])).feed(Down(), Up())
    assert runner.step()
    assert runner.ready == (1,)
    assert [runner.step() for _ in range(4)] == [True, True, True, False]


def test_a_stage_without_work_cannot_step() -> None:
    """`step(index)` of a stage with an empty inbox is an error: the test that asks for it is wrong."""
    with pytest.raises(PipelineError, match="stage 1 has nothing in its inbox"):
        StepRunner(Pipeline([Pass(), Pass()])).feed(Up()).step(1)


def test_what_left_is_kept() -> None:
    """`client` and `agent` are what left at either end; `fed` and `sent` are all of it, also when those are cleared."""
    runner = StepRunner(Pipeline([Echo()])).feed(Up(number=1)).run()
    assert (runner.client, runner.agent) == ([Down(number=1)], [Up(number=1)])
    runner.client.clear()
    runner.agent.clear()
    runner.feed(Up(number=2), Down(number=3)).run()
    assert runner.fed == [Up(number=1), Up(number=2), Down(number=3)]
    assert runner.sent == [Up(number=1), Down(number=1), Up(number=2), Down(number=2), Down(number=3)]
    assert (runner.client, runner.agent) == ([Down(number=2), Down(number=3)], [Up(number=2)])


def test_a_bridge_keeps_no_record() -> None:
    """With `record=False` nothing grows with the number of messages: only what nobody took yet is kept."""
    runner = StepRunner(Pipeline([Echo()]), record=False).feed(Up(number=1)).run()
    assert (runner.fed, runner.sent) == ([], [])
    assert (runner.client, runner.agent) == ([Down(number=1)], [Up(number=1)])


# --------------------------------------------------------------------------------------------- order


def test_every_schedule_keeps_each_direction() -> None:
    """Whichever stage moves when: between neighbours, per direction, the order is kept; so it is at both ends."""
    ups, downs = [Up(number=1), Up(number=2)], [Down(number=1), Down(number=2)]
    played = 0
    for runner in schedules(lambda: StepRunner(Pipeline([Log(), Log(), Log()])).feed(*ups, *downs)):
        for stage in runner.pipeline.stages:
            assert isinstance(stage, Log)
            assert [message for message in stage.seen if isinstance(message, Up)] == ups
            assert [message for message in stage.seen if isinstance(message, Down)] == downs
        assert (runner.agent, runner.client) == (ups, downs)
        played += 1
    assert played == 3444


def test_every_schedule_has_a_reply_in_its_place() -> None:
    """In every schedule a middle stage's replies come in the order of what they answer, on the client's side only."""
    ups = [Up(number=1), Up(number=2)]
    orders: set[tuple[int, ...]] = set()
    for runner in schedules(lambda: StepRunner(Pipeline([Log(), Echo(), Log()])).feed(*ups, Down(number=9))):
        near, _, far = runner.pipeline.stages
        assert isinstance(near, Log)
        assert isinstance(far, Log)
        assert [message for message in far.seen if isinstance(message, Down)] == [Down(number=9)]
        orders.add(tuple(message.number for message in near.seen if isinstance(message, Down)))
    assert orders == {(9, 1, 2), (1, 9, 2), (1, 2, 9)}, "directions meet in any order, and each keeps its own"


# --------------------------------------------------------------------------------------------- failures


def test_a_failure_stops_a_test() -> None:
    """By default what a stage raises comes out of the step, and nothing of its message is left anywhere."""

    def act(item: Message | Expired, context: Context) -> Outcome:
        if isinstance(item, Wish):
            raise RuntimeError("no")
        return cast(Message, item)

    runner = StepRunner(Pipeline([Log(), Does(act)])).feed(Wish(), Up())
    with pytest.raises(RuntimeError, match="no"):
        runner.run()
    assert runner.sent == []
    assert runner.step(1)
    assert runner.agent == [Up()], "what had not been handled yet"


def test_a_failure_is_answered_on_demand() -> None:
    """With `raise_failures=False` a request that a stage fails on is answered, an event dropped, and all goes on."""
    runner = StepRunner(Pipeline([Pass(), Fails()]), raise_failures=False)
    with logged() as entries:
        runner.feed(Wish(request=3), Up(), Down(), Wish(request=4)).run()
    assert [message.request for message in runner.client if isinstance(message, RequestFailed)] == [3, 4]
    assert len(runner.sent) == 2
    assert len(entries) == 4


# --------------------------------------------------------------------------------------------- the end


@attrs.define(eq=False)
class LastWords(Stage):
    """Says `Down(number)`, and in vain `Up(number)`, at its end."""

    number: int
    ends: list[int] = attrs.field(factory=list)

    def close(self, context: Context) -> Iterable[Message]:
        self.ends.append(self.number)
        return Down(number=self.number), Up(number=self.number)


def test_the_end_comes_from_the_agent_side() -> None:
    """Stages are closed from the agent to the client, each once, also when the runner is closed twice."""
    ends: list[int] = []
    runner = StepRunner(Pipeline([LastWords(0, ends), LastWords(1, ends), LastWords(2, ends)]))
    runner.close().close()
    assert ends == [2, 1, 0]


def test_last_words_reach_the_client() -> None:
    """What `close` gives passes the stages toward the client before they are closed; the agent is closed already."""
    near = Log()
    runner = StepRunner(Pipeline([near, LastWords(1), LastWords(2)])).close()
    assert near.seen == [Down(number=2), Down(number=1)]
    assert runner.client == [Down(number=2), Down(number=1)]
    assert runner.agent == [Up(number=2)], "only the last stage's, behind which there is no stage"


def test_the_end_handles_what_waits() -> None:
    """What is in the inboxes is handled before the first stage is closed."""
    runner = StepRunner(Pipeline([LastWords(0), Pass()])).feed(Up(number=5), Down(number=5)).close()
    assert runner.client == [Down(number=5), Down(number=0)]
    assert runner.agent == [Up(number=5)]


def test_a_failing_end_stops_a_test() -> None:
    """By default what `close` raises comes out; a second call closes the rest. On demand it is logged instead."""

    class Raises(Stage):
        def close(self, context: Context) -> Iterable[Message]:
            raise RuntimeError("no")

    runner = StepRunner(Pipeline([LastWords(0), Raises()]))
    with pytest.raises(RuntimeError, match="no"):
        runner.close()
    assert runner.close().client == [Down(number=0)]
    with logged() as entries:
        quiet = StepRunner(Pipeline([LastWords(0), Raises()]), raise_failures=False).close()
    assert quiet.client == [Down(number=0)]
    assert [entry for entry in entries if entry.startswith("ERROR stage Raises failed to close")]


def test_what_comes_after_the_end_does_no_harm() -> None:
    """Messages that are fed, and timers that are due, after the end go nowhere and are no error."""
    stage = Alarm()
    runner = StepRunner(Pipeline([stage, Pass()])).feed(Up(number=1)).close()
    with logged() as entries:
        runner.feed(Up(), Down()).advance(100.0)
    assert runner.ready == ()
    assert runner.sent == []
    assert stage.expired == []
    assert all(entry.startswith("DEBUG") for entry in entries)
    assert len(entries) == 3
