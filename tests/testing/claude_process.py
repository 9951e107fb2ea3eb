"""The real Claude Code, driven over its own stream-json protocol: for the tests of the scripted model."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Self

from acpbridge.testing import ScriptedModel

TIMEOUT = 30.0
"""Seconds after which a message that does not come is a failure; nothing ever waits so long when the test passes."""


def bundled_claude() -> str:
    """The Claude Code inside claude-agent-sdk (found without importing it)."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "_bundled" / ("claude.exe" if os.name == "nt" else "claude"))


class ClaudeProcess:
    """One Claude Code in a home of its own. `seen` is all it has said so far."""

    def __init__(
        self,
        model: ScriptedModel,
        home: Path,
        *,
        max_retries: int = 0,
        mode: str = "default",
        flags: Sequence[str] = (),
    ) -> None:
        self.cwd = home / "work"
        self.cwd.mkdir(parents=True, exist_ok=True)
        self.seen: list[dict[str, Any]] = []
        self._count = 0
        environment = {
            **os.environ,
            **model.prepare(home, {"permissions": {"defaultMode": mode}}, max_retries=max_retries),
        }
        protocol = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
        self._process = subprocess.Popen(
            [bundled_claude(), "-p", *protocol, "--include-partial-messages", "--permission-mode", mode, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.cwd,
            env=environment,
            encoding="utf-8",
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        # Its output ends when it does (Popen.wait with a timeout would poll).
        self._reader.join(TIMEOUT)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def say(self, text: str) -> None:
        """Send a prompt."""
        self._write({"type": "user", "message": {"role": "user", "content": text}})

    def control(self, **request: Any) -> dict[str, Any]:
        """Send a control request; the answer's content."""
        self._count += 1
        name = f"control-{self._count}"
        self._write({"type": "control_request", "request_id": name, "request": request})
        answer = self.wait(lambda m: m["type"] == "control_response" and m["response"]["request_id"] == name)
        content: dict[str, Any] = answer["response"].get("response") or {}
        return content

    def allow(self, request: dict[str, Any]) -> None:
        """Allow the tool call of a can_use_tool request."""
        answer = {"behavior": "allow", "updatedInput": request["request"]["input"]}
        response = {"subtype": "success", "request_id": request["request_id"], "response": answer}
        self._write({"type": "control_response", "response": response})

    def wait(self, predicate: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message for which the predicate holds."""
        while True:
            try:
                message = self._messages.get(timeout=TIMEOUT)
            except queue.Empty:
                raise AssertionError(f"Claude Code is silent; it said {_short(self.seen)}") from None
            if message is None:
                raise AssertionError(f"Claude Code ended; it said {_short(self.seen)}")
            self.seen.append(message)
            if predicate(message):
                return message

    def result(self) -> dict[str, Any]:
        """The next turn's result."""
        return self.wait(lambda m: m["type"] == "result")

    def ask(self, text: str) -> dict[str, Any]:
        """Send a prompt, wait for its result."""
        self.say(text)
        return self.result()

    def deltas(self, sort: str, key: str) -> list[str]:
        """What the deltas of a sort say, in order, so far."""
        events = [m["event"] for m in self.seen if m["type"] == "stream_event"]
        found = [e["delta"] for e in events if e["type"] == "content_block_delta"]
        return [delta[key] for delta in found if delta["type"] == sort]


def _short(messages: list[dict[str, Any]]) -> str:
    return "".join(f"\n  {json.dumps(message)[:300]}" for message in messages)


def is_text_delta(message: dict[str, Any]) -> bool:
    """Whether a message is a piece of streamed text."""
    return message["type"] == "stream_event" and (message["event"].get("delta") or {}).get("type") == "text_delta"
