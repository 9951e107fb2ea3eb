"""The vocabulary of scripts, and scripts written into a prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpbridge.testing import (
    Cut,
    DirectiveError,
    Fail,
    FailInStream,
    Gate,
    Pause,
    Say,
    ScriptedModel,
    Step,
    Stop,
    Think,
    Usage,
    UseTool,
    Wait,
)
from acpbridge.testing.directive import find_directive
from acpbridge.testing.script import checked, due, in_directory

GATE = Gate("g")


def read(text: str) -> tuple[tuple[Step, ...], ...] | None:
    return find_directive(text, {"g": GATE}.__getitem__)


@pytest.mark.parametrize(
    ("written", "step"),
    [
        ({"text": "hi", "delay": 0.5, "each": 2}, Say("hi", each=2, pause=0.5)),
        ({"text": "hi", "chunks": ["h", "i"]}, Say("hi", chunks=("h", "i"))),
        ({"text": "t{i} ", "repeat": 3}, Say("t0 t1 t2 ", chunks=("t0 ", "t1 ", "t2 "))),
        ({"thinking": "hm", "delay": 0.5}, Think("hm", pause=0.5)),
        ({"tool": "Bash", "input": {"command": "ls"}}, UseTool("Bash", {"command": "ls"})),
        ({"tool": "Bash", "id": "t1", "pieces": 3, "delay": 1}, UseTool("Bash", id="t1", pieces=3, pause=1)),
        ({"pause": 0.25}, Pause(0.25)),
        ({"first_delay": 10}, Pause(10)),
        ({"wait": "g"}, Wait(GATE)),
        ({"usage": {"input": 7, "output": 3, "cache_read": 2}}, Usage(7, 3, cache_read=2)),
        ({"stop": "refusal"}, Stop("refusal")),
        ({"error": 429, "retry_after": 2, "times": 1}, Fail(429, retry_after=2, times=1)),
        ({"error": 400, "type": "odd", "message": "bad"}, Fail(400, "odd", "bad")),
        ({"stream_error": "api_error", "message": "bad"}, FailInStream("api_error", "bad")),
        ({"cut": True, "times": 2}, Cut(times=2)),
    ],
)
def test_a_directive_has_a_form_for_every_step(written: dict[str, Any], step: Step) -> None:
    """Each step of the vocabulary can be written in a prompt."""
    assert read(f"go [[do: {json.dumps([[written]])}]] now") == ((step,),)


def test_a_directive_has_rounds() -> None:
    """The JSON is a list of rounds, and a list of steps alone is one round."""
    assert read('[[do: [[{"text": "a"}], [{"text": "b"}]]]]') == ((Say("a"),), (Say("b"),))
    assert read('[[do: [{"text": "a"}, {"text": "b"}]]]') == ((Say("a"), Say("b")),)


def test_a_directive_may_hold_another_in_a_tool_input() -> None:
    """The prompt of a subagent, with its own directive, stands inside the input of the Agent tool."""
    inner = '[[do: [[{"text": "sub"}]]]]'
    outer = f"[[do: {json.dumps([[{'tool': 'Agent', 'input': {'prompt': inner}}]])}]]"
    assert read(outer) == ((UseTool("Agent", {"prompt": inner}),),)


def test_a_prompt_without_a_directive_has_no_script() -> None:
    """Other brackets are text."""
    assert read("[[not: one]] [do: x]") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[do: [[}]]", "no valid JSON"),
        ('[[do: [[{"text": "a"}]] and more', "not closed"),
        ('[[do: {"text": "a"}]]', "needs a list of rounds"),
        ('[[do: [["a"]]]]', "a step is an object"),
        ('[[do: [[{"txet": "a"}]]]]', "is none of the steps"),
        ('[[do: [[{"text": "a", "tines": 2}]]]]', "has no tines"),
        ('[[do: [[{"text": "a"}, {"error": 529}]]]]', "use FailInStream"),
        ('[[do: [[{"text": "a", "each": 0}]]]]', "must be at least 1"),
        ('[[do: [[{"usage": {"inputs": 1}}]]]]', "inputs"),
    ],
)
def test_a_wrong_directive_is_refused(text: str, complaint: str) -> None:
    """A mistake in a directive says what is wrong instead of being taken for text."""
    with pytest.raises(DirectiveError, match=complaint):
        read(text)


def test_chunks_are_the_text() -> None:
    """A step given as its deltas has their text, and contradictory chunks are refused."""
    assert Say.pieces(["a", "b"]) == Say("ab", chunks=("a", "b"))
    with pytest.raises(ValueError, match="joined"):
        Say("abc", chunks=("a", "b"))


def test_a_pause_is_not_negative() -> None:
    """A negative number of seconds is refused."""
    with pytest.raises(ValueError, match="must not be negative"):
        Pause(-1)


def test_a_script_is_a_list_of_rounds() -> None:
    """A list of steps where a list of rounds belongs is refused with words."""
    with pytest.raises(TypeError, match="a script is a list of rounds"):
        checked([Say("a")])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not a step"):
        checked([["a"]])  # type: ignore[list-item]


def test_failures_are_used_up() -> None:
    """A failure with `times` is left out once so many tries failed, and nothing is played after the one that is due."""
    reply: list[Step] = [Fail(529, times=2), Say("part"), Cut(times=1), Say("rest")]
    played = [list(due(reply, attempt)) for attempt in (1, 2, 3, 4)]
    assert played == [
        [Fail(529, times=2)],
        [Fail(529, times=2)],
        [Say("part"), Cut(times=1)],
        [Say("part"), Say("rest")],
    ]


def test_a_failure_without_times_fails_always() -> None:
    """Without `times` no try succeeds."""
    assert list(due([Fail(400), Say("never")], 50)) == [Fail(400)]


def test_the_directory_is_put_into_tool_inputs() -> None:
    """`$CWD` is replaced in every string of a tool's input, and nowhere else."""
    step = UseTool("X", {"a": "$CWD/f", "b": [{"c": "in $CWD"}], "n": 1})
    assert in_directory(step, "/w") == UseTool("X", {"a": "/w/f", "b": [{"c": "in /w"}], "n": 1})
    assert in_directory(Say("$CWD"), "/w") == Say("$CWD")


def test_a_gate_is_known_by_its_name() -> None:
    """The same name gives the same gate, no name a new one."""
    model = ScriptedModel()
    assert model.gate("a") is model.gate("a")
    assert model.gate() is not model.gate()


def test_a_gate_that_nobody_reaches_says_so() -> None:
    """Waiting for a reply that does not come ends with an error that names the gate."""
    with pytest.raises(TimeoutError, match="'lonely'"):
        Gate("lonely").wait_reached(timeout=0)
