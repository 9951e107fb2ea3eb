"""Running a pipeline with a thread a stage, connected by queues.

    lane 0 `stage 0 Validation`   inbox -> stage -> next inbox
    lane 1 `stage 1 ToolCalls`    inbox -> stage -> next inbox
    ...                                                            and one thread, `timers`

A lane is one thread and one inbox; by default every stage has one of its own, and `lanes` may put neighbours together.
A lane takes what is waiting in its inbox as one batch, handles item by item, and then hands on what came of it: one
lock a batch instead of one a message. docs/threading.md has the figures and the rules of order.
"""

from __future__ import annotations

import enum
import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import TracebackType
from typing import Final

import attrs
from loguru import logger

from .clock import Clock, SystemClock
from .errors import PipelineError
from .in_flight import InFlight
from .messages import Message, Toward
from .pipeline import Pipeline, answer_failure, closing_messages, handle
from .shared_timers import SharedTimers
from .stage import Expired
from .timers import Due

Sink = Callable[[Message], None]
"""Where messages go that leave the pipeline. Called on the thread of the last stage; it must not block."""

_BATCH: Final = 64


class _Sign(enum.Enum):
    """The end's round trip. A lane heeds a sign when all else that it has taken is handled."""

    LAST = "goes toward the agent, behind everything that was fed before the end, and turns round there"
    STOP = "comes back toward the client and closes stage after stage"


_Item = Message | Due | _Sign


@attrs.frozen
class _Context:
    _runner: ThreadRunner
    _index: int

    def now(self) -> float:
        return self._runner.clock.now()

    def set_timer(self, key: Hashable, seconds: float) -> None:
        self._runner._timers.set(self._index, key, seconds)

    def cancel_timer(self, key: Hashable) -> None:
        self._runner._timers.cancel(self._index, key)


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
        self._timers = SharedTimers(self.clock, lambda due: self._enter([(due.owner, due)]))

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
            self._timers.start()
        return self

    def close(self) -> None:
        """End: what was fed is handled, each stage is closed (agent side first), the threads are joined.

        A second call does nothing. What is fed from now on may be lost; feed `Closing` before, and let the agent side
        answer it, so that nothing is owed.

        Raises:
            PipelineError: called on one of its own threads (by a sink), which cannot wait for itself.
            BaseException: the first failure of a thread, if there was one: a sink that raised.
        """
        if self._state in ("closing", "closed"):
            return
        if threading.current_thread() in [lane.thread for lane in self._lanes]:
            raise PipelineError("a runner is not closed by its own threads: have another one call close()")
        started = self._state == "running"
        self._state = "closing"
        if started:
            self._enter([(0, _Sign.LAST)])
            self._join()
        self._state = "closed"
        self._discard()
        self.in_flight.release()
        if self._failures:
            raise self._failures[0]

    def _join(self) -> None:
        for lane in reversed(self._lanes):
            assert lane.thread is not None
            lane.thread.join()
        self._timers.stop()

    def _discard(self) -> None:
        """Empty the inboxes that nobody reads any more: what is in them is not on its way.

        Only of what is there now: whoever puts more finds the runner closed and does the same.
        """
        lost = 0
        for lane in self._lanes:
            for _ in range(lane.inbox.qsize()):
                try:
                    lane.inbox.get_nowait()
                except queue.Empty:
                    break  # another thread was quicker
                lost += 1
        self.in_flight.change(-lost)
        if lost:
            logger.debug("{} messages or timers came after the end and are lost", lost)

    def __enter__(self) -> ThreadRunner:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ use

    def feed(self, *messages: Message) -> None:
        """Put messages into the inbox at their end; from any thread. One caller's messages keep their order.

        Before `start` they wait for it. After `close` they are lost, and do no harm.

        Raises:
            PipelineError: one of them is no message; none is fed then.
        """
        self._enter([(self.pipeline.first_index(message), message) for message in messages])

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
        """Put the timers that are due now into the inboxes, behind what is there: for clocks that a test moves."""
        self._timers.expire()

    # ------------------------------------------------------------------------------------------ lanes

    def _enter(self, items: Sequence[tuple[int, _Item]]) -> None:
        """Put what comes from outside into the inboxes: counted first, so that the count is never too small."""
        self.in_flight.change(len(items))
        self._put(items)
        if self._state == "closed":
            self._discard()

    def _put(self, items: Iterable[tuple[int, _Item]]) -> None:
        for index, item in items:
            self._lane_of[index].inbox.put((index, item))

    def _run_lane(self, lane: _Lane) -> None:
        try:
            self._work(lane)
        except BaseException as error:
            # A stage or a sink that ends its thread (SystemExit) ends the pipeline: half of one would only look alive.
            # Both neighbours are told, since a sign that came here now would go no further.
            logger.opt(exception=error).critical("the thread of stage {} died", lane.first)
            self._fail(error)
            last = len(self.pipeline.stages) - 1
            self._enter([(index, _Sign.STOP) for index in (last, lane.first - 1) if index >= 0 and index != lane.last])
            self.in_flight.release()

    def _fail(self, error: BaseException) -> None:
        if not self._failures:  # the first is what `close` raises; all of them are in the log
            self._failures.append(error)

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
            for sign in self._drain(lane, local, onward):
                if sign is _Sign.LAST:
                    onward.append(self._after_last(lane))
                elif not stopped:
                    self._close_stages(lane, local, onward)
                    stopped = True
            # What follows is counted before anybody can take it, and what was taken goes in the same step: the count
            # never touches zero while something is on its way.
            self.in_flight.change(len(onward) - taken)
            self._put(onward)

    def _drain(self, lane: _Lane, local: deque[tuple[int, _Item]], onward: list[tuple[int, _Item]]) -> list[_Sign]:
        """Handle what a lane holds, and what follows from it in the lane; the signs among it are left to the caller."""
        signs: list[_Sign] = []
        while local:
            index, item = local.popleft()
            if isinstance(item, _Sign):
                signs.append(item)
            else:
                self._route(lane, index, self._handle(index, item), local, onward)
        return signs

    def _handle(self, index: int, item: Message | Due) -> tuple[Message, ...]:
        stage = self.pipeline.stages[index]
        if self._closed[index]:
            logger.debug("{} came for the closed stage {}", type(item).__name__, stage.name)
            return ()
        if isinstance(item, Due) and not self._timers.claim(item):
            return ()
        given = Expired(item.key) if isinstance(item, Due) else item
        try:
            return handle(stage, given, self._contexts[index])
        except Exception as error:
            return answer_failure(stage, given, error)

    def _route(
        self,
        lane: _Lane,
        index: int,
        messages: tuple[Message, ...],
        local: deque[tuple[int, _Item]],
        onward: list[tuple[int, _Item]],
    ) -> None:
        """Sort messages into this lane and onward.

        What stays in the lane goes before what waits there: a message and all that follows from it are through before
        the next one is begun. So a stage that a message only passes can be stepped over without any overtaking.
        """
        inside: list[tuple[int, _Item]] = []
        for message in messages:
            following = index + message.toward
            while lane.first <= following <= lane.last and self._steps_over(following, message):
                following += message.toward
            if lane.first <= following <= lane.last:
                inside.append((following, message))
            elif 0 <= following < len(self.pipeline.stages):
                onward.append((following, message))
            else:
                self._sink(message)
        local.extendleft(reversed(inside))

    def _steps_over(self, index: int, message: Message) -> bool:
        return not self._closed[index] and self.pipeline.stages[index].passes(type(message))

    def _sink(self, message: Message) -> None:
        try:
            self._sinks[message.toward](message)
        except Exception as error:
            logger.opt(exception=error).error("the {} end refused {}", message.toward.name, type(message).__name__)
            self._fail(error)

    def _after_last(self, lane: _Lane) -> tuple[int, _Item]:
        """Where the end goes from here. At the agent side it turns round behind what its sink has fed meanwhile."""
        following = lane.last + 1
        if following < len(self.pipeline.stages):
            return following, _Sign.LAST
        return lane.last, _Sign.STOP

    def _close_stages(self, lane: _Lane, local: deque[tuple[int, _Item]], onward: list[tuple[int, _Item]]) -> None:
        for index in range(lane.last, lane.first - 1, -1):
            messages = closing_messages(self.pipeline.stages[index], self._contexts[index])
            self._closed[index] = True
            self._route(lane, index, messages, local, onward)
            self._drain(lane, local, onward)
        if lane.first > 0:
            onward.append((lane.first - 1, _Sign.STOP))


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
