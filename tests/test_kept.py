"""What the stages keep of work that is over: names, and never what was said, shown or written.

People work for days in one session. A bound on the number of things that are remembered is no bound on their size: one
of them may be a picture, or both texts of a long file.
"""

from __future__ import annotations

import enum
import gc
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from acpbridge import flow
from middleware import ClientProfile, Message, Pipeline, StepRunner, acp
from middleware.messages import (
    FileState,
    Initialized,
    MessageCompleted,
    MessageStarted,
    PermissionAsk,
    Prompt,
    SessionOpened,
    Text,
    Thought,
    ToolInput,
    ToolResponse,
    ToolResult,
    ToolUse,
)
from tests.timing.words import S, answers, cancel, echoed, gate, play, reply, result, started, work
from tests.timing.words import prompt as begin

MARK = "what nobody needs any more"
LONG = f"{MARK}\n" * 50
PICTURE = "QUFB" * 500
NOT_STATE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, enum.Enum)


def reachable(roots: Iterable[Any]) -> Iterator[Any]:
    """All that can be reached from here, save code."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) not in seen and not isinstance(item, NOT_STATE):
            seen.add(id(item))
            yield item
            waiting += gc.get_referents(item)


def kept(pipeline: Pipeline) -> dict[str, list[str]]:
    """The long texts that each stage still has."""
    found = {
        stage.name: [text for text in reachable([stage]) if isinstance(text, str) and (MARK in text or PICTURE in text)]
        for stage in pipeline.stages
    }
    return {name: texts for name, texts in found.items() if texts}


def asked(name: str, tool: str, input: dict[str, Any]) -> PermissionAsk:
    file = FileState(path="/a", state="text", text=LONG)
    return PermissionAsk(session=S, ask=f"ask {name}", tool_use=name, name=tool, input=input, file=file)


def call(name: str, tool: str, input: dict[str, Any]) -> list[Message]:
    """A call as it streams, and its ask."""
    return [
        ToolUse(session=S, tool_use=name, name=tool, block=1, whole=False),
        ToolInput(session=S, block=1, json='{"file_path": "/a", "content": "' + MARK),
        ToolUse(session=S, tool_use=name, name=tool, block=1, input=input),
        gate(name),
        asked(name, tool, input),
    ]


CALLS: dict[str, dict[str, Any]] = {
    "Write": {"file_path": "/a", "content": LONG},
    "Edit": {"file_path": "/a", "old_string": LONG, "new_string": LONG + "2"},
    "Bash": {"command": f"echo '{LONG}'"},
    "TodoWrite": {"todos": [{"content": LONG, "status": "pending", "activeForm": LONG}]},
    "Agent": {"prompt": LONG, "description": "d", "subagent_type": "Explore"},
    "mcp__a__b": {"text": LONG},
}


def prompt(number: int) -> Prompt:
    content = (acp.TextContent(text=LONG), acp.ImageContent(data=PICTURE, mime_type="image/png"))
    return Prompt(session=S, request=number, prompt=begin(number).prompt, content=content)


def turn(number: int) -> Iterator[Message]:
    """All of a turn up to the answers of its calls."""
    yield prompt(number)
    yield started(number)
    yield echoed(number)
    yield MessageStarted(session=S, message=f"m{number}")
    yield Thought(session=S, text=LONG)
    yield Text(session=S, text=LONG)
    yield Thought(session=S, text=LONG, whole=True)
    yield Text(session=S, text=LONG, whole=True)
    for tool, input in CALLS.items():
        yield from call(f"{tool}{number}", tool, input)


def end(number: int) -> Iterator[Message]:
    for tool in CALLS:
        name = f"{tool}{number}"
        yield reply(name)
        yield ToolResult(session=S, tool_use=name, content=LONG)
        yield ToolResponse(session=S, tool_use=name, name=tool, response={"originalFile": LONG, "content": LONG})
    yield MessageCompleted(session=S)


@pytest.fixture
def run() -> StepRunner:
    runner = StepRunner(Pipeline(flow.pipeline().stages[1:]))
    play(runner, Initialized(profile=ClientProfile()), SessionOpened(session=S, cwd="/work"))
    return runner


def test_the_search_finds(run: StepRunner) -> None:
    """While the turn runs its texts are there: the search sees into the stages."""
    play(run, *turn(1))
    assert {"ToolCalls", "BackgroundTasks", "Permissions"} <= set(kept(run.pipeline))


def test_a_turn_that_has_ended(run: StepRunner) -> None:
    """Nothing that a turn said, showed or wrote is kept behind its end, save the plan that the session goes on with."""
    for number in (1, 2):
        play(run, *turn(number), *end(number), result(number, text=LONG), work("idle"))
    assert answers(run.sent) == [(1, "end_turn"), (2, "end_turn")]
    assert kept(run.pipeline).keys() == {"Plans"}


def test_a_turn_that_was_cancelled(run: StepRunner) -> None:
    """The same of a turn that was cancelled while its calls ran and its asks were open."""
    play(run, *turn(1), cancel(), result(1), work("idle"))
    play(run, *turn(2), cancel(), result(2), work("idle"))
    assert answers(run.sent) == [(1, "cancelled"), (2, "cancelled")]
    assert kept(run.pipeline).keys() <= {"Plans"}
