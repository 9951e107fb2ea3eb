"""In the place of the SDK's own transport: a Claude Code in memory, that says what a test has it say.

    claude = FakeClaude.take(monkeypatch)      # before the tap is made
    ...
    claude.say({"type": "keep_alive"})
    await claude.wrote(lambda frame: frame["type"] == "user")

It answers `initialize`, and what `answers` has by the request's subtype; nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import pytest
from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError

from acpbridge.claude import tap

Frame = dict[str, Any]
T = TypeVar("T")

SECONDS = 20.0
"""A bound for what must happen, not a time that a test spends."""


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine; one that hangs fails."""

    async def bounded() -> T:
        async with asyncio.timeout(SECONDS):
            return await scenario

    return asyncio.run(bounded())


class FakeProcess:
    """The process: its signals are noted, and end it when the test says so."""

    pid = 2**30  # no process has it: what is sent to it hits nobody

    def __init__(self) -> None:
        self.returncode: int | None = None
        self.signals: list[str] = []
        self.ends_with = "terminate"
        self.ended = asyncio.Event()

    def terminate(self) -> None:
        self._signal("terminate")

    def kill(self) -> None:
        self._signal("kill")

    def _signal(self, name: str) -> None:
        self.signals.append(name)
        if name == self.ends_with:
            self.end(-15 if name == "terminate" else -9)

    def end(self, code: int) -> None:
        self.returncode = code
        self.ended.set()


class FakeClaude:
    """A transport like the SDK's own."""

    made: FakeClaude

    def __init__(self, prompt: AsyncIterator[Frame], options: ClaudeAgentOptions) -> None:
        self.options = options
        self.process = FakeProcess()
        self._process: FakeProcess | None = None
        self.written: list[Frame] = []
        self.answers: dict[str, Any] = {"initialize": {"commands": [{"name": "help"}]}}
        self.connecting: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.stays = False  # whether it must be told to end
        self.read = 0
        self._lines: asyncio.Queue[Frame | Exception | None] = asyncio.Queue()
        self._changed = asyncio.Condition()
        type(self).made = self

    @classmethod
    def take(cls, patch: pytest.MonkeyPatch) -> None:
        """Have taps be made around a fake, which is then `FakeClaude.made`."""
        patch.setattr(tap, "SubprocessCLITransport", cls)

    # ------------------------------------------------------------------------------------------ what a test says

    def say(self, *frames: Frame) -> None:
        for frame in frames:
            self._lines.put_nowait(frame)

    def end(self, error: Exception | None = None, code: int = 0) -> None:
        """Its stdout ends; with an error as the SDK's transport raises it."""
        self.process.end(code)
        self._lines.put_nowait(error)

    def break_line(self, error: Exception) -> None:
        """The SDK's transport cannot read a line, while the process goes on."""
        self._lines.put_nowait(error)

    def answer(self, request: Frame, response: Any = None) -> None:
        content = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.say({"type": "control_response", "response": content})

    def refuse(self, request: Frame, error: Any, code: str | None = None) -> None:
        content = {"subtype": "error", "request_id": request["request_id"], "error": error}
        if code is not None:
            content["error_code"] = code
        self.say({"type": "control_response", "response": content})

    async def wrote(self, predicate: Callable[[Frame], bool]) -> Frame:
        """The first frame that was written to it for which the predicate holds."""
        async with self._changed:
            await self._changed.wait_for(lambda: any(map(predicate, self.written)))
        return next(filter(predicate, self.written))

    async def asked(self, subtype: str) -> Frame:
        """The first control request of this subtype."""
        return await self.wrote(
            lambda frame: frame["type"] == "control_request" and frame["request"]["subtype"] == subtype
        )

    @property
    def subjects(self) -> list[str]:
        """What was written, a word each."""
        return [frame["request"]["subtype"] if "request" in frame else frame["type"] for frame in self.written]

    # ------------------------------------------------------------------------------------------ the SDK's side

    async def connect(self) -> None:
        if self.connecting is not None:
            await self.connecting()
        self._process = self.process

    async def write(self, data: str) -> None:
        if self.process.returncode is not None:
            raise CLIConnectionError("Cannot write to terminated process")
        assert data.endswith("\n")
        frame = json.loads(data)
        async with self._changed:
            self.written.append(frame)
            self._changed.notify_all()
        if frame["type"] == "control_request" and frame["request"]["subtype"] in self.answers:
            self.answer(frame, self.answers[frame["request"]["subtype"]])

    async def read_messages(self) -> AsyncIterator[Frame]:
        while True:
            line = await self._lines.get()
            if isinstance(line, Exception):
                raise line
            if line is None:
                return
            self.read += 1
            yield line

    async def close(self) -> None:
        if self._process is not None and self.stays:
            await self.process.ended.wait()
        if self.process.returncode is None:
            self.process.end(0)
        self._process = None

    async def end_input(self) -> None:
        self.end()

    def is_ready(self) -> bool:
        return self._process is not None
