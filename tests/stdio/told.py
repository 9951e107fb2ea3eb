"""What a client holds of a conversation, however it was told: chunk by chunk as it happened, or in a replay.

An item is a message, a tool call with all that was ever said of it, or an update of another kind, each where it first
came. What a replay is not about (`NOW`) is left out, and a plan that is told again with the next prompt.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from tests.stdio.agent_process import AgentProcess, Message

NOW = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    }
)
"""Updates about the session as it is at this moment."""


def told(agent: AgentProcess, session: str, begin: int = 0, end: int | None = None) -> list[Message]:
    """What a client holds of a session of these messages of the agent, its own prompts among them."""
    prompts: dict[int, list[Message]] = {}
    for place, message in agent.sent:
        if message.get("method") == "session/prompt" and message["params"]["sessionId"] == session:
            prompts.setdefault(place, []).extend(message["params"]["prompt"])
    items: list[Message] = []
    grown: dict[str, Message] = {}  # tool calls and compactions by their ids
    for place, item in enumerate(agent.seen[begin:end], begin):
        for block in prompts.get(place, ()):
            _add(items, {"is": "user_message_chunk", **block})
        update = item.update
        if not update or update["sessionUpdate"] in NOW or item.message["params"]["sessionId"] != session:
            continue
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            of = {} if kind.startswith("user") else {"message": update.get("messageId")}
            _add(items, {"is": kind, **of, **update["content"]})
        elif name := update.get("toolCallId") or update.get("compactionId"):
            if name not in grown:
                grown[name] = {"is": "call" if "toolCallId" in update else kind}
                items.append(grown[name])
            _learn(grown[name], update)
        elif {"is": kind, **update} != next((item for item in reversed(items) if item["is"] == kind), None):
            items.append({"is": kind, **update})
    return items


def calls(items: Iterable[Message]) -> list[Message]:
    return [item for item in items if item["is"] == "call"]


def differences(one: list[Message], other: list[Message]) -> list[str]:
    """Each field of a call that differs, then each item that is not in both, or not at its place."""
    found = []
    others = {item["toolCallId"]: item for item in calls(other)}
    for call in calls(one):
        twin = others.get(call["toolCallId"], call)
        for field in sorted({*call, *twin}):
            if call.get(field) != twin.get(field):
                found.append(f"{call['title']!r} {field}: {call.get(field)!r} / {twin.get(field)!r}")
    names, twins = [_name(item) for item in one], [_name(item) for item in other]
    return found + list(difflib.unified_diff(names, twins, "one", "other", n=2, lineterm=""))


def _name(item: Message) -> str:
    if item["is"] == "call":
        return f"call {item['toolCallId']} {item['title']}"
    return json.dumps(item, sort_keys=True, ensure_ascii=False)


def _add(items: list[Message], chunk: Message) -> None:
    """A chunk: it goes on with the text before it, if that is of the same message."""
    before = items[-1] if items else {}
    same = chunk.get("type") == "text" and {**chunk, "text": ""} == {**before, "text": ""}
    if same and "message" in chunk:
        before["text"] += chunk["text"]
    else:
        items.append(dict(chunk))


def _learn(call: Message, update: Message) -> None:
    """What a client keeps of an update: the last value of each field, all of a terminal's output."""
    call.update({field: value for field, value in update.items() if field not in ("_meta", "sessionUpdate")})
    for name, value in update.get("_meta", {}).items():
        if name == "terminal_output":
            call["terminal_output"] = call.get("terminal_output", "") + value["data"]
        elif name == "claudeCode":
            call.setdefault("claudeCode", {}).update(value)
        else:
            call[name] = value
