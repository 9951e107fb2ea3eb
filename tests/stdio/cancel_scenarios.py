"""What can be going on when a person cancels: one function a case, played by the tests and by `repeat_cancels`.

A case brings the session to its point, cancels, and returns the prompts that must be answered `cancelled`. `play`
checks what holds for all of them: nothing open, nothing of the stopped work afterwards, the next prompt answered by its
own.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from acpbridge.testing import Gate, Say, ScriptedModel, Think, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Seen, wait_for_file

_numbers = itertools.count(1)


@attrs.define
class Stage:
    """What a case has to work with. `word` is part of its prompts and of no other's."""

    agent: AgentProcess
    model: ScriptedModel
    session: str
    work: Path
    word: str = attrs.field(factory=lambda: f"case{next(_numbers)}")
    gates: list[Gate] = attrs.field(factory=list)
    cancelled_at: float = 0.0

    def gate(self) -> Gate:
        gate = self.model.gate()
        self.gates.append(gate)
        return gate

    def script(self, name: str, *rounds: object) -> str:
        """Register the script of a prompt; the prompt's text."""
        prompt = f"{self.word} {name}"
        self.model.on(prompt, rounds)  # type: ignore[arg-type]
        return prompt

    def prompt(self, name: str, *rounds: object) -> int:
        return self.agent.prompt(self.session, self.script(name, *rounds))

    def cancel(self) -> None:
        self.cancelled_at = time.monotonic()
        self.agent.cancel(self.session)

    def asked(self) -> None:
        """Wait until the model has been asked for a prompt of this case."""
        self.model.wait_for_request(lambda request: request.kind == "main" and self.word in request.prompt)


Case = Callable[[Stage], list[int]]


def mid_text(stage: Stage) -> list[int]:
    """The answer streams."""
    prompt = stage.prompt("story", [Say(f"{stage.word} begins"), Wait(stage.gate()), Say("STOPPED WORK")])
    stage.agent.chunk(f"{stage.word} begins")
    stage.cancel()
    return [prompt]


def thinking(stage: Stage) -> list[int]:
    """The model thinks."""
    prompt = stage.prompt("think", [Think(f"{stage.word} ponders"), Wait(stage.gate()), Say("STOPPED WORK")])
    stage.agent.wait_for(lambda seen: f"{stage.word} ponders" in stage.agent.text(seen, "agent_thought_chunk"))
    stage.cancel()
    return [prompt]


def tool_input(stage: Stage) -> list[int]:
    """The input of a tool streams."""
    path = stage.work / f"{stage.word}.txt"
    content = {"file_path": str(path), "content": "x" * 400}
    step = UseTool("Write", content, pieces=40, pause=0.05)
    prompt = stage.prompt("input", [Say(f"{stage.word} writes"), step], [Say("STOPPED WORK")])
    stage.agent.wait_for(lambda seen: _calls(seen, stage))
    stage.cancel()
    return [prompt]


def bash_runs(stage: Stage) -> list[int]:
    """A command runs. It says so by making a file that the test waits for through a pipe."""
    marker = f"touch {stage.word}.started && tail -f /dev/null"
    prompt = stage.prompt("run", [UseTool("Bash", {"command": marker})], [Say("STOPPED WORK")])
    stage.agent.permission(_asks(stage) + 1)
    wait_for_file(stage.work / f"{stage.word}.started")
    stage.cancel()
    return [prompt]


def permission_never(stage: Stage) -> list[int]:
    """A permission is asked for, and the client never answers it."""
    stage.agent.choose = None
    prompt = _ask(stage)
    stage.cancel()
    return [prompt]


def permission_answered(stage: Stage) -> list[int]:
    """A permission is asked for, and the client answers `cancelled`, as ACP wants it to."""
    stage.agent.choose = None
    prompt = _ask(stage)
    request = stage.agent.permission(_asks(stage))
    stage.cancel()
    stage.agent.reply(request, None)
    return [prompt]


def permission_late(stage: Stage) -> list[int]:
    """A permission is asked for, and is allowed when the prompt has been answered already."""
    stage.agent.choose = None
    prompt = _ask(stage)
    request = stage.agent.permission(_asks(stage))
    stage.cancel()
    stage.agent.answer(prompt)
    stage.agent.write(
        b'{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"allow-once"}}}\n'
        % request["id"]
    )
    return [prompt]


def parallel_tools(stage: Stage) -> list[int]:
    """Three tools at once: the first is asked for, the others wait behind it."""
    stage.agent.choose = None
    tools = [_write(stage, f"parallel{number}") for number in range(3)]
    before = _asks(stage)
    prompt = stage.prompt("parallel", [Say(f"{stage.word} three"), *tools], [Say("STOPPED WORK")])
    stage.agent.permission(before + 1)
    stage.cancel()
    return [prompt]


def before_the_first_event(stage: Stage) -> list[int]:
    """The model has been asked and says nothing yet."""
    prompt = stage.prompt("silent", [Wait(stage.gate()), Say("STOPPED WORK")])
    stage.asked()
    stage.cancel()
    return [prompt]


def when_idle(stage: Stage) -> list[int]:
    """Nothing runs: nothing happens."""
    stage.cancel()
    return []


def twice(stage: Stage) -> list[int]:
    """The person cancels twice."""
    prompt = stage.prompt("double", [Say(f"{stage.word} twice"), Wait(stage.gate()), Say("STOPPED WORK")])
    stage.agent.chunk(f"{stage.word} twice")
    stage.cancel()
    stage.agent.cancel(stage.session)
    return [prompt]


def queued(stage: Stage) -> list[int]:
    """A second and a third prompt wait behind the first."""
    first = stage.prompt("first", [Say(f"{stage.word} one"), Wait(stage.gate()), Say("STOPPED WORK")])
    stage.agent.chunk(f"{stage.word} one")
    second = stage.prompt("second", [Say("STOPPED WORK")])
    third = stage.prompt("third", [Say("STOPPED WORK")])
    stage.cancel()
    return [second, third, first]


def queued_behind_a_tool(stage: Stage) -> list[int]:
    """A second prompt waits while a permission is open: Claude Code would fold it into the turn."""
    stage.agent.choose = None
    first = _ask(stage)
    second = stage.prompt("second", [Say("STOPPED WORK")])
    stage.cancel()
    return [second, first]


def between_result_and_request(stage: Stage) -> list[int]:
    """A tool has given its result, and the model is asked again and says nothing yet."""
    command = UseTool("Bash", {"command": f"echo {stage.word}"})
    prompt = stage.prompt("between", [command], [Wait(stage.gate()), Say("STOPPED WORK")])
    stage.model.wait_for_request(lambda request: stage.word in request.prompt and request.round == 1)
    stage.cancel()
    return [prompt]


def after(milliseconds: float) -> Case:
    """The cancel comes this long after the prompt."""

    def case(stage: Stage) -> list[int]:
        prompt = stage.prompt("quick", [Say(f"{stage.word} quick"), Wait(stage.gate()), Say("STOPPED WORK")])
        if milliseconds:
            threading.Event().wait(milliseconds / 1000)  # the delay is the input of this case
        stage.cancel()
        return [prompt]

    case.__name__ = f"after_{milliseconds:g}_ms"
    return case


CASES: tuple[Case, ...] = (
    mid_text,
    thinking,
    tool_input,
    bash_runs,
    permission_never,
    permission_answered,
    permission_late,
    parallel_tools,
    before_the_first_event,
    between_result_and_request,
    when_idle,
    twice,
    queued,
    queued_behind_a_tool,
)

DELAYS: tuple[Case, ...] = tuple(after(milliseconds) for milliseconds in (0, 1, 2, 5, 10, 50))


def play(case: Case, agent: AgentProcess, model: ScriptedModel, session: str, work: Path) -> float:
    """Play a case in a session and check what holds for all; the seconds from the cancel to the last answer.

    Raises:
        AssertionError: what did not hold.
    """
    stage = Stage(agent, model, session, work)
    agent.choose = lambda request: "allow-once"
    begin = len(agent.seen)
    prompts = case(stage)
    answers = [agent.answer(prompt) for prompt in prompts]
    assert [answer["result"]["stopReason"] for answer in answers] == ["cancelled"] * len(prompts)
    order = [
        item.message["id"] for item in agent.seen if item.message.get("id") in prompts and "result" in item.message
    ]
    assert order == prompts, "the queued prompts are answered first, in order"
    last = max((i for i, item in enumerate(agent.seen) if item.message.get("id") in prompts), default=begin - 1)
    took = max(0.0, agent.seen[last].at - stage.cancelled_at) if prompts else 0.0
    assert agent.open_calls() == []

    gate = stage.gate()
    agent.choose = lambda request: "allow-once"
    following = stage.prompt("after", [Wait(gate), Say(f"own answer of {stage.word}")])
    model.wait_for_request(lambda request: request.kind == "main" and f"{stage.word} after" in request.prompt)
    leftovers = [item.update for item in agent.seen[last + 1 :] if _is_work(item.update)]
    assert leftovers == [], f"something of the stopped work came after its answer: {leftovers}"
    for gate in stage.gates:
        gate.open()
    assert agent.answer(following)["result"]["stopReason"] == "end_turn"
    assert agent.text(agent.seen[last + 1 :]) == f"own answer of {stage.word}"
    said = agent.text(agent.seen[begin:])
    assert "STOPPED WORK" not in said
    assert "interrupted" not in said
    assert "ede_diagnostic" not in said
    assert not list(work.glob(f"{stage.word}.parallel*"))
    assert not (work / f"{stage.word}.asked").exists()
    return took


def _is_work(update: dict[str, Any]) -> bool:
    """Whether an update is of a turn. A session's title and its commands come when they are ready."""
    return bool(update) and update["sessionUpdate"] not in ("session_info_update", "available_commands_update")


def _write(stage: Stage, name: str) -> UseTool:
    return UseTool("Write", {"file_path": str(stage.work / f"{stage.word}.{name}"), "content": "x\n"})


def _ask(stage: Stage) -> int:
    before = _asks(stage)
    prompt = stage.prompt("ask", [Say(f"{stage.word} asks"), _write(stage, "asked")], [Say("STOPPED WORK")])
    stage.agent.permission(before + 1)
    return prompt


def _asks(stage: Stage) -> int:
    return sum(item.message.get("method") == "session/request_permission" for item in stage.agent.seen)


def _calls(seen: list[Seen], stage: Stage) -> list[str]:
    """The calls whose streamed input has begun to be known."""
    return [
        item.update["toolCallId"]
        for item in seen
        if item.update.get("sessionUpdate") == "tool_call_update"
        and stage.word in str(item.update.get("rawInput", {}).get("file_path", ""))
    ]
