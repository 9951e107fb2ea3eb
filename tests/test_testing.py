"""The rules of `middleware.testing`, the public tools: what they count, what they play, and what they catch."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator

import attrs
import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, Stage, StepRunner, on, stages, testing
from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentReply,
    AskWithdrawn,
    Cancel,
    Closing,
    Initialized,
    MessageCompleted,
    MessageStarted,
    PermissionAnswer,
    PermissionAsk,
    PermissionReply,
    Prompt,
    PromptEchoed,
    PromptState,
    Request,
    RequestFailed,
    Response,
    Result,
    SessionClosed,
    SessionOpened,
    Text,
    ToClient,
    ToolResult,
    ToolUse,
    TurnEnded,
    WorkState,
)
from middleware.profile import ClientProfile
from middleware.testing import assert_one_answer, check_stage, interleavings, schedules
from tests.core import Does, Down, Echo, Granted, Log, Pass, Question, Refusal, Up, Wish

SHORT = 0.5
"""Seconds that a stage is given which never comes back."""


# --------------------------------------------------------------------------------------------- interleavings


@pytest.mark.parametrize("lengths", [(1,), (0, 2), (2, 3), (4, 4), (1, 2, 0, 1), (3, 3, 3)], ids=str)
def test_all_merges_are_played(lengths: tuple[int, ...]) -> None:
    """There are as many merges as the multinomial coefficient says, no two alike, each with every script in order."""
    scripts = [[(name, step) for step in range(length)] for name, length in enumerate(lengths)]
    merges = list(interleavings(*scripts))
    assert len(merges) == math.factorial(sum(lengths)) // math.prod(map(math.factorial, lengths))
    assert len(set(merges)) == len(merges)
    for merge in merges:
        assert [[item for item in merge if item[0] == name] for name in range(len(scripts))] == scripts


def test_no_script_has_one_merge() -> None:
    """Nothing to merge is merged in one way: into nothing."""
    assert list(interleavings()) == list(interleavings((), ())) == [()]


# --------------------------------------------------------------------------------------------- schedules


def test_all_schedules_are_played() -> None:
    """Every order in which stages can move is played once, each to its end."""
    seen: list[tuple[int, int]] = []

    def note(index: int) -> Does:
        def act(item: Message | Expired, context: Context) -> Outcome:
            assert isinstance(item, Up)
            seen.append((index, item.number))
            return item

        return Does(act)

    def make() -> StepRunner:
        seen.clear()
        return StepRunner(Pipeline([note(0), note(1), note(2)])).feed(Up(number=1), Up(number=2), Up(number=3))

    played: list[tuple[tuple[int, int], ...]] = []
    for runner in schedules(make):
        assert runner.ready == ()
        assert runner.agent == [Up(number=1), Up(number=2), Up(number=3)]
        played.append(tuple(seen))
    assert len(played) == len(set(played)) == 42, "the standard Young tableaux of three rows of three"


def test_too_many_schedules_are_an_error() -> None:
    """More schedules than the limit are an error: a part of them would pass for all."""

    def make() -> StepRunner:
        return StepRunner(Pipeline([Pass(), Pass()])).feed(Up(), Down())

    assert len(list(schedules(make, limit=4))) == 4
    with pytest.raises(AssertionError, match="more than 3 schedules"):
        list(schedules(make, limit=3))


# --------------------------------------------------------------------------------------------- assert_one_answer


def run(act: Callable[[Message], Outcome], *messages: Message) -> StepRunner:
    """A runner in which one stage did this with each message."""

    def handle(item: Message | Expired, context: Context) -> Outcome:
        assert isinstance(item, Message)
        return act(item)

    return StepRunner(Pipeline([Does(handle)])).feed(*messages).run()


PROMPT = Prompt(session="s", request=1, prompt="p", content=())
ENDED = TurnEnded(session="s", request=1, prompt="p")
ASK = PermissionAsk(session="s", ask="a", name="Bash")
DENIED = PermissionAnswer(session="s", ask="a", decision="deny")

REQUESTS: list[tuple[Message, Message]] = [
    (PROMPT, ENDED),
    (PROMPT, RequestFailed(request=1, failure=Failure.internal())),
    (Request(request="r", method="session/new", params=None), Response(request="r")),
    (AgentCall(session="s", call="c", name="status"), AgentReply(session="s", call="c")),
    (ASK, DENIED),
    (Question(session="s", ask="a"), Refusal(session="s", ask="a", reason="no")),
]


@pytest.mark.parametrize(("request_", "answer"), REQUESTS, ids=lambda message: type(message).__name__)
def test_one_answer_is_right(request_: Message, answer: Message) -> None:
    """A request that a stage answers once is right, whichever way it went."""
    assert_one_answer(run(lambda message: answer, request_))


@pytest.mark.parametrize(("request_", "answer"), REQUESTS, ids=lambda message: type(message).__name__)
def test_two_answers_are_caught(request_: Message, answer: Message) -> None:
    """A request that is answered twice is caught, and named, also where answers may still be owed."""
    for complete in (True, False):
        with pytest.raises(AssertionError, match=r"the \w+ '?\w+'? was answered 2 times"):
            assert_one_answer(run(lambda message: (answer, answer), request_), complete=complete)


@pytest.mark.parametrize(("request_", "answer"), REQUESTS, ids=lambda message: type(message).__name__)
def test_no_answer_is_caught(request_: Message, answer: Message) -> None:
    """A request that a stage swallows is caught, and named, unless answers may still be owed."""
    runner = run(lambda message: None, request_)
    with pytest.raises(AssertionError, match=r"the \w+ '?\w+'? was never answered"):
        assert_one_answer(runner)
    assert_one_answer(runner, complete=False)


@pytest.mark.parametrize(("request_", "answer"), REQUESTS, ids=lambda message: type(message).__name__)
def test_the_far_end_owes_what_was_passed(request_: Message, answer: Message) -> None:
    """A request that left at the far end is owed there; once its answer came back it must have gone through."""
    assert_one_answer(run(lambda message: message, request_))
    assert_one_answer(run(lambda message: message, request_, answer))
    with pytest.raises(AssertionError, match="never answered"):
        assert_one_answer(run(lambda message: None if message == answer else message, request_, answer))


def test_an_answer_beside_a_passed_request_is_the_only_one() -> None:
    """A request that a stage passes and answers itself must not be answered by the far end too."""
    runner = run(lambda message: (message, ENDED) if message == PROMPT else message, PROMPT, ENDED)
    with pytest.raises(AssertionError, match="the request 1 was answered 2 times"):
        assert_one_answer(runner)


def test_the_clients_reply_is_an_answer_in_other_words() -> None:
    """A reply to an ask that goes in must come out, as it is or translated; swallowed, the ask has no answer."""
    reply = PermissionReply(session="s", ask="a", option="allow")
    assert_one_answer(run(lambda message: message, ASK, reply))
    assert_one_answer(run(lambda message: DENIED if message == reply else message, ASK, reply))
    with pytest.raises(AssertionError, match="the ask 'a' was never answered"):
        assert_one_answer(run(lambda message: None if message == reply else message, ASK, reply))


def test_a_withdrawn_ask_needs_no_answer() -> None:
    """An ask that was withdrawn may be answered once or not at all, and not twice."""
    withdrawn = AskWithdrawn(session="s", ask="a")
    assert_one_answer(run(lambda message: None, ASK, withdrawn))
    assert_one_answer(run(lambda message: DENIED if message == ASK else None, ASK, withdrawn))
    with pytest.raises(AssertionError, match="answered 2 times"):
        assert_one_answer(run(lambda message: DENIED, ASK, withdrawn))


# --------------------------------------------------------------------------------------------- check_stage: good stages


@attrs.define(eq=False)
class Grants(Stage):
    """Answers a wish when the next message comes, at the latest at its end: all that a good stage does."""

    waiting: list[Wish] = attrs.field(factory=list)

    @on(Wish)
    def _wish(self, message: Wish, context: Context) -> Outcome:
        context.set_timer(message.request, 5.0)
        self.waiting.append(message)
        return None

    @on(Up)
    def _up(self, message: Up, context: Context) -> Iterator[Message]:
        yield message
        yield from self._granted()

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        yield from self._granted()
        yield message

    def _granted(self) -> list[Message]:
        granted: list[Message] = [Granted(request=wish.request) for wish in self.waiting]
        self.waiting.clear()
        return granted


WISHES: list[Message] = [Wish(request=1), Wish(request=2), Up(number=1), Wish(request=3)]


@pytest.mark.parametrize("make", [Pass, Log, Grants, Echo], ids=lambda make: make.__name__)
def test_a_good_stage_passes(make: Callable[[], Stage]) -> None:
    """A stage that keeps the rules passes, with a script and without."""
    check_stage(make)
    check_stage(make, WISHES if make is Grants else [Up(number=1), Down(number=2)])


CONVERSATION: list[Message] = [
    Initialized(profile=ClientProfile()),
    SessionOpened(session="s", cwd="/w"),
    PROMPT,
    PromptState(session="s", prompt="p", state="queued"),
    PromptState(session="s", prompt="p", state="started"),
    PromptEchoed(session="s", prompt="p"),
    WorkState(session="s", state="running"),
    MessageStarted(session="s", message="m", model="claude"),
    Text(session="s", text="I shall ", message="m"),
    ToolUse(session="s", tool_use="t", name="Bash", input={"command": "ls"}, message="m"),
    PermissionAsk(session="s", ask="a", tool_use="t", name="Bash", input={"command": "ls"}),
    PermissionReply(session="s", ask="a", option="allow-once"),
    MessageCompleted(session="s", message="m"),
    ToolResult(session="s", tool_use="t", content="file"),
    Cancel(session="s"),
    PermissionAsk(session="s", ask="b", tool_use="u", name="Bash", input={"command": "rm"}),
    ToolUse(session="s", tool_use="u", name="Bash", input={"command": "rm"}, message="m"),
    Result(session="s", prompts=("p",)),
    WorkState(session="s", state="idle"),
    Prompt(session="s", request=2, prompt="q", content=()),
    SessionClosed(session="s"),
]


@pytest.mark.parametrize("name", stages.__all__)
def test_our_stages_pass(name: str) -> None:
    """Every stage of the library passes the check, with a conversation that has a cancel in it and without."""
    make: Callable[[], Stage] = getattr(stages, name)
    check_stage(make)
    check_stage(make, CONVERSATION)


# --------------------------------------------------------------------------------------------- check_stage: bad stages


class Swallows(Stage):
    """Drops what it does not know."""

    def handle(self, message: Message | Expired, context: Context) -> Iterable[Message]:
        return ()


class SwallowsOneWay(Stage):
    """Drops what it does not know, toward the client."""

    @on(ToClient)
    def _any(self, message: ToClient, context: Context) -> Outcome:
        return None


class Doubles(Stage):
    """Sends on twice what it does not know."""

    @on(ToClient)
    def _any(self, message: ToClient, context: Context) -> Outcome:
        return message, message


@attrs.define(eq=False)
class Reorders(Stage):
    """Keeps each message until the next one came, and the last until its end."""

    kept: list[Message] = attrs.field(factory=list)

    @on(Message)
    def _any(self, message: Message, context: Context) -> Outcome:
        self.kept.append(message)
        return [self.kept.pop(0)] if len(self.kept) > 1 else None

    def close(self, context: Context) -> Iterable[Message]:
        return self.kept


@attrs.define(eq=False)
class Overtakes(Stage):
    """Lets unknown messages through at once, but keeps them once it has seen an `Up`."""

    busy: bool = False
    kept: list[Message] = attrs.field(factory=list)

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        self.busy = True
        return message

    @on(Message)
    def _any(self, message: Message, context: Context) -> Outcome:
        if self.busy and not isinstance(message, Closing):
            self.kept.append(message)
            return None
        kept, self.kept = self.kept, []
        return *kept, message


class HidesTheClient(Stage):
    """Keeps what the client declared to itself."""

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        return None


@attrs.define(eq=False)
class ClosesOnce(Stage):
    """Takes the second `Closing` for its own business."""

    closing: bool = False

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Outcome:
        first, self.closing = not self.closing, True
        return message if first else None


@attrs.define(eq=False)
class ForgetsStrangers(Stage):
    """Fails on the end of a session that it never saw."""

    sessions: dict[str, int] = attrs.field(factory=dict)

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        del self.sessions[message.session]
        return message


class SharesForGood(Stage):
    """Its class remembers what an instance has seen."""

    seen: set[int] = set()  # noqa: RUF012 (the mistake that is looked for)

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        known = message.number in self.seen
        self.seen.add(message.number)
        return None if known else message


class SharesForAWhile(Stage):
    """Its class holds what is open, and forgets it at the end of the script: one instance after another is fine."""

    waiting: list[Wish] = []  # noqa: RUF012 (the mistake that is looked for)

    @on(Wish)
    def _wish(self, message: Wish, context: Context) -> Outcome:
        self.waiting.append(message)
        return None

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        for wish in self.waiting:
            yield Granted(request=wish.request)
        self.waiting.clear()
        yield message


class AnswersTwice(Stage):
    """Answers a wish, and passes it on as well, and answers it again."""

    @on(Wish)
    def _wish(self, message: Wish, context: Context) -> Outcome:
        return Granted(request=message.request), Granted(request=message.request)


class NeverAnswers(Stage):
    """Takes a wish and forgets it."""

    @on(Wish)
    def _wish(self, message: Wish, context: Context) -> Outcome:
        return None


class KnowsItsThread(Stage):
    """Behaves otherwise on a thread of a runner."""

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        return message if threading.current_thread().name == "check_stage" else None


class ReturnsNonsense(Stage):
    """Returns something that is no message."""

    @on(Up)
    def _up(self, message: Up, context: Context) -> Outcome:
        return [5]  # type: ignore[list-item]


class FailsToClose(Stage):
    """Fails at its end."""

    def close(self, context: Context) -> Iterable[Message]:
        raise RuntimeError("no")


PICKY = Pass()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Swallows, "Initialized did not pass through"),
        (SwallowsOneWay, "_UnknownToClient did not pass through, at once and once"),
        (Doubles, "_UnknownToClient did not pass through, at once and once"),
        (Reorders, "did not pass through"),
        (Overtakes, "_UnknownToAgent did not pass through, at once and once"),
        (HidesTheClient, "Initialized did not pass through"),
        (ClosesOnce, "Closing did not pass through"),
        (ForgetsStrangers, "the stage failed on SessionClosed: KeyError"),
        (SharesForGood, "is state shared between instances"),
        (SharesForAWhile, "is state shared between instances"),
        (AnswersTwice, "the request 1 was answered 2 times"),
        (NeverAnswers, "the request 1 was never answered"),
        (KnowsItsThread, "behaved otherwise on a thread"),
        (ReturnsNonsense, "the stage failed on Up: StageOutputError"),
        (FailsToClose, r"the stage failed on close\(\): RuntimeError"),
        (lambda: PICKY, "make\\(\\) gave the same instance twice"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bad_stage_is_caught(make: Callable[[], Stage], complaint: str) -> None:
    """A stage that breaks a rule is caught, and the report says which."""
    with pytest.raises(AssertionError, match=complaint):
        check_stage(make, [Up(number=1), Wish(request=1), Down(number=1)])


def let_go(event: threading.Event) -> None:
    """End the thread that a check has left behind, for the tests that follow."""
    event.set()
    for thread in threading.enumerate():
        if thread.name == "check_stage":
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.parametrize("place", ["handle", "close", "make"])
def test_a_stage_that_waits_is_caught(place: str) -> None:
    """A stage that waits for something, anywhere, is caught when the time is over; the test goes on without it."""
    for_ever = threading.Event()

    class Waits(Stage):
        def __init__(self) -> None:
            if place == "make":
                for_ever.wait(60)

        @on(Up)
        def _up(self, message: Up, context: Context) -> Outcome:
            if place == "handle":
                for_ever.wait(60)
            return message

        def close(self, context: Context) -> Iterable[Message]:
            if place == "close":
                for_ever.wait(60)
            return ()

    doing = {"handle": "Up", "close": r"close\(\)", "make": "being made"}[place]
    with pytest.raises(AssertionError, match=f"did not come back from {doing} in {SHORT} s"):
        check_stage(Waits, [Up()], seconds=SHORT)
    let_go(for_ever)


def test_a_stage_that_waits_for_time_is_caught() -> None:
    """A stage that turns until the clock has moved is caught, since the clock of the check stands still."""
    stop = threading.Event()

    class Turns(Stage):
        @on(Up)
        def _up(self, message: Up, context: Context) -> Outcome:
            until = context.now() + 0.001
            while context.now() < until and not stop.is_set():
                pass
            return message

    with pytest.raises(AssertionError, match="did not come back from Up"):
        check_stage(Turns, [Up()], seconds=SHORT)
    let_go(stop)


def test_a_stage_that_waits_only_on_a_thread_is_caught() -> None:
    """A stage that hangs on the runner's thread only is caught as well, and does not hang the test."""
    for_ever = threading.Event()

    class Waits(Stage):
        @on(Up)
        def _up(self, message: Up, context: Context) -> Outcome:
            if threading.current_thread().name.startswith("stage"):
                for_ever.wait(60)
            return message

    with pytest.raises(AssertionError, match="did not come back from its own thread"):
        check_stage(Waits, [Up()], seconds=SHORT)
    let_go(for_ever)


def test_what_is_public() -> None:
    """`middleware.testing` says what of it is public, and has it."""
    assert all(hasattr(testing, name) for name in testing.__all__)
