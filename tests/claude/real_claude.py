"""The real Claude Code behind our process and tap, with a scripted model: for the tests of what it really does."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil
from claude_agent_sdk import ClaudeAgentOptions

from acpbridge.claude import control
from acpbridge.claude.process import ClaudeProcess
from acpbridge.testing import ScriptedModel

Frame = dict[str, Any]

ECHOES = {"replay-user-messages": None}


def is_result(frame: Frame) -> bool:
    return bool(frame["type"] == "result")


def is_request(subtype: str) -> Callable[[Frame], bool]:
    return lambda frame: frame["type"] == "control_request" and frame["request"]["subtype"] == subtype


def is_text(frame: Frame) -> bool:
    delta = frame["event"].get("delta", {}) if frame["type"] == "stream_event" else {}
    return bool(delta.get("type") == "text_delta")


class RealClaude:
    """One Claude Code in a home of its own. `seen` is all that the tap has shown so far.

    Hooks are answered with nothing, permissions are not answered unless `allows`.
    """

    def __init__(
        self,
        model: ScriptedModel,
        home: Path,
        *,
        initialize: Frame | None = None,
        allows: bool = False,
        mode: str = "default",
        **options: Any,
    ) -> None:
        self.cwd = home / "work"
        self.cwd.mkdir(parents=True, exist_ok=True)
        self.seen: list[Frame] = []
        self._changed = asyncio.Event()
        self._allows = allows
        environment = {
            **model.prepare(home, {"permissions": {"defaultMode": mode}}),
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
            "CLAUDE_CODE_STARTUP_FAILURE_RESULTS": "1",
        }
        self.process = ClaudeProcess(
            ClaudeAgentOptions(
                **{
                    "cwd": str(self.cwd),
                    "env": environment,
                    "system_prompt": {"type": "preset", "preset": "claude_code"},
                    "include_partial_messages": True,
                    "setting_sources": ["user"],
                    "extra_args": ECHOES,
                    **options,
                }
            ),
            initialize={**control.INITIALIZE, **(initialize or {})},
            on_frame=self._take,
        )

    async def __aenter__(self) -> Self:
        self.handshake = await self.process.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.process.close()

    def _take(self, frame: Frame) -> None:
        self.seen.append(frame)
        if frame["type"] == "control_request":
            request = frame["request"]
            if request["subtype"] == "hook_callback":
                self.answer(frame, {})
            elif self._allows and request["subtype"] == "can_use_tool":
                self.answer(frame, {"behavior": "allow", "updatedInput": request["input"]})
        self._changed.set()

    def answer(self, request: Frame, response: Frame) -> None:
        """Answer a control request of Claude Code."""
        content = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.process.send({"type": "control_response", "response": content})

    def say(self, text: str) -> str:
        """Send a prompt; its uuid."""
        name = str(uuid.uuid4())
        content = [{"type": "text", "text": text}]
        message = {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}
        self.process.send({**message, "session_id": "", "uuid": name, "origin": {"kind": "human"}})
        return name

    async def wait(self, predicate: Callable[[Frame], bool], count: int = 1) -> Frame:
        """The `count`th frame for which the predicate holds, of those so far and to come."""
        while len(found := [frame for frame in self.seen if predicate(frame)]) < count:
            assert not (self.seen and self.seen[-1]["type"] == "__closed__"), f"it ended: {self.kinds[-8:]}"
            self._changed.clear()
            await self._changed.wait()
        return found[count - 1]

    async def ask(self, text: str) -> Frame:
        """Send a prompt and wait for the next result."""
        before = sum(map(is_result, self.seen))
        self.say(text)
        return await self.wait(is_result, before + 1)

    @property
    def kinds(self) -> list[str]:
        """What was shown, a word each."""
        return [_kind(frame) for frame in self.seen]

    @property
    def os_process(self) -> psutil.Process:
        number = self.process.tap.process_id
        assert number is not None
        return psutil.Process(number)


def _kind(frame: Frame) -> str:
    match frame["type"]:
        case "system":
            return str(frame["subtype"])
        case "stream_event":
            return str(frame["event"]["type"])
        case "control_request":
            return str(frame["request"]["subtype"])
        case "command_lifecycle":
            return str(frame["state"])
    return str(frame["type"])
