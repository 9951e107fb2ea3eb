"""What the tests of tool calls and permissions share: a script is played through stages, and its wire is read.

Whatever leaves toward the client is judged by the official schema on the way, so no test can pass with illegal ACP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from middleware import ClientProfile, Message, Pipeline, Stage, StepRunner, acp
from middleware.messages import (
    Initialized,
    PermissionRequest,
    SessionOpened,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    ToolUse,
    Update,
)
from tests.acp.official import problems

SESSION = "s"
CWD = "/repo/project"
HOME = "/home/user"

PLAIN = ClientProfile()
TERMINALS = ClientProfile(capabilities={"_meta": {"terminal_output": True}})
TERMINAL_DELTAS = ClientProfile(capabilities={"_meta": {"terminal_output_delta": True}})
AIR = ClientProfile(capabilities={"_meta": {"jetbrains": {"air": {"version": 1}}}})
PLAN_CLIENT = ClientProfile(capabilities={"plan": {}})

Json = dict[str, Any]


def runner(*stages: Stage, profile: ClientProfile = PLAIN, cwd: str = CWD) -> StepRunner:
    """These stages, with a client that has said who it is and a session that is open; nothing else in its logs."""
    made = StepRunner(Pipeline(list(stages)))
    made.feed(Initialized(profile=profile), SessionOpened(session=SESSION, cwd=cwd)).run()
    made.client.clear()
    made.agent.clear()
    return made


def use(tool: str, input: Mapping[str, Any] | None = None, tool_use: str = "t", **members: Any) -> ToolUse:
    return ToolUse(session=SESSION, tool_use=tool_use, name=tool, input=input or {}, **members)


def result(content: Any = "", tool_use: str = "t", **members: Any) -> ToolResult:
    return ToolResult(session=SESSION, tool_use=tool_use, content=content, **members)


def wire(messages: Iterable[Message]) -> list[Json]:
    """What a client reads of these messages; what is not for it is left out."""
    lines = []
    for message in messages:
        match message:
            case ToolCall(call=update) | ToolCallUpdate(change=update) | Update(update=update):
                lines.append(_judged("SessionUpdate", acp.unstructure(update, acp.SessionUpdate)))
            case PermissionRequest():
                request = acp.RequestPermissionRequest(
                    session_id=message.session,
                    tool_call=message.call,
                    options=list(message.options),
                    meta=dict(message.meta) if message.meta is not None else None,
                )
                lines.append(_judged("RequestPermissionRequest", acp.unstructure(request)))
    return lines


def _judged(definition: str, value: Json) -> Json:
    assert problems(definition, value) == []
    return value


def played(stage: Stage, *messages: Message, profile: ClientProfile = PLAIN, cwd: str = CWD) -> list[Json]:
    """The wire of a script that one stage takes."""
    made = runner(stage, profile=profile, cwd=cwd)
    made.feed(*messages).run()
    return wire(made.client)


def texts(update: Json) -> list[str]:
    """The texts in an update's content."""
    return [item["content"]["text"] for item in update.get("content", ()) if item["type"] == "content"]


def shown_diffs(update: Json) -> list[tuple[str | None, str]]:
    """Old and new text of each diff in an update's content."""
    return [(item.get("oldText"), item["newText"]) for item in update.get("content", ()) if item["type"] == "diff"]


def merged(updates: Sequence[Json]) -> Json:
    """What a client holds of a call that was sent like this: later fields take the place of earlier ones."""
    held: Json = {}
    for update in updates:
        held |= update
    return held
