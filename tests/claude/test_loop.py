"""The thread `sdk loop`: the order of what is handed in, what becomes of failures, and its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from acpbridge.claude.loop import SdkLoop
from tests.core import logged

T = TypeVar("T")
SECONDS = 20.0


@pytest.fixture
def loop() -> Iterator[SdkLoop]:
    loop = SdkLoop()
    loop.start()
    yield loop
    loop.stop()
    assert "sdk loop" not in [thread.name for thread in threading.enumerate()]


def on_loop(loop: SdkLoop, function: Callable[[], T]) -> T:
    """Call a function on the loop and wait for its result, as only a test may."""
    done = threading.Event()
    results: list[T] = []

    def call() -> None:
        results.append(function())
        done.set()

    loop.call(call)
    assert done.wait(SECONDS)
    return results[0]


def test_calls_keep_their_order(loop: SdkLoop) -> None:
    """What one thread hands in runs on the thread `sdk loop`, in that order."""
    seen: list[tuple[int, str]] = []

    def note(number: int) -> None:
        seen.append((number, threading.current_thread().name))

    for number in range(1000):
        loop.call(note, number)
    on_loop(loop, bool)
    assert seen == [(number, "sdk loop") for number in range(1000)]


def test_a_call_that_fails(loop: SdkLoop) -> None:
    """A call that raises is logged, without its arguments, and those behind it run."""

    class Secretive:
        def __repr__(self) -> str:
            return "secret"

    def fails(argument: Secretive) -> None:
        raise RuntimeError("broken call")

    with logged() as log:
        loop.call(fails, Secretive())
        assert on_loop(loop, lambda: "alive") == "alive"
    [entry] = log
    assert entry.startswith("ERROR")
    assert "fails failed on the SDK loop" in entry
    assert "broken call" in entry
    assert "secret" not in entry


def test_a_task_that_fails(loop: SdkLoop) -> None:
    """A task that raises is logged under its name; one that is cancelled is not."""

    async def fails() -> None:
        raise RuntimeError("broken task")

    async def waits() -> None:
        await asyncio.Event().wait()

    ended = threading.Event()

    def start() -> None:
        waiting = loop.spawn(waits(), "the patient task")
        loop.loop.call_soon(waiting.cancel)
        failing = loop.spawn(fails(), "the failing task")
        both = asyncio.gather(waiting, failing, return_exceptions=True)
        both.add_done_callback(lambda _: ended.set())

    with logged() as log:
        on_loop(loop, start)
        assert ended.wait(SECONDS)
    [entry] = log
    assert "the failing task failed" in entry
    assert "broken task" in entry


def test_a_stop_lets_tasks_unwind() -> None:
    """A stop cancels all tasks, those that nobody spawned here too, and each does what its `finally` says."""
    loop = SdkLoop()
    loop.start()
    steps: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            steps.append(name)

    tasks: list[Any] = []

    def start() -> None:
        loop.spawn(work("spawned"), "spawned")
        tasks.append(loop.loop.create_task(work("another")))

    on_loop(loop, start)
    on_loop(loop, bool)
    loop.stop()
    assert sorted(steps) == ["another", "spawned"]
    assert loop.loop.is_closed()


def test_a_task_that_does_not_end() -> None:
    """A task that does not let itself be cancelled is given up, and named in the log."""
    loop = SdkLoop()
    loop.start()

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    on_loop(loop, lambda: loop.spawn(stubborn(), "the stubborn one"))
    on_loop(loop, bool)
    with logged() as log:
        loop.stop(timeout=1.0)
    assert any("the stubborn one did not end" in entry for entry in log)
    assert loop.loop.is_closed()


def test_calls_after_the_stop() -> None:
    """What comes after the stop does not run and is logged, whoever calls; a second stop does nothing."""
    loop = SdkLoop()
    loop.start()
    loop.stop()
    ran: list[int] = []
    with logged() as log:
        loop.call(ran.append, 1)
        loop.stop()
    assert ran == []
    assert any("append comes after the end of the SDK loop" in entry for entry in log)


def test_a_stop_without_a_start() -> None:
    """A loop that never ran can be stopped."""
    loop = SdkLoop()
    loop.stop()
    assert loop.loop.is_closed()
