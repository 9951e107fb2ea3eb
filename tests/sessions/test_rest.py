"""Whether a Claude Code has something to do, as its frames tell it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from acpbridge.sessions.rest import Rest


def _state(state: str) -> dict[str, Any]:
    return {"type": "system", "subtype": "session_state_changed", "state": state}


def _tasks(*names: str) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "background_tasks_changed",
        "tasks": [{"task_id": name} for name in names],
    }


CLOSED = {"type": "__closed__", "error": None}


@pytest.mark.parametrize(
    ("begun", "tasks", "end"),
    [
        ([], False, None),
        ([_state("running")], False, _state("idle")),
        ([_state("running"), _state("requires_action")], False, _state("idle")),
        ([_tasks("t")], False, None),
        ([_tasks("t"), _tasks()], True, _state("idle")),
        ([_tasks("t"), _state("running"), _state("idle"), _tasks(), _state("running")], True, _state("idle")),
        ([_state("running"), _tasks("t")], True, CLOSED),
    ],
)
def test_until_nothing_runs(begun: list[dict[str, Any]], tasks: bool, end: dict[str, Any] | None) -> None:
    """Who waits goes on with the frame that says the end, also that of the process; at once when nothing runs."""

    async def play() -> None:
        rest = Rest(has_prompts=lambda: False)
        for frame in begun:
            rest.observe(frame)
        waiting = asyncio.ensure_future(rest.come(tasks=tasks))
        await asyncio.sleep(0)
        assert waiting.done() == (end is None)
        if end is not None:
            rest.observe({"type": "assistant"})
            rest.observe(end)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(play())


def test_the_end_of_a_task_is_work() -> None:
    """What runs in the background is over with the turn in which Claude hears of its end."""
    rest = Rest(has_prompts=lambda: False)
    states = []
    for frame in (_tasks("t"), _state("idle"), _tasks(), _state("running"), _state("idle")):
        rest.observe(frame)
        states.append(rest.tasks)
    assert states == [True, True, True, True, False]


def test_a_prompt_before_the_state() -> None:
    """A prompt that was given is work, though Claude Code has not said a word of it: found by choosing an agent between
    a prompt and its start, when the new Claude Code took it for one that it had had already, and never answered it."""
    prompts = [True]

    async def play() -> None:
        rest = Rest(has_prompts=lambda: bool(prompts))
        waiting = asyncio.ensure_future(rest.come())
        await asyncio.sleep(0)
        rest.observe(_state("idle"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        prompts.clear()
        rest.observe({"type": "command_lifecycle", "state": "cancelled"})
        await asyncio.wait_for(waiting, 5)

    asyncio.run(play())


def test_another_takes_its_place() -> None:
    """What the old Claude Code did in the background is over with it, also where its end was not seen."""
    rest = Rest(has_prompts=lambda: False)
    rest.observe({"type": "system", "subtype": "background_tasks_changed", "tasks": [{"task_id": "t"}]})
    assert rest.tasks
    rest.begin_anew()
    assert not rest.tasks
