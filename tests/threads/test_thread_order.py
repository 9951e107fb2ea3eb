"""Order on threads: per direction between neighbours always kept, whatever shares a thread with what."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, StepRunner, ThreadRunner
from middleware.errors import PipelineError
from tests.core import Does, Down, Echo, Log, Pass, Up
from tests.threads.support import REPETITIONS, SECONDS, Ends, Gate, partitions

UPS = [Up(number=number) for number in range(20)]
DOWNS = [Down(number=100 + number) for number in range(20)]


def feed_at_once(runner: ThreadRunner, *scripts: Sequence[Message]) -> None:
    """Feed scripts message by message, each from a thread of its own."""

    def feed(script: Sequence[Message]) -> None:
        for message in script:
            runner.feed(message)

    sources = [threading.Thread(target=feed, args=(script,)) for script in scripts]
    for source in sources:
        source.start()
    for source in sources:
        source.join(SECONDS)


@pytest.mark.usefixtures("switching")
def test_each_direction_keeps_its_order() -> None:
    """300 times: every stage and both ends have each direction in the order in which it was fed, nothing lost."""
    for _ in range(REPETITIONS // 2):  # twice, by the fixture
        ends, logs = Ends(), [Log(), Log(), Log()]
        with ends.runner(*logs) as runner:
            feed_at_once(runner, UPS, DOWNS)
        for log in logs:
            assert [message for message in log.seen if isinstance(message, Up)] == UPS
            assert [message for message in log.seen if isinstance(message, Down)] == DOWNS
        assert ends.agent == UPS
        assert ends.client == DOWNS


@pytest.mark.usefixtures("switching")
def test_replies_from_the_middle_keep_their_order() -> None:
    """300 times: replies travel from their stage's place, in the order of what they answer, beside what passes."""
    for _ in range(REPETITIONS // 2):
        ends, near, far = Ends(), Log(), Log()
        with ends.runner(near, Echo(), far) as runner:
            feed_at_once(runner, UPS, DOWNS)
        down = [message for message in near.seen if isinstance(message, Down)]
        assert [message.number for message in down if message.number < 100] == [up.number for up in UPS]
        assert [message for message in down if message.number >= 100] == DOWNS
        assert ends.client == down
        assert [message for message in far.seen if isinstance(message, Down)] == DOWNS


def test_one_sources_messages_stay_together() -> None:
    """Of several sources that feed at once, each one's messages keep their order."""
    ends = Ends()
    with ends.runner(Pass(), Pass()) as runner:
        feed_at_once(runner, *([Up(session=name, number=number) for number in range(200)] for name in "abcd"))
    for name in "abcd":
        own = [message.number for message in ends.agent if isinstance(message, Up) and message.session == name]
        assert own == list(range(200))


# --------------------------------------------------------------------------------------------- lanes


def swell(item: Message | Expired, context: Context) -> Iterator[Message]:
    """Three for each `Up`, one of them a reply; `Down` passes twice."""
    match item:
        case Up(number=number):
            yield Up(number=number * 2)
            yield Down(number=-number)
            yield Up(number=number * 2 + 1)
        case Down(number=number):
            yield Down(number=number)
            yield Down(number=number + 1000)


@pytest.mark.parametrize("lanes", partitions(4), ids=str)
def test_lanes_make_no_difference(lanes: tuple[int, ...]) -> None:
    """Whatever shares a thread, what leaves is what `StepRunner` gives, in its order where only one order is right."""
    for messages in (UPS, DOWNS):
        expected = StepRunner(Pipeline([Pass(), Does(swell), Log(), Does(swell)])).feed(*messages).run()
        ends = Ends()
        with ends.runner(Pass(), Does(swell), Log(), Does(swell), lanes=lanes) as runner:
            runner.feed(*messages)
        assert ends.agent == expected.agent
        if messages is DOWNS:
            assert ends.client == expected.client
        else:  # replies of two stages meet on their way to the client, in an order that the schedule decides
            assert sorted(map(repr, ends.client)) == sorted(map(repr, expected.client))


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_lanes_keep_each_direction(lanes: tuple[int, ...]) -> None:
    """Whatever shares a thread, both directions at once keep their order in each stage, replies included."""
    for _ in range(20):
        ends, near, far = Ends(), Log(), Log()
        with ends.runner(near, Echo(), far, lanes=lanes) as runner:
            feed_at_once(runner, UPS, DOWNS)
        assert ends.agent == [message for message in far.seen if isinstance(message, Up)] == UPS
        down = [message for message in near.seen if isinstance(message, Down)]
        assert [message.number for message in down if message.number < 100] == [up.number for up in UPS]
        assert [message for message in down if message.number >= 100] == DOWNS
        assert ends.client == down


def test_a_lane_is_one_thread() -> None:
    """Stages of a lane run on its thread, those of another on another; the thread is named after its stages."""
    names: dict[int, str] = {}

    def note(index: int) -> Does:
        def act(item: Message | Expired, context: Context) -> Outcome:
            names[index] = threading.current_thread().name
            return item if isinstance(item, Message) else None

        return Does(act)

    with Ends().runner(note(0), note(1), note(2), note(3), lanes=(1, 2, 1)) as runner:
        runner.feed(Up())
    assert names == {0: "stage 0 Does", 1: "stage 1 Does+Does", 2: "stage 1 Does+Does", 3: "stage 3 Does"}


@pytest.mark.parametrize("lanes", [(), (3,), (1,), (1, 2), (2, 0), (0, 2), (3, -1)], ids=str)
def test_lanes_must_divide_the_stages(lanes: tuple[int, ...]) -> None:
    """Lanes that do not add up to the stages, or are empty, are an error that shows both."""
    with pytest.raises(PipelineError, match="do not divide 2 stages"):
        Ends().runner(Pass(), Pass(), lanes=lanes)


def test_directions_meet_in_the_order_of_an_inbox() -> None:
    """Messages of opposite directions are handled in the order in which they came into a stage's inbox."""
    gate, log = Gate(), Log()

    def hold(item: Any, context: Context) -> Outcome:
        if item == Up():
            gate.hold()
        return log.handle(item, context)

    with Ends().runner(Does(hold)) as runner:
        runner.feed(Up())
        gate.wait_held()
        mixed = [Down(number=1), Up(number=2), Up(number=3), Down(number=4), Up(number=5)]
        for message in mixed:
            runner.feed(message)
        gate.open()
    assert log.seen == [Up(), *mixed]
