"""`IdleCompaction` alone, with time standing still: when an idle session is compacted, and what keeps it from it."""

from __future__ import annotations

from typing import Any

import pytest
from freezegun import freeze_time

from middleware import Message, Pipeline, StepRunner, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Cancel,
    Compaction,
    MessageStarted,
    Prompt,
    PromptState,
    RateLimit,
    Result,
    SessionClosed,
    SessionRestarted,
    Text,
    TurnEnded,
    Usage,
    WorkState,
)
from middleware.stages import IdleCompaction, Turns
from middleware.stages.idle_compaction import DELAY, LATE, LEAST
from middleware.testing import FrozenClock, check_stage

S = "s"
PROMPT = Prompt(session=S, request=1, prompt="p1", content=(acp.TextContent(text="hello"),))
ANSWER = MessageStarted(session=S, message="m1", hour_cache=True)
LONG = Usage(session=S, used=250_000, size=1_000_000)
ENDED = TurnEnded(session=S, request=1, prompt="p1")
IDLE, BUSY = WorkState(session=S, state="idle"), WorkState(session=S, state="running")
TURN: tuple[Message, ...] = (PROMPT, BUSY, ANSWER, LONG, ENDED, IDLE)
OURS = PromptState(session=S, prompt="u1", state="started")
OUR_END = TurnEnded(session=S, request="idleCompaction u1", prompt="u1")


class Run:
    """The stage with uuids u1, u2, ..., and what came out of it."""

    def __init__(self, **environment: str) -> None:
        numbers = iter(range(1, 100))
        self.stage = IdleCompaction(environment=environment, new_uuid=lambda: f"u{next(numbers)}")
        self.runner = StepRunner(Pipeline([self.stage]))

    def play(self, *messages: Message) -> Run:
        for message in messages:
            self.runner.feed(message).run()
        return self

    def wait(self, seconds: float = DELAY) -> Run:
        self.runner.advance(seconds)
        return self

    def reply(self, settings: Any = None, failure: Failure | None = None) -> Run:
        """Claude Code's settings, for the last call."""
        result = {"effective": settings if settings is not None else {}}
        return self.play(AgentReply(session=S, call=self.calls[-1].call, result=result, failure=failure))

    @property
    def calls(self) -> list[AgentCall]:
        return [message for message in self.runner.agent if isinstance(message, AgentCall)]

    @property
    def prompts(self) -> list[Prompt]:
        """Ours."""
        return [message for message in self.runner.agent if isinstance(message, Prompt) and message is not PROMPT]

    @property
    def client(self) -> list[Message]:
        return self.runner.client


# ------------------------------------------------------------------------------------------ when


def test_it_is_compacted() -> None:
    """54 minutes after its last request an idle session gets a `/compact`, once its settings have been looked at."""
    run = Run().play(*TURN).wait(DELAY - 0.001)
    assert run.calls == []
    run.wait(0.001)
    assert [(call.name, dict(call.arguments)) for call in run.calls] == [("get_settings", {})]
    assert run.prompts == []
    run.reply()
    assert run.prompts == [
        Prompt(session=S, request="idleCompaction u1", prompt="u1", content=(acp.TextContent(text="/compact"),))
    ]


def test_with_frozen_time() -> None:
    """The same by the clock of freezegun: 54 minutes, and not a second earlier."""
    with freeze_time("2026-11-30 12:00") as frozen:
        run = Run()
        run.runner = StepRunner(Pipeline([run.stage]), clock=FrozenClock(frozen))
        run.play(*TURN)
        frozen.tick(DELAY - 1)
        run.runner.expire()
        run.runner.run()
        assert run.calls == []
        frozen.tick(1)
        run.runner.expire()
        run.runner.run()
        assert len(run.calls) == 1


def test_measured_from_the_request() -> None:
    """The time runs from the request's first sighting, not from the end of the turn."""
    run = Run().play(PROMPT, BUSY, ANSWER).wait(600).play(ANSWER, LONG, ENDED, IDLE)
    run.wait(DELAY - 600)
    assert len(run.calls) == 1


def test_a_turn_that_was_longer() -> None:
    """Where the time was over before the session became idle it is compacted at once, while that still helps."""
    run = Run().play(PROMPT, BUSY, ANSWER, LONG).wait(DELAY + LATE).play(ENDED, IDLE).wait(0)
    assert len(run.calls) == 1
    run = Run().play(PROMPT, BUSY, ANSWER, LONG).wait(DELAY + LATE + 1).play(ENDED, IDLE).wait(0)
    assert run.calls == []


def test_a_machine_that_slept() -> None:
    """A timer that is more than a minute late is for nothing: the cache has forgotten."""
    for late, calls in ((LATE, 1), (LATE + 1, 0)):
        with freeze_time("2026-11-30 12:00") as frozen:
            run = Run()
            run.runner = StepRunner(Pipeline([run.stage]), clock=FrozenClock(frozen))
            run.play(*TURN)
            frozen.tick(DELAY + late)
            run.runner.expire()
            run.runner.run()
            assert len(run.calls) == calls


def test_once() -> None:
    """For one request it is tried once, however it ends; the next request counts anew."""
    run = Run().play(*TURN).wait().reply().play(BUSY, OURS, OUR_END, IDLE).wait(10 * DELAY)
    assert len(run.prompts) == 1
    run.play(PROMPT, BUSY, MessageStarted(session=S, message="m2"), LONG, ENDED, IDLE).wait().reply()
    assert len(run.prompts) == 2


# ------------------------------------------------------------------------------------------ what keeps it from it


@pytest.mark.parametrize(
    "turn",
    [
        (PROMPT, BUSY, MessageStarted(session=S, message="m1"), LONG, ENDED, IDLE),
        (PROMPT, BUSY, MessageStarted(session=S, message="m1", hour_cache=True, parent="t"), LONG, ENDED, IDLE),
        (PROMPT, BUSY, ANSWER, Usage(session=S, used=LEAST - 1, size=200_000), ENDED, IDLE),
        (PROMPT, BUSY, ANSWER, LONG, RateLimit(session=S, info={"status": "allowed_warning"}), ENDED, IDLE),
        (PROMPT, BUSY, ANSWER, LONG, RateLimit(session=S, info={"status": "rejected"}), ENDED, IDLE),
        (PROMPT, BUSY, ANSWER, LONG, Compaction(session=S, state="completed", compaction="c"), ENDED, IDLE),
        (PROMPT, BUSY, ANSWER, LONG, ENDED),
        (PROMPT, BUSY, ANSWER, LONG, IDLE),
        (BUSY, IDLE),
    ],
    ids=[
        "no cache of an hour",
        "only a subagent's",
        "short",
        "a limit is near",
        "a limit is reached",
        "compacted",
        "busy",
        "a prompt is open",
        "no request",
    ],
)
def test_nothing_to_gain(turn: tuple[Message, ...]) -> None:
    """A session that has no hour, is short, near a limit, compacted or at work is left alone."""
    assert Run().play(*turn).wait(2 * DELAY).calls == []


@pytest.mark.parametrize("info", [{"status": "allowed"}, {}])
def test_no_limit(info: dict[str, Any]) -> None:
    """A limit that is far, or unknown, keeps nothing back."""
    assert len(Run().play(PROMPT, ANSWER, RateLimit(session=S, info=info), LONG, ENDED, IDLE).wait().calls) == 1


def test_the_hour_is_remembered() -> None:
    """A later request that only reads what is cached is cached for as long."""
    run = Run().play(*TURN, PROMPT, BUSY, MessageStarted(session=S, message="m2"), LONG, ENDED, IDLE)
    assert len(run.wait().calls) == 1


def test_a_prompt_that_ends_behind_the_idle() -> None:
    """A prompt that is held beyond the idle counts as work until it is answered."""
    assert len(Run().play(PROMPT, BUSY, ANSWER, LONG, IDLE, ENDED).wait().calls) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"idleCompaction": False},
        {"autoCompactEnabled": False},
        {"env": {"DISABLE_COMPACT": "1"}},
        {"env": {"DISABLE_COMPACT": "TRUE"}},
        {"env": {"DISABLE_AUTO_COMPACT": "on"}},
        {"env": {"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "250001"}},
    ],
)
def test_settings(settings: dict[str, Any]) -> None:
    """The settings turn it off, or want a longer conversation."""
    run = Run().play(*TURN).wait().reply(settings)
    assert run.prompts == []
    assert run.wait(10 * DELAY).prompts == []


@pytest.mark.parametrize(
    ("variable", "value", "compacts"),
    [
        ("DISABLE_COMPACT", "yes", False),
        ("DISABLE_AUTO_COMPACT", " 1 ", False),
        ("DISABLE_COMPACT", "0", True),
        ("DISABLE_COMPACT", "", True),
        ("CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS", "250001", False),
        ("CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS", "250000", True),
        ("CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS", "many", True),
    ],
)
def test_environment(variable: str, value: str, compacts: bool) -> None:
    """So does the environment; the settings' `env` comes before it."""
    assert bool(Run(**{variable: value}).play(*TURN).wait().reply().prompts) is compacts
    assert Run(**{variable: value}).play(*TURN).wait().reply({"env": {variable: "0"}}).prompts


@pytest.mark.parametrize(
    ("used", "least", "compacts"), [(199_999, "", False), (200_000, "", True), (100_000, "5", True)]
)
def test_how_long_it_must_be(used: int, least: str, compacts: bool) -> None:
    """200,000 tokens where nothing is set, and 100,000 in any case."""
    long = Usage(session=S, used=used, size=1_000_000)
    run = Run(CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS=least).play(PROMPT, BUSY, ANSWER, long, ENDED, IDLE)
    assert bool(run.wait().reply().prompts) is compacts


@pytest.mark.parametrize(("settings", "failure"), [(None, Failure.internal()), ("nonsense", None)])
def test_settings_that_cannot_be_read(settings: Any, failure: Failure | None) -> None:
    """Where the person's wish is not known nothing is done."""
    assert Run().play(*TURN).wait().reply(settings, failure).prompts == []


# ------------------------------------------------------------------------------------------ what the person does


DISARMS: list[Message] = [
    PROMPT,
    Cancel(session=S),
    BUSY,
    MessageStarted(session=S, message="m2"),
    AgentGone(session=S),
    SessionRestarted(session=S),
    SessionClosed(session=S),
]


@pytest.mark.parametrize("act", DISARMS, ids=[type(message).__name__ for message in DISARMS])
def test_disarmed(act: Message) -> None:
    """Whatever is done in the session before the time is over stops it, also while the settings are looked at."""
    assert Run().play(*TURN).wait(DELAY - 1).play(act).wait(10).calls == []
    run = Run().play(*TURN).wait()
    assert run.play(act).reply().prompts == []


def test_another_session_does_not_disarm() -> None:
    """What is done elsewhere changes nothing here."""
    run = Run().play(*TURN, Cancel(session="other"), WorkState(session="other", state="running"))
    assert len(run.wait().calls) == 1


# ------------------------------------------------------------------------------------------ our prompt


def test_nobody_is_answered() -> None:
    """The client hears of the compaction, with its trigger, and of nothing else of a prompt that it did not send."""
    run = Run().play(*TURN).wait().reply()
    before = len(run.client)
    done = Compaction(session=S, state="completed", compaction="c", trigger="manual", tokens=7)
    begun = Compaction(session=S, state="in_progress", compaction="c")
    run.play(BUSY, OURS, begun, done, Text(session=S, text="Compacted"), Text(session=S, text="x", parent="t"), OUR_END)
    shown = [message for message in run.client[before:] if not isinstance(message, WorkState | PromptState)]
    idle = Compaction(session=S, state="completed", compaction="c", trigger="idle", tokens=7)
    assert shown == [begun, idle, Text(session=S, text="x", parent="t")]


def test_a_prompt_behind_ours() -> None:
    """What the person asks for meanwhile is answered as ever, and a typed `/compact` is theirs."""
    run = Run().play(*TURN).wait().reply().play(OURS, PROMPT)
    begun = PromptState(session=S, prompt="p1", state="started")
    done = Compaction(session=S, state="completed", compaction="c", trigger="manual")
    before = len(run.client)
    run.play(OUR_END, begun, done, Text(session=S, text="Compacted"), ENDED)
    assert run.client[before:] == [begun, done, Text(session=S, text="Compacted"), ENDED]


def test_ours_fails() -> None:
    """A compaction that fails is told by itself; the prompt's failure is nobody's."""
    run = Run().play(*TURN).wait().reply().play(OURS)
    before = len(run.client)
    run.play(TurnEnded(session=S, request="idleCompaction u1", prompt="u1", failure=Failure.internal("no")))
    assert run.client[before:] == []


def test_with_turns() -> None:
    """`Turns` takes our prompt for any other: it ends with its result."""
    stage = IdleCompaction(new_uuid=lambda: "u1")
    runner = StepRunner(Pipeline([stage, Turns()]))
    started, result = PromptState(session=S, prompt="p1", state="started"), Result(session=S, prompts=("p1",))
    for message in (PROMPT, BUSY, started, ANSWER, LONG, result, IDLE):
        runner.feed(message).run()
    runner.advance(DELAY)
    [call] = [message for message in runner.agent if isinstance(message, AgentCall)]
    runner.feed(AgentReply(session=S, call=call.call, result={"effective": {}})).run()
    assert [message.prompt for message in runner.agent if isinstance(message, Prompt)] == ["p1", "u1"]
    runner.feed(OURS, Result(session=S, prompts=("u1",)), IDLE).run()
    assert [message.request for message in runner.client if isinstance(message, TurnEnded)] == [1]


def test_other_replies_pass() -> None:
    """The answers to others' calls are theirs."""
    reply = AgentReply(session=S, call="/mcp 1")
    assert Run().play(reply).client == [reply]


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(IdleCompaction, TURN)
