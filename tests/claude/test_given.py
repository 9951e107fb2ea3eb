"""The prompts that a Claude Code was given: what its frames say of them."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.given import REMEMBERED, GivenPrompts
from middleware import acp
from middleware.messages import Prompt


def given(*numbers: int) -> GivenPrompts:
    prompts = GivenPrompts()
    for number in numbers:
        prompts.give(Prompt(session="s", request=number, prompt=f"p{number}", content=()))
    return prompts


def state(number: int, word: str) -> dict[str, Any]:
    return {"type": "command_lifecycle", "command_uuid": f"p{number}", "state": word}


def told(prompts: GivenPrompts) -> tuple[str, str, str]:
    """Those that run, that wait, and that were never taken."""
    lists = (prompts.running, prompts.waiting, prompts.late)
    running, waiting, late = (" ".join(prompt.prompt for prompt in listed) for listed in lists)
    return running, waiting, late


def test_from_the_queue_to_its_end() -> None:
    """A prompt is late until Claude Code says something of it, waits until it starts, and runs until its result."""
    prompts = given(1, 2)
    assert told(prompts) == ("", "p1 p2", "p1 p2")
    prompts.observe(state(1, "queued"))
    assert told(prompts) == ("", "p1 p2", "p2")
    prompts.observe(state(1, "started"))
    assert told(prompts) == ("p1", "p2", "p2")
    prompts.observe({"type": "result", "user_message_uuid": "p1"})
    assert told(prompts) == ("", "p2", "p2")
    assert prompts.names == ["p1", "p2"]


@pytest.mark.parametrize("end", [{"type": "result", "user_message_uuid": "p1"}, state(1, "discarded")])
def test_what_is_over_is_known_by_name(end: dict[str, Any]) -> None:
    """Of a prompt that is over only the name is kept (its content may be pictures), and it is nobody's any more, also
    when a Claude Code that tells nothing of its queue took it."""
    prompts = given()
    prompts.give(Prompt(session="s", request=1, prompt="p1", content=(acp.TextContent(text="long"),), meta={"a": 1}))
    assert "long" in repr(prompts)
    prompts.observe(end)
    assert told(prompts) == ("", "", "")
    assert prompts.names == ["p1"]
    assert "long" not in repr(prompts)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "result", "user_message_uuids": ["p1", "p2"]},
        {"type": "result", "user_message_uuid": "p2"},
        {"type": "system", "subtype": "session_state_changed", "state": "idle"},
    ],
    ids=["names both", "names the last", "idle"],
)
def test_a_turn_of_several_prompts(frame: dict[str, Any]) -> None:
    """The end of a turn is the end of all prompts that were folded into it, and of none that waits."""
    prompts = given(1, 2, 3)
    for number in (1, 2):
        prompts.observe(state(number, "started"))
    assert told(prompts) == ("p1 p2", "p3", "p3")
    prompts.observe(frame)
    assert told(prompts) == ("", "p3", "p3")


@pytest.mark.parametrize("word", ["cancelled", "discarded", "refused"])
def test_one_that_never_runs(word: str) -> None:
    """What Claude Code gave up is not given to another one."""
    prompts = given(1)
    prompts.observe(state(1, word))
    assert told(prompts) == ("", "", "")


def test_one_that_was_stopped() -> None:
    """What an interrupt named must not run, neither here nor at a successor; if it runs already it is named as such."""
    prompts = given(1, 2)
    prompts.observe(state(1, "started"))
    prompts.stop(["p1", "p2", "nobody"])
    assert told(prompts) == ("p1", "", "")
    assert prompts.stopped == ["p1", "p2"]


def test_what_says_nothing() -> None:
    """Frames of other prompts, and odd ones, change nothing."""
    prompts = given(1)
    for frame in (
        state(9, "started"),
        {"type": "command_lifecycle", "command_uuid": "p9", "state": ["discarded"]},
        {"type": "result"},
        {"type": "result", "user_message_uuids": "p1"},
        {"type": "system", "subtype": "session_state_changed", "state": "running"},
    ):
        prompts.observe(frame)
    assert told(prompts) == ("", "p1", "p1")
    prompts.observe({"type": "command_lifecycle", "command_uuid": "p1", "state": ["discarded"]})
    assert told(prompts) == ("", "p1", "")


def test_only_so_many_are_remembered() -> None:
    """The oldest is forgotten first."""
    prompts = given(*range(REMEMBERED + 1))
    assert (len(prompts.names), prompts.names[0]) == (REMEMBERED, "p1")


def test_completed_without_a_start() -> None:
    """A prompt that Claude Code takes for one that it had already is over with its idle, though it never ran."""
    prompts = given(1)
    prompts.observe(state(1, "completed"))
    assert told(prompts) == ("", "p1", "")
    prompts.observe({"type": "system", "subtype": "session_state_changed", "state": "idle"})
    assert told(prompts) == ("", "", "")
