"""HandOver: messages of one turn of the loop go into the pipeline together, in their order."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import pytest

from acpbridge.claude.hand_over import HandOver
from acpbridge.claude.loop import SdkLoop
from middleware.messages import Message, Text


@pytest.fixture
def loop() -> Iterator[SdkLoop]:
    loop = SdkLoop()
    loop.start()
    yield loop
    loop.stop()


def _texts(count: int) -> list[Text]:
    return [Text(session="s", text=str(number)) for number in range(count)]


def test_one_turn_of_the_loop_is_one_hand_over(loop: SdkLoop) -> None:
    """What is fed on the loop before it turns is handed over at once, in order; then a new hand-over begins."""
    batches: queue.SimpleQueue[tuple[Message, ...]] = queue.SimpleQueue()
    feed = HandOver(loop, lambda *messages: batches.put(messages))
    first, second, third = _texts(3)

    def turn() -> None:
        feed(first)
        feed(second)

    loop.call(turn)
    assert batches.get(timeout=10) == (first, second)
    loop.call(feed, third)
    assert batches.get(timeout=10) == (third,)


def test_other_threads_do_not_wait_for_the_loop(loop: SdkLoop) -> None:
    """What another thread feeds goes at once: the loop may be busy."""
    batches: list[tuple[Message, ...]] = []
    feed = HandOver(loop, lambda *messages: batches.append(messages))
    first, second = _texts(2)
    feed(first, second)
    assert batches == [(first, second)]
