"""What the tests of `ToolCalls` share: its messages in short, and one typical script."""

from __future__ import annotations

from typing import Any

from middleware import Message
from middleware.messages import (
    AgentGone,
    PermissionAsk,
    SessionRestarted,
    ToolDenied,
    ToolGate,
    ToolInput,
    ToolResponse,
    TurnEnded,
    WorkStopped,
)
from tests.tools.play import CWD, SESSION, Json, result, use

FILE = f"{CWD}/a.py"
EDIT = {"file_path": FILE, "old_string": "two", "new_string": "TWO"}
RESPONSE = {
    "filePath": FILE,
    "structuredPatch": [{"newStart": 4, "lines": [" one", "-two", "+TWO"]}],
    "originalFile": "one\ntwo",
}
BASH = {"command": "ls -la", "description": "List"}


def start(tool: str, tool_use: str = "t", block: int = 0, **members: Any) -> Message:
    return use(tool, {}, tool_use, block=block, whole=False, **members)


def piece(json: str, block: int = 0, parent: str | None = None) -> Message:
    return ToolInput(session=SESSION, block=block, json=json, parent=parent)


def ask(tool: str, input: Json, tool_use: str | None = "t", **members: Any) -> PermissionAsk:
    return PermissionAsk(session=SESSION, ask="a", tool_use=tool_use, name=tool, input=input, **members)


def response(tool: str, response: Any = None, **members: Any) -> ToolResponse:
    return ToolResponse(session=SESSION, tool_use="t", name=tool, response=response, **members)


def ended(stop_reason: Any = "end_turn", **members: Any) -> TurnEnded:
    return TurnEnded(session=SESSION, request=1, prompt="p", stop_reason=stop_reason, **members)


ENDS: dict[str, Message] = {
    "result": result("out"),
    "denied": ToolDenied(session=SESSION, tool_use="t", message="no"),
    "stopped": WorkStopped(session=SESSION),
    "turn": ended(),
    "restarted": SessionRestarted(session=SESSION),
    "gone": AgentGone(session=SESSION),
}

SCRIPT: list[Message] = [
    start("Bash"),
    piece('{"command": "ls -la", '),
    use("Bash", BASH),
    ask("Bash", BASH),
    ToolGate(session=SESSION, ask="g", tool_use="t", name="Bash", input=BASH),
    response("Bash", {"stdout": "out"}),
    result("out"),
    use("Edit", EDIT, "second"),
    ended(),
]
