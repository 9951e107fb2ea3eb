"""Running a pipeline with a thread a stage, connected by queues.

    lane 0 `stage 0 Validation`   inbox -> stage -> next inbox
    lane 1 `stage 1 ToolCalls`    inbox -> stage -> next inbox
    ...                                                            and one thread, `timers`

A lane is one thread and one inbox; by default every stage has one of its own, and `lanes` may put neighbours together.
A lane takes what is waiting in its inbox as one batch, handles item by item, and then hands on what came of it: one
lock a batch instead of one a message. docs/threading.md has the figures and the rules of order.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from types import TracebackType
from typing import Final

import attrs
from loguru import logger

from .clock import Clock, SystemClock
from .errors import PipelineError
from .in_flight import InFlight
from .messages import Message, Toward
from .pipeline import Pipeline, answer_failure, closing_messages, handle
from .stage import Expired
from .timers import Timers

Sink = Callable[[Message], None]
"""Where messages go that leave the pipeline. Called on the thread of the last stage; it must not block."""

_BATCH = 64


class _Stop:
    """Travels from the agent side toward the client, once, and closes stage after stage."""


_STOP: Final = _Stop()
_Item = Message | Expired | _Stop


@attrs.frozen
class _Context:
    _runner: ThreadRunner
    _index: int

    def now(self) -> float:
        return self._runner.clock.now()

    def set_timer(self, key: Hashable, seconds: float) -> None:
        self._runner._set_timer(self._index, key, seconds)

    def cancel_timer(self, key: Hashable) -> None:
        self._runner._cancel_timer(self._index, key)


@attrs.define
class _Lane:
    first: int
    last: int
    inbox: queue.SimpleQueue[tuple[int, _Item]] = attrs.field(factory=queue.SimpleQueue)
    thread: threading.Thread | None = None


class ThreadRunner:
    """A pipeline on threads. A context manager: entering starts it, leaving closes it.

    Args:
        pipeline: what to run.
        to_client, to_agent: where messages go that leave it.
        clock: with a `SystemClock` (the default) timers expire by themselves; with any other clock they wait for
            `expire()`, since nobody wakes a thread when a frozen clock is moved.
        lanes: how many neighbouring stages share a thread, from the client side; all ones by default.
        in_flight: the counter, to be shared with a sink that queues (it counts what it holds).

    Raises:
        PipelineError: the lanes do not add up to the number of stages.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        to_client: Sink,
        to_agent: Sink,
        clock: Clock | None = None,
        lanes: Sequence[int] | None = None,
        in_flight: InFlight | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.clock: Clock = clock or SystemClock()
        self.in_flight = in_flight or InFlight()
        self._sinks = {Toward.CLIENT: to_client, Toward.AGENT: to_agent}
        self._lanes, self._lane_of = _cut(pipeline, lanes)
        self._contexts = [_Context(self, index) for index in range(len(pipeline.stages))]
        self._closed = [False for _ in pipeline.stages]
        self._failures: list[BaseException] = []
        self._state = "new"
        self._timers = Timers()
        self._timers_changed = threading.Condition()
        self._timers_stopped = False
        self._timer_thread: threading.Thread | None = None

    # ------------------------------------------------------------------------------------------ life

    def start(self) -> ThreadRunner:
        """Start the threads.

        Raises:
            PipelineError: it has been started before.
        """
        if self._state != "new":
            raise PipelineError(f"a runner starts once; this one is {self._state}")
        self._state = "running"
        for lane in self._lanes:
            names = "+".join(self.pipeline.stages[index].name for index in range(lane.first, lane.last + 1))
            lane.thread = threading.Thread(target=self._run_lane, args=(lane,), name=f"stage {lane.first} {names}")
            lane.thread.start()
        if isinstance(self.clock, SystemClock):
            self._timer_thread = threading.Thread(target=self._watch_timers, name="timers")
            self._timer_thread.start()
        return self

    def close(self) -> None:
        """End: what is in the inboxes is handled, each stage is closed (agent side first), the threads are joined.

        A second call does nothing. What is fed from now on may be lost; feed `Closing` before, and let the agent side
        answer it, so that nothing is owed.

        Raises:
            BaseException: the first failure of a thread, if there was one: a sink that raised.
        """
        if self._state == "new":
            self._state = "closed"
        if self._state == "closed":
            return
        self._state = "closed"
        self.in_flight.change(1)
        self._lanes[-1].inbox.put((len(self.pipeline.stages) - 1, _STOP))
        for lane in reversed(self._lanes):
            assert lane.thread is not None
            lane.thread.join()
        with self._timers_changed:
            self._timers_stopped = True
            self._timers_changed.notify_all()
        if self._timer_thread is not None:
            self._timer_thread.join()
        self.in_flight.release()
        if self._failures:
            raise self._failures[0]

    def __enter__(self) -> ThreadRunner:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ use

    def feed(self, *messages: Message) -> None:
        """Put messages into the inbox at their end; from any thread. One caller's messages keep their order."""
        self.in_flight.change(len(messages))
        for message in messages:
            self._put(self.pipeline.first_index(message), message)

    @property
    def room(self) -> bool:
        """Whether a source may feed more. One that cannot wait (a client's cancel) feeds all the same."""
        return self.in_flight.has_room

    def wait_room(self, timeout: float | None = None) -> bool:
        """Block a source until there is room; whether there is."""
        return self.in_flight.wait_room(timeout)

    def wait_idle(self, timeout: float | None = 10.0) -> bool:
        """Block until no message is anywhere in the pipeline; whether that is so. Timers that are set do not count."""
        return self.in_flight.wait_idle(timeout)

    def expire(self) -> None:
        """Put the timers that are due now into the inboxes: for clocks that a test moves."""
        while True:
            with self._timers_changed:
                due = self._timers.pop_due(self.clock.now())
            if due is None:
                return
            self._put_expired(*due)

    # ------------------------------------------------------------------------------------------ lanes

    def _put(self, index: int, item: Message | Expired) -> None:
        self._lane_of[index].inbox.put((index, item))

    def _run_lane(self, lane: _Lane) -> None:
        try:
            self._work(lane)
        except BaseException as error:
            logger.opt(exception=error).critical("the thread of stage {} died", lane.first)
            self._failures.append(error)
            if lane.first > 0:  # whoever closes the runner must not wait for lanes that nobody stops
                self._lanes[self._lanes.index(lane) - 1].inbox.put((lane.first - 1, _STOP))

    def _work(self, lane: _Lane) -> None:
        local: deque[tuple[int, _Item]] = deque()
        stopped = False
        while not stopped:
            local.append(lane.inbox.get())
            while len(local) < _BATCH:
                try:
                    local.append(lane.inbox.get_nowait())
                except queue.Empty:
                    break
            taken = len(local)
            onward: list[tuple[int, _Item]] = []
            while local:
                index, item = local.popleft()
                if isinstance(item, _Stop):
                    self._close_stages(lane, local, onward)
                    stopped = True
                else:
                    self._route(lane, index, self._handle(index, item), local, onward)
            # What follows is counted before anybody can take it, and what was taken goes in the same step: the count
            # never touches zero while something is on its way.
            self.in_flight.change(len(onward) - taken)
            for index, item in onward:
                self._lane_of[index].inbox.put((index, item))

    def _handle(self, index: int, item: Message | Expired) -> tuple[Message, ...]:
        if self._closed[index]:
            logger.debug("{} came for the closed stage {}", type(item).__name__, self.pipeline.stages[index].name)
            return ()
        stage = self.pipeline.stages[index]
        try:
            return handle(stage, item, self._contexts[index])
        except Exception as error:
            return answer_failure(stage, item, error)

    def _route(
        self,
        lane: _Lane,
        index: int,
        messages: tuple[Message, ...],
        local: deque[tuple[int, _Item]],
        onward: list[tuple[int, _Item]],
    ) -> None:
        """Sort messages into this lane and onward."""
        for message in messages:
            following = self.pipeline.next_index(index, message)
            if following is None:
                self._sink(message)
            elif lane.first <= following <= lane.last:
                local.append((following, message))
            else:
                onward.append((following, message))

    def _sink(self, message: Message) -> None:
        try:
            self._sinks[message.toward](message)
        except Exception as error:
            logger.opt(exception=error).error("the {} end refused {}", message.toward.name, type(message).__name__)
            self._failures.append(error)

    def _close_stages(self, lane: _Lane, local: deque[tuple[int, _Item]], onward: list[tuple[int, _Item]]) -> None:
        for index in range(lane.last, lane.first - 1, -1):
            messages = closing_messages(self.pipeline.stages[index], self._contexts[index])
            self._closed[index] = True
            self._route(lane, index, messages, local, onward)
            while local:
                following, item = local.popleft()
                if not isinstance(item, _Stop):
                    self._route(lane, following, self._handle(following, item), local, onward)
        if lane.first > 0:
            onward.append((lane.first - 1, _STOP))

    # ------------------------------------------------------------------------------------------ timers

    def _set_timer(self, index: int, key: Hashable, seconds: float) -> None:
        with self._timers_changed:
            self._timers.set(index, key, self.clock.now() + seconds)
            self._timers_changed.notify_all()

    def _cancel_timer(self, index: int, key: Hashable) -> None:
        with self._timers_changed:
            self._timers.cancel(index, key)

    def _put_expired(self, index: int, key: Hashable) -> None:
        self.in_flight.change(1)
        self._put(index, Expired(key))

    def _watch_timers(self) -> None:
        while True:
            with self._timers_changed:
                if self._timers_stopped:
                    return
                due = self._timers.pop_due(self.clock.now())
                if due is None:
                    deadline = self._timers.next_deadline()
                    self._timers_changed.wait(None if deadline is None else max(0.0, deadline - self.clock.now()))
                    continue
            self._put_expired(*due)


def _cut(pipeline: Pipeline, sizes: Sequence[int] | None) -> tuple[list[_Lane], list[_Lane]]:
    """The lanes, and for each stage the lane that it is in."""
    count = len(pipeline.stages)
    sizes = [1] * count if sizes is None else list(sizes)
    if sum(sizes) != count or min(sizes) < 1:
        raise PipelineError(f"lanes {sizes} do not divide {count} stages")
    lanes: list[_Lane] = []
    lane_of: list[_Lane] = []
    for size in sizes:
        lane = _Lane(first=len(lane_of), last=len(lane_of) + size - 1)
        lanes.append(lane)
        lane_of += [lane] * size
    return lanes, lane_of
