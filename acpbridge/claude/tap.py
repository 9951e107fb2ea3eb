"""The tap: what the SDK and Claude Code say to each other, all of it, in the order in which it is said.

It stands around the SDK's own transport. The SDK starts Claude Code, frames its lines, makes the handshake and ends it;
everything else goes to the bridge through one queue, streamed frames and control requests alike (decision 4 of the
architecture). The typed layer of the SDK is not used: it drops fields and frames that a bridge needs (design/sdk.md B).

Private surface of the SDK that is used here and nowhere else: `SubprocessCLITransport(prompt, options)` and its
`_process`. tests/claude/test_tap_contract.py shows with the real Claude Code that it is still as assumed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError, CLIJSONDecodeError, Transport
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport
from loguru import logger

Frame = dict[str, Any]

_SDK_ANSWERS = frozenset({"mcp_message"})
"""Control requests that the SDK's own machinery answers. All others are the bridge's."""


class ControlError(Exception):
    """Claude Code refused a control request. `code` is its error code, where it gives one."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class Tap(Transport):
    """A transport that shows every frame to `on_frame` and lets the SDK see only what it needs to.

    All methods run on the SDK loop.

    Args:
        options: for the SDK's own transport, which builds the command line from them.
        initialize: members to add to the `initialize` request, which the SDK's options cannot carry.
        on_frame: called with each frame, in order; the last is `{"type": "__closed__", "error": ...}`. One that it
            fails on is dropped with a log line, and refused when it is a request.
        flow: asked before the next frame is read; what it returns is awaited. It is not asked, and no longer awaited,
            while a request of ours is open, since its answer stands behind the frames that are not read.
        on_started: called with the process's number as soon as there is one.
    """

    def __init__(
        self,
        options: ClaudeAgentOptions,
        *,
        initialize: Mapping[str, Any],
        on_frame: Callable[[Frame], None],
        flow: Callable[[], Awaitable[None] | None] | None = None,
        on_started: Callable[[int], None] | None = None,
    ) -> None:
        # With a transport of one's own the SDK does not add this flag, and Claude Code would ask nobody.
        self._inner = SubprocessCLITransport(_nothing(), replace(options, permission_prompt_tool_name="stdio"))
        self._initialize: dict[str, Any] | None = dict(initialize)
        self._on_frame = on_frame
        self._flow = flow
        self._on_started = on_started
        self._numbers = itertools.count(1)
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._lost: Exception | None = None
        self._ended = False
        self._asked = asyncio.Event()  # a request of ours was made
        self._refusals: set[asyncio.Future[None]] = set()
        self.connected = False

    # ------------------------------------------------------------------------------------------ the bridge's side

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Write one frame to Claude Code."""
        await self._inner.write(json.dumps(frame) + "\n")

    def open_request(self, request: Mapping[str, Any]) -> tuple[Frame, asyncio.Future[Any]]:
        """Register a control request: the frame to write, and what will hold its answer.

        The future gets a `ControlError` when Claude Code refuses, a `CLIConnectionError` when it is gone or goes.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = f"acpbridge_{next(self._numbers)}"
        if self._lost is not None:
            answer.set_exception(self._lost)
        else:
            self._pending[number] = answer
            self._asked.set()
            answer.add_done_callback(lambda _: self._pending.pop(number, None))
        return {"type": "control_request", "request_id": number, "request": dict(request)}, answer

    @property
    def waiting(self) -> bool:
        """Whether a request of ours has no answer yet."""
        return bool(self._pending)

    def terminate(self) -> None:
        """SIGTERM, or what the platform has."""
        self._signal("terminate")

    def kill(self) -> None:
        """SIGKILL, or what the platform has."""
        self._signal("kill")

    def _signal(self, name: str) -> None:
        process = self._inner._process
        if process is not None and process.returncode is None:
            try:
                getattr(process, name)()
            except ProcessLookupError:
                logger.debug("Claude Code had ended before it could be told to")

    @property
    def process_id(self) -> int | None:
        process = self._inner._process
        return process.pid if process is not None else None

    @property
    def exit_code(self) -> int | None:
        process = self._inner._process
        return process.returncode if process is not None else None

    # ------------------------------------------------------------------------------------------ the SDK's side

    async def connect(self) -> None:
        await self._inner.connect()
        if self._on_started is not None and self.process_id is not None:
            self._on_started(self.process_id)

    async def write(self, data: str) -> None:
        if self._initialize is not None and '"initialize"' in data:
            frame = json.loads(data)
            if frame.get("request", {}).get("subtype") == "initialize":
                frame["request"].update(self._initialize)
                self._initialize = None
                data = json.dumps(frame) + "\n"
        await self._inner.write(data)

    async def read_messages(self) -> AsyncIterator[Frame]:
        end: Exception = CLIConnectionError("Claude Code ended before it answered")
        try:
            async for frame in self._inner.read_messages():
                if self._is_for_sdk(frame):
                    yield frame
                if self._flow is not None and not self._pending and (room := self._flow()) is not None:
                    await self._hold(room)
        except CLIJSONDecodeError as error:
            # Its text quotes the line, which is nobody's to log.
            end = CLIConnectionError(f"Claude Code wrote a line that is no JSON ({len(error.line)} characters)")
            self.terminate()  # nobody reads what it writes from here on
        except Exception as error:
            end = error
            self.terminate()
        finally:
            self._end(end)
        raise end  # also after a clean exit: the SDK fails its own open requests only then

    async def _hold(self, room: Awaitable[None]) -> None:
        """Read no further until there is room, or a request of ours waits for what stands behind."""
        self._asked.clear()
        waits = [asyncio.ensure_future(room), asyncio.ensure_future(self._asked.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _is_for_sdk(self, frame: Frame) -> bool:
        """Take a frame, and say whether the SDK needs it too."""
        kind = frame.get("type")
        if kind == "control_response":
            return not self._answered(_object(frame, "response"))
        if kind == "control_request" and str(_object(frame, "request").get("subtype")) in _SDK_ANSWERS:
            return True
        if kind != "keep_alive":
            self._show(frame)
        # Before the handshake is over a result means that the start failed: the SDK makes a typed error of it.
        return kind == "result" and not self.connected

    def _show(self, frame: Frame) -> None:
        try:
            self._on_frame(frame)
        except Exception as error:
            logger.opt(exception=error).error("a frame of type {} could not be taken", str(frame.get("type"))[:80])
            if frame.get("type") == "control_request":
                self._refuse(str(frame.get("request_id")))

    def _refuse(self, number: str) -> None:
        """Have Claude Code not wait for an answer that nobody will give."""
        error = {"subtype": "error", "request_id": number, "error": "The request could not be read."}
        refusal = asyncio.ensure_future(self.send({"type": "control_response", "response": error}))
        self._refusals.add(refusal)  # the loop itself holds tasks weakly
        refusal.add_done_callback(self._refused)

    def _refused(self, refusal: asyncio.Future[None]) -> None:
        self._refusals.discard(refusal)
        if not refusal.cancelled() and (error := refusal.exception()) is not None:
            logger.warning("a request of Claude Code stays unanswered: {}", error)

    def _answered(self, response: Mapping[str, Any]) -> bool:
        # Taken out at once, so that the pace is asked for again before the next frame.
        answer = self._pending.pop(str(response.get("request_id")), None)
        if answer is None:
            return False
        if not answer.done():
            if response.get("subtype") == "success":
                answer.set_result(response.get("response"))
            else:
                answer.set_exception(ControlError(str(response.get("error")), response.get("error_code")))
        return True

    def _lose(self, error: Exception) -> None:
        self._lost = error
        for answer in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(error)

    def _end(self, error: Exception) -> None:
        self._lose(error)
        if not self._ended:
            self._ended = True
            self._show({"type": "__closed__", "error": error})

    async def close(self) -> None:
        closed = CLIConnectionError("Claude Code was closed")
        self._lose(closed)
        await self._inner.close()
        self._end(closed)  # when the SDK left the reader standing

    def is_ready(self) -> bool:
        return self._inner.is_ready()

    async def end_input(self) -> None:
        await self._inner.end_input()


def _object(frame: Frame, key: str) -> Frame:
    value = frame.get(key)
    return value if isinstance(value, dict) else {}


async def _nothing() -> AsyncIterator[Frame]:
    """A prompt stream that never has anything: Claude Code stays open, and prompts are written by `send`."""
    return
    yield {}
