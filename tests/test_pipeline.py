"""The rules of a pipeline: how it is wired, which way a message goes, and what a failing stage leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, Stage, StepRunner, on
from middleware.errors import INTERNAL_ERROR, Failure, IllegalMessage, PipelineError
from middleware.messages import (
    AgentCall,
    AgentReply,
    Ask,
    PermissionAnswer,
    PermissionAsk,
    Prompt,
    Request,
    RequestFailed,
    Response,
    Text,
    ToolGate,
    ToolGateAnswer,
)
from middleware.pipeline import answer_failure, closing_messages
from tests.core import Does, Down, Echo, Fails, Log, Pass, Question, Refusal, Up, logged

SECRET = "secret-in-the-exception"


# --------------------------------------------------------------------------------------------- wiring


def test_a_pipeline_needs_a_stage() -> None:
    """A pipeline of nothing is an error: somebody forgot something."""
    with pytest.raises(PipelineError, match="at least one stage"):
        Pipeline([])


def test_a_stage_stands_in_one_place() -> None:
    """The same instance twice is an error, since its state belongs to one place; two instances are none."""
    stage = Pass()
    with pytest.raises(PipelineError, match="make two instances"):
        Pipeline([stage, Pass(), stage])
    assert len(Pipeline([Pass(), Pass()]).stages) == 2


@pytest.mark.parametrize("wrong", [Pass, "Pass", None], ids=repr)
def test_only_stages_are_wired(wrong: Any) -> None:
    """What is no stage, such as a stage's class, is an error."""
    with pytest.raises(PipelineError, match="is no stage"):
        Pipeline([Pass(), wrong])


def test_a_pipeline_shows_itself() -> None:
    """Printed, a pipeline is its stages from the client to the agent."""
    assert str(Pipeline([Pass(), Echo()])) == "client = Pass = Echo = agent"


# --------------------------------------------------------------------------------------------- routing


def test_each_end_has_its_stage() -> None:
    """A client's message meets the first stage first, the agent's the last; each leaves behind the other end."""
    pipeline = Pipeline([Pass(), Pass(), Pass()])
    assert [pipeline.first_index(message) for message in (Up(), Down())] == [0, 2]
    assert [pipeline.next_index(index, Up()) for index in (0, 1, 2)] == [1, 2, None]
    assert [pipeline.next_index(index, Down()) for index in (2, 1, 0)] == [1, 0, None]


@pytest.mark.parametrize("wrong", ["up", None, Up, Expired("tea")], ids=repr)
def test_only_messages_are_fed(wrong: Any) -> None:
    """What is no message is refused where it enters, and what was fed along with it does not enter either."""
    runner = StepRunner(Pipeline([Pass()]))
    with pytest.raises(PipelineError, match="neither ToAgent nor ToClient"):
        runner.feed(Up(), wrong)
    assert (runner.ready, runner.fed) == ((), [])


def test_a_reply_travels_from_its_stages_place() -> None:
    """A stage that answers in place of the far end is heard by the stages between it and the asker, by no others."""
    logs = [Log(), Log(), Log()]
    runner = StepRunner(Pipeline([logs[0], logs[1], Echo(), logs[2]])).feed(Up(number=7)).run()
    assert [log.seen for log in logs] == [
        [Up(number=7), Down(number=7)],
        [Up(number=7), Down(number=7)],
        [Up(number=7)],
    ]
    assert (runner.client, runner.agent) == ([Down(number=7)], [Up(number=7)])


def test_what_a_stage_returns_keeps_its_order() -> None:
    """Of several messages of one direction the neighbour gets the first first."""
    burst = Does(lambda item, context: [Down(number=number) for number in range(5)] if item == Up() else None)
    log = Log()
    StepRunner(Pipeline([log, burst])).feed(Up()).run()
    assert log.seen == [Up(), *(Down(number=number) for number in range(5))]


# --------------------------------------------------------------------------------------------- failing stages


def answered(item: Message | Expired, error: Exception | None = None) -> tuple[tuple[Message, ...], str]:
    """What follows when a stage fails on an item, and what is logged."""
    with logged() as entries:
        messages = answer_failure(Fails(), item, error or RuntimeError(SECRET))
    return messages, "".join(entries)


PROMPT = Prompt(session="s", request=4, prompt="uuid", content=())


@pytest.mark.parametrize(
    "request_", [PROMPT, Request(request=4, method="session/new", params=None, session="s")], ids=repr
)
def test_a_failed_request_is_answered(request_: Message) -> None:
    """A stage that fails on a request gives it its answer, -32603, with nothing of the exception in it."""
    (answer,), _ = answered(request_)
    assert isinstance(answer, RequestFailed)
    assert (answer.request, answer.failure.code, answer.failure.data) == (4, INTERNAL_ERROR, None)
    assert SECRET not in answer.failure.message


def test_a_failed_call_is_answered() -> None:
    """A stage that fails on another stage's call to the agent end answers it with a failure."""
    (answer,), _ = answered(AgentCall(session="s", call="c", name="mcp_status"))
    assert isinstance(answer, AgentReply)
    assert answer.call == "c"
    assert answer.failure is not None
    assert answer.failure.code == INTERNAL_ERROR


def test_a_failed_ask_is_denied() -> None:
    """A stage that fails on an ask denies it toward the agent, with nothing of the exception in the reason."""
    (answer,), _ = answered(PermissionAsk(session="s", ask="a", name="Bash"))
    assert isinstance(answer, PermissionAnswer)
    assert (answer.ask, answer.decision) == ("a", "deny")
    assert SECRET not in answer.message


def test_a_failed_gate_lets_claude_code_decide() -> None:
    """A stage that fails on a hook's question answers it without a verdict: a broken stage must not stop every tool."""
    assert answered(ToolGate(session="s", ask="a", name="Bash"))[0] == (ToolGateAnswer(session="s", ask="a"),)


@pytest.mark.parametrize("event", [Text(session="s", text="hi"), Down(), Up(), Expired("tea")], ids=repr)
def test_a_failed_event_is_dropped(event: Message | Expired) -> None:
    """What nobody waits for is dropped when a stage fails on it."""
    assert answered(event)[0] == ()


@pytest.mark.parametrize("item", [PROMPT, PermissionAsk(session="s", ask="a", name="Bash"), Down()], ids=repr)
def test_a_failure_is_logged(item: Message) -> None:
    """Each failure is logged as an error, with the stage, the session, the message's class and the trace."""
    _, log = answered(item)
    assert log.startswith(f"ERROR stage Fails failed on {type(item).__name__} of session s: RuntimeError")
    assert SECRET in log


@pytest.mark.parametrize(
    "answer", [Response(request=4), Refusal(session="s", ask="a", reason="no"), AgentReply(session="s", call="c")]
)
def test_an_answer_is_not_lost(answer: Message) -> None:
    """A stage that fails on an answer does not keep it from the one who waits: it goes on as it came."""
    assert answered(answer)[0] == (answer,)


def test_an_illegal_answer_goes_no_further() -> None:
    """What a strict `Validation` fails on is dropped, also when it is an answer: a second one, for instance."""
    assert answered(Response(request=4), IllegalMessage("request 4 has its answer"))[0] == ()


@pytest.mark.parametrize(
    "failed",
    [lambda self, failure: self.denied("no"), lambda self, failure: [None]],
    ids=["raises", "returns no message"],
)
def test_who_cannot_be_answered_is_logged(failed: Callable[[Ask, Failure], Any]) -> None:
    """A message whose own answer fails too is logged as one that stays without, and harms nobody else."""
    broken = attrs.make_class("Broken", [], bases=(Ask,), frozen=True, class_body={"failed": failed})
    messages, log = answered(broken(session="s", ask="a"))
    assert messages == ()
    assert "ERROR Broken of session s stays without an answer" in log


def test_a_failing_end_is_logged() -> None:
    """A stage that fails in `close`, or says something that is no message there, owes nothing; the log says so."""

    class Raises(Stage):
        def close(self, context: Context) -> Iterable[Message]:
            raise RuntimeError(SECRET)

    class Wrong(Stage):
        def close(self, context: Context) -> Iterable[Message]:
            return [5]  # type: ignore[list-item]

    for stage in (Raises(), Wrong()):
        with logged() as entries:
            assert closing_messages(stage, StepRunner(Pipeline([Pass()]))._contexts[0]) == ()
        assert entries[0].startswith(f"ERROR stage {stage.name} failed to close")


def test_the_pipeline_goes_on() -> None:
    """After a failure the stage and its neighbours handle what comes next; the answer passes the stages on its way."""

    class Picky(Stage):
        @on(Prompt, Question)
        def _fail(self, message: Message, context: Context) -> Outcome:
            raise RuntimeError(SECRET)

    near, far = Log(), Log()
    runner = StepRunner(Pipeline([near, Picky(), far]), raise_failures=False)
    with logged():
        runner.feed(PROMPT, Up(), Question(session="s", ask="a"), Down()).run()
    assert [type(message) for message in near.seen if message.toward.value < 0] == [RequestFailed, Down]
    assert {type(message) for message in far.seen} == {Question, Down, Up, Refusal}
    assert {type(message) for message in runner.agent} == {Up, Refusal}
