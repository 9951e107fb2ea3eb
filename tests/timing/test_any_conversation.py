"""Conversations that nobody would think of: whatever comes in whatever order, nothing breaks and each request is
answered once. They are made up at random, always the same ones."""

from __future__ import annotations

import random
from collections.abc import Callable

import attrs
import pytest

from middleware import Message, Pipeline, StepRunner
from middleware.messages import (
    AgentGone,
    Ask,
    CancelRequest,
    Closing,
    Interrupted,
    Prompt,
    SessionRestarted,
)
from middleware.stages import CancelDrop, Turns
from middleware.testing import assert_one_answer
from tests.timing.words import (
    S,
    ask_for,
    cancel,
    closed,
    echoed,
    follow_up,
    gate,
    level,
    prompt,
    reply,
    requesting,
    result,
    started,
    state,
    subagent,
    text,
    tool_result,
    unlisted,
    use,
    use_begins,
    withdrawn,
    work,
)

Word = Message | float

ALWAYS: list[Word] = [
    prompt(1),
    prompt(1),
    prompt(1),
    prompt(1, "t"),
    cancel(),
    cancel(),
    cancel("t"),
    ask_for("x"),
    ask_for("y"),
    ask_for("x", agent="a"),
    gate("x"),
    reply("x"),
    reply("y"),
    withdrawn("x"),
    withdrawn("y"),
    use("x"),
    use_begins("y"),
    use("y", parent="call of a"),
    tool_result("x"),
    tool_result("y"),
    text("words", message="m1"),
    text("words", whole=True),
    text("words", parent="call of a"),
    unlisted(),
    requesting(),
    follow_up(),
    follow_up(num_turns=0, is_error=True),
    result(),
    work("running"),
    work("idle"),
    subagent("a"),
    subagent("a", "ended"),
    subagent("a", background=False, run="1"),
    subagent("a", "ended", run="2"),
    level(),
    level("a"),
    AgentGone(session=S),
    SessionRestarted(session=S),
    closed(),
    0.5,
    2.0,
    30.0,
]
"""What can come at any time; the prompts are numbered as they come, and so are the asks."""

OF_A_PROMPT: list[Callable[[int], Message]] = [
    started,
    started,
    echoed,
    result,
    result,
    requesting,
    lambda number: result(number, number + 1),
    lambda number: result(number, is_error=True, text="failed"),
    lambda number: state(number, "completed"),
    lambda number: state(number, "cancelled"),
    lambda number: state(number, "refused"),
    lambda number: Interrupted(session=S, dropped=(f"p{number}",)),
    lambda number: CancelRequest(request=number),
]
"""What is about one prompt, which may be over, or yet to come."""


def made_up(chance: random.Random) -> list[Word]:
    """A conversation of up to 60 words."""
    return [
        chance.choice(OF_A_PROMPT)(chance.randint(1, 3)) if chance.random() < 0.4 else chance.choice(ALWAYS)
        for _ in range(chance.randint(10, 60))
    ]


def numbered(words: list[Word]) -> list[Word]:
    """Each prompt and each ask with a name of its own; the first ask for a tool use keeps the one that replies know."""
    prompts, taken, named = 0, set[str](), list[Word]()
    for word in words:
        if isinstance(word, Prompt):
            prompts += 1
            word = prompt(prompts, word.session)
        elif isinstance(word, Ask):
            word = attrs.evolve(word, ask=f"{word.ask} {len(named)}") if word.ask in taken else word
            taken.add(word.ask)
        named.append(word)
    return named


@pytest.mark.parametrize("seed", range(24))
def test_whatever_comes(seed: int) -> None:
    """No message breaks a stage, no prompt and no ask is answered twice, and none is left when all is over."""
    chance = random.Random(seed)
    for _ in range(100):
        conversation = numbered(made_up(chance))
        runner = StepRunner(Pipeline([CancelDrop(one_order=chance.random() < 0.5), Turns()]))
        try:
            for word in conversation:
                if isinstance(word, float):
                    runner.advance(word)
                else:
                    runner.feed(word).run()
            runner.feed(Closing()).close()
            assert_one_answer(runner)
            assert len(runner.timers) == 0
        except Exception as error:
            raise AssertionError(f"{error!r} in {conversation}") from error
