"""The real program in a subprocess, driven as an editor would: for the end-to-end tests.

Every message in both directions is judged against the official schema. Nobody sleeps: waiting is for a message, for a
request of the scripted model, or for a process that ends, each with a timeout that only a broken program reaches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import psutil

from acpbridge.testing import ScriptedModel
from tests.acp.judge import Judge

TIMEOUT = 30.0
"""Seconds after which a message that does not come is a failure: a busy machine takes seconds to start Claude Code."""

Message = dict[str, Any]
Choose = Callable[[Message], str | None]


@attrs.frozen
class Seen:
    """A message of the agent, and when it came (seconds, monotonic)."""

    at: float
    message: Message

    @property
    def update(self) -> Message:
        """The `session/update` in it; empty for any other message."""
        if self.message.get("method") != "session/update":
            return {}
        found: Message = self.message["params"]["update"]
        return found


class AgentProcess:
    """`acpbridge` as a child process.

    Args:
        model: what stands in for the model's API.
        home: its home directory, with Claude Code's settings; made if it is not there.
        settings: settings of Claude Code beside the standard ones.
        environment: further variables.
        arguments: of its command line.
        judged: whether the client's own messages must be legal too (not for tests of bad input).
        judge: whether the agent's messages are judged (not for benchmarks, where the judge would be what is measured).
    """

    def __init__(
        self,
        model: ScriptedModel,
        home: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        judged: bool = True,
        judge: bool = True,
        max_retries: int = 0,
        arguments: Sequence[str] = (),
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.model = model
        self.judge = Judge()
        self.seen: list[Seen] = []
        self.sent: list[tuple[int, Message]] = []  # what was said to it, and how many messages had been seen by then
        self._answers: dict[Any, Message] = {}
        self.choose: Choose | None = lambda request: "allow-once"
        self._judged = judged
        self._judging = judge
        self._illegal: set[Any] = {None}
        self._changed = threading.Condition()
        self._problems: list[BaseException] = []
        self._numbers = iter(range(1, 1_000_000))
        self._eof = False
        self._may_read = threading.Event()
        self._may_read.set()
        self.stderr_path = home / "stderr.txt"
        self._stderr = self.stderr_path.open("wb")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "acpbridge", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**_inherited(), **model.prepare(home, settings, max_retries=max_retries), **(environment or {})},
            cwd=home,
        )
        self._reader = threading.Thread(target=self._read, name="test reader", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    # ------------------------------------------------------------------------------------------ saying

    def write(self, data: bytes) -> None:
        """Write raw bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        whole = {"jsonrpc": "2.0", **message}
        if self._judged:
            self.judge.from_client(whole)
        else:
            self._judge_if_legal(whole)
        self.sent.append((len(self.seen), whole))
        self.write(json.dumps(whole).encode() + b"\n")

    def expect(self, number: int | str) -> None:
        """A request with this id will be written raw."""
        self._illegal.add(number)

    def request(self, method: str, params: Any) -> int:
        """Make a request; its id."""
        number = next(self._numbers)
        self.send({"id": number, "method": method, "params": params})
        return number

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def initialize(self, capabilities: Mapping[str, Any] | None = None) -> Message:
        params = {"protocolVersion": 1, "clientCapabilities": dict(capabilities or {})}
        return self.answer(self.request("initialize", params))

    def new_session(self, cwd: Path, **params: Any) -> str:
        """Open a session in a directory; its id."""
        cwd.mkdir(parents=True, exist_ok=True)
        answer = self.answer(self.request("session/new", {"cwd": str(cwd), "mcpServers": [], **params}))
        session: str = answer["result"]["sessionId"]
        return session

    def prompt(self, session: str, text: str) -> int:
        return self.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def cancel(self, session: str) -> None:
        self.notify("session/cancel", {"sessionId": session})

    def reply(self, request: Message, option: str | None) -> None:
        """Answer a permission request: an option id, or None for `cancelled`."""
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        self.send({"id": request["id"], "result": {"outcome": outcome}})

    # ------------------------------------------------------------------------------------------ hearing

    def wait_for(self, condition: Callable[[list[Seen]], Any], what: str = "a message") -> Any:
        """Wait until `condition` of all that was seen so far gives something true; that.

        Raises:
            AssertionError: it did not within `TIMEOUT` s, the agent ended, or said something illegal.
        """
        deadline = time.monotonic() + TIMEOUT
        with self._changed:
            while True:
                if self._problems:
                    raise self._problems[0]
                if found := condition(self.seen):
                    return found
                left = deadline - time.monotonic()
                if self._eof or left <= 0 or not self._changed.wait(left):
                    raise AssertionError(f"{what} did not come; the end of what did: {self.told()[-12:]}\n{self.log()}")

    def answer(self, number: int | str) -> Message:
        """The answer to a request."""
        found: Message = self.wait_for(lambda seen: self._answers.get(number), f"the answer to request {number}")
        return found

    def permission(self, count: int = 1) -> Message:
        """The `count`th permission request."""
        found: list[Message] = self.wait_for(
            lambda seen: len(asks := self._asks(seen)) >= count and asks, f"permission request {count}"
        )
        return found[count - 1]

    def chunk(self, text: str) -> None:
        """Wait until this text was streamed."""
        self.wait_for(lambda seen: text in self.text(seen), f"the text {text!r}")

    def text(self, seen: list[Seen] | None = None, kind: str = "agent_message_chunk") -> str:
        """All text of a kind, joined."""
        updates = (item.update for item in (self.seen if seen is None else seen))
        return "".join(update["content"]["text"] for update in updates if update.get("sessionUpdate") == kind)

    def updates(self, *kinds: str) -> list[Message]:
        found = [item.update for item in self.seen if item.update]
        return [update for update in found if not kinds or update["sessionUpdate"] in kinds]

    def told(self) -> list[str]:
        """What was seen, a short line each."""
        return [_short(item.message) for item in self.seen]

    def log(self) -> str:
        """What the agent wrote to stderr."""
        return self.stderr_path.read_text(errors="replace")

    def open_calls(self) -> list[str]:
        """The tool calls that were announced and have not ended."""
        status: dict[str, str] = {}
        for update in self.updates("tool_call", "tool_call_update"):
            status[update["toolCallId"]] = update.get("status") or status.get(update["toolCallId"], "pending")
        return [call for call, state in status.items() if state not in ("completed", "failed")]

    def _asks(self, seen: list[Seen]) -> list[Message]:
        return [item.message for item in seen if item.message.get("method") == "session/request_permission"]

    # ------------------------------------------------------------------------------------------ ending

    def claude_processes(self) -> list[psutil.Process]:
        """The Claude Code processes of the agent, and what they have started; without the watcher, and the process that
        is asked who is signed in."""
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
            return [child for child in children if not _is_aside(child)]
        except psutil.NoSuchProcess:
            return []

    def close(self) -> int:
        """Close its stdin and wait for its end; the exit code. No process that it started may be left.

        Raises:
            AssertionError: it did not end, left a process, or said something illegal.
        """
        children = self.claude_processes()
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the agent did not end when its stdin was closed\n{self.log()}") from None
        self.finish()
        _, left = psutil.wait_procs(children, timeout=5)
        assert not left, f"left behind: {[process.cmdline()[:3] for process in left]}"
        if self._problems:
            raise self._problems[0]
        return code

    def kill(self) -> None:
        """End it at once, with all that it has started."""
        for child in self.claude_processes():
            child.kill()
        self.process.kill()
        self.process.wait(TIMEOUT)
        self.finish()

    def finish(self) -> None:
        """Read what is left of a program that has ended, and let its pipes go."""
        self._reader.join(TIMEOUT)
        self._stderr.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue  # what was not written any more was for a process that is gone

    def hold_reading(self) -> threading.Event:
        """Stop reading what the agent writes, until the event is set."""
        self._may_read.clear()
        return self._may_read

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._may_read.wait()
            try:
                self._take(json.loads(line))
            except BaseException as problem:
                self._problem(problem)
        with self._changed:
            self._eof = True
            self._changed.notify_all()

    def _judge_if_legal(self, message: Message) -> None:
        try:
            self.judge.from_client(message)
        except AssertionError:
            self._illegal.add(message.get("id"))

    def _take(self, message: Message) -> None:
        if self._judging and ("method" in message or message.get("id") not in self._illegal):
            self.judge.from_agent(message)  # what answers an illegal request has no schema
        choose = self.choose
        with self._changed:
            self.seen.append(Seen(time.monotonic(), message))
            if "method" not in message:
                self._answers[message.get("id")] = message
            self._changed.notify_all()
        if message.get("method") == "session/request_permission" and choose is not None:
            self.reply(message, choose(message))

    def _problem(self, problem: BaseException) -> None:
        with self._changed:
            self._problems.append(problem)
            self._changed.notify_all()


def _inherited() -> dict[str, str]:
    """The environment, with compiled modules written as on a user's machine: the SDK takes twice as long without."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _is_aside(child: psutil.Process) -> bool:
    try:
        words = child.cmdline()
    except psutil.NoSuchProcess:
        return True  # it has ended meanwhile
    return words[1:3] == ["auth", "status"] or any("orphans.py" in word for word in words)


def _short(message: Message) -> str:
    if message.get("method") == "session/update":
        update = message["params"]["update"]
        detail = update.get("content", {}).get("text") if isinstance(update.get("content"), dict) else ""
        return f"{update['sessionUpdate']} {update.get('toolCallId', '')} {update.get('status') or ''} {detail or ''}"
    if "method" in message:
        return f"{message['method']} {message.get('id', '')}"
    return f"answer {message.get('id')} {json.dumps(message.get('result', message.get('error')))[:200]}"


def wait_for_file(path: Path) -> None:
    """Wait until a command has made a file."""
    deadline = time.monotonic() + TIMEOUT
    while not path.exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"{path.name} was never made")
        threading.Event().wait(0.005)  # another process makes it, and files have no event that works everywhere


def wait_for_text(path: Path, text: str) -> None:
    """Wait until another process has written this into a file."""
    deadline = time.monotonic() + TIMEOUT
    while text not in path.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise AssertionError(f"{path.name} never had {text!r}")
        threading.Event().wait(0.005)  # as above
