"""A failing stage on threads: the same outcome as in `StepRunner` with `raise_failures=False`, and no thread dies."""

from __future__ import annotations

import attrs
import pytest

from middleware import Context, Expired, ManualClock, Message, Outcome, Pipeline, Stage, StepRunner, on
from middleware.errors import INTERNAL_ERROR
from middleware.messages import RequestFailed
from tests.core import Down, Granted, Log, Pass, Question, Refusal, Up, Wish, logged
from tests.threads.support import SECONDS, Ends, partitions

SCRIPT: list[Message] = [
    Wish(request=1, session="one"),
    Up(session="two"),
    Down(session="three"),
    Question(session="four", ask="a"),
    Granted(request=2, session="five"),
    Refusal(session="six", ask="b", reason="no"),
    Wish(request=3, session="seven"),
]


@attrs.define(eq=False)
class Moody(Stage):
    """Fails on everything but what its switch says."""

    good: bool = False

    @on(Message)
    def _message(self, message: Message, context: Context) -> Outcome:
        context.set_timer("k", 1.0)
        if not self.good:
            raise RuntimeError("secret-in-the-exception")
        return message

    @on(Expired)
    def _expired(self, expired: Expired, context: Context) -> Outcome:
        raise RuntimeError("secret-in-the-exception")


def stepped() -> tuple[StepRunner, list[str]]:
    with logged() as entries:
        runner = StepRunner(Pipeline([Pass(), Moody(), Pass()]), raise_failures=False)
        for message in SCRIPT:
            runner.feed(message).run()
        runner.advance(1.0)
    return runner, entries


def test_what_a_failure_leads_to() -> None:
    """A request is answered, an ask denied toward the agent; an answer passes, an event is dropped; all is logged."""
    runner, entries = stepped()
    assert [type(message) for message in runner.client] == [RequestFailed, Granted, RequestFailed]
    assert [type(message) for message in runner.agent] == [Refusal, Refusal]
    (failed, _, _) = runner.client
    assert isinstance(failed, RequestFailed)
    assert failed.failure.code == INTERNAL_ERROR
    assert not [message for message in runner.sent if "secret" in repr(message)]
    assert [entry.split(":")[0] for entry in entries] == [
        *(f"ERROR stage Moody failed on {type(item).__name__} of session {session_of(item)}" for item in SCRIPT),
        "ERROR stage Moody failed on Expired of session None",
    ]


def session_of(message: Message) -> str:
    session = getattr(message, "session", None)
    assert isinstance(session, str)
    return session


@pytest.mark.parametrize("lanes", partitions(3), ids=str)
def test_threads_fail_as_steps_do(lanes: tuple[int, ...]) -> None:
    """The same script leaves the same at both ends, and the same in the log, on threads as step by step."""
    expected, expected_log = stepped()
    ends, clock = Ends(), ManualClock()
    with logged() as entries, ends.runner(Pass(), Moody(), Pass(), clock=clock, lanes=lanes) as runner:
        for message in SCRIPT:
            runner.feed(message)
            assert runner.wait_idle(SECONDS)
        clock.advance(1.0)
        runner.expire()
        assert runner.wait_idle(SECONDS)
    assert (ends.client, ends.agent) == (expected.client, expected.agent)
    assert [entry.splitlines()[0] for entry in entries] == [entry.splitlines()[0] for entry in expected_log]


def test_the_pipeline_goes_on() -> None:
    """After a failure the stage and its neighbours handle what comes next, on the same threads."""
    ends, moody, log = Ends(), Moody(), Log()
    with logged(), ends.runner(log, moody, Pass()) as runner:
        runner.feed(*SCRIPT)
        assert runner.wait_idle(SECONDS)
        ends.client.clear()
        ends.agent.clear()
        moody.good = True
        runner.feed(Up(number=8), Down(number=8))
        assert runner.wait_idle(SECONDS)
        assert (ends.client, ends.agent) == ([Down(number=8)], [Up(number=8)])
