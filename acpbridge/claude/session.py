"""One session at the agent end: a Claude Code and what of ours is said to it.

Makes frames of the messages that reach the agent end, and messages of frames. Which prompt a result belongs to, what a
cancel means and who is asked is decided in the stages; here is only the wire. Runs on the SDK loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
from claude_agent_sdk import ClaudeSDKError
from loguru import logger

from middleware.errors import Failure
from middleware.messages import AgentGone, Answer, Interrupt, Interrupted, Message, PermissionAsk, Prompt

from . import control
from .events import messages_of
from .files import with_file
from .flow_control import FlowControl
from .options import SessionOptions
from .process import ClaudeProcess
from .prompts import user_message
from .tap import ControlError, Frame
from .watch import Watcher

GONE = "The Claude Agent process exited unexpectedly. Please start a new session."

Feed = Callable[..., None]


@attrs.define(eq=False)
class ClaudeSession:
    """A session with its Claude Code.

    Args:
        name: the ACP session id, which is Claude Code's too.
        cwd: its working directory.
        options: what Claude Code is started with.
        feed: puts messages into the pipeline.
        flow: holds the reader back while the pipeline is full.
        spawn: starts a task on the loop.
        watcher: ends Claude Code when the program is killed.
    """

    name: str
    cwd: str
    options: SessionOptions
    feed: Feed
    flow: FlowControl
    spawn: Callable[..., Any]
    watcher: Watcher
    _process: ClaudeProcess = attrs.field(init=False)
    _asks: set[str] = attrs.field(factory=set, init=False)
    _closing: bool = attrs.field(default=False, init=False)
    _gone: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._process = ClaudeProcess(
            self.options.sdk,
            initialize={**control.INITIALIZE, **self.options.initialize},
            on_frame=self._frame,
            flow=self.flow.wait,
            watcher=self.watcher,
        )

    async def start(self) -> dict[str, Any]:
        """Start Claude Code; its answer to the handshake. Raises `ClaudeSDKError`."""
        return await self._process.start()

    async def close(self) -> None:
        """End Claude Code: what runs is stopped first, so that it need not be killed."""
        self._closing = True
        if not self._gone:
            self._process.request("interrupt", cancel_queued=True).add_done_callback(_ignore)
        await self._process.close()

    # ------------------------------------------------------------------------------------------ toward Claude Code

    def prompt(self, message: Prompt) -> None:
        if self._gone:
            # The end of the stream answered the prompts that it knew; this one came behind it.
            self.feed(AgentGone(session=self.name, failure=Failure.internal(GONE)))
            return
        self._process.send(user_message(message))

    def interrupt(self, message: Interrupt) -> None:
        """Drop what is queued, then stop what runs: in this order on one wire (examples/facts 5 to 7).

        Both ways of dropping are used, since which of them works depends on Claude Code's version.
        """
        self.flow.open()
        drops = {prompt: self._process.request("cancel_async_message", message_uuid=prompt) for prompt in message.drop}
        stop = self._process.request("interrupt", cancel_queued=True)
        self.spawn(self._receipt(drops, stop), f"interrupt of {self.name}")

    async def _receipt(self, drops: dict[str, asyncio.Future[Any]], stop: asyncio.Future[Any]) -> None:
        dropped = []
        for prompt, answer in drops.items():
            try:
                reply = await answer
            except (ControlError, ClaudeSDKError) as error:
                logger.debug("session {}: a queued prompt was not dropped: {}", self.name, error)
            else:
                if isinstance(reply, dict) and reply.get("cancelled") is True:
                    dropped.append(prompt)
        try:
            reply = await stop
        except (ControlError, ClaudeSDKError) as error:
            logger.warning("session {}: the interrupt was not taken: {}", self.name, error)
        else:
            named = reply.get("cancelled") if isinstance(reply, dict) else None
            dropped += [prompt for prompt in named or () if isinstance(prompt, str) and prompt not in dropped]
        self.flow.release()
        self.feed(Interrupted(session=self.name, dropped=tuple(dropped)))

    def answer(self, message: Answer) -> None:
        """Answer an ask; one that was withdrawn meanwhile is not wanted any more."""
        if message.ask in self._asks:
            self._asks.discard(message.ask)
            self._process.send(control.response_to(message))

    # ------------------------------------------------------------------------------------------ from Claude Code

    def _frame(self, frame: Frame) -> None:
        self.feed(*self._messages(frame))

    def _messages(self, frame: Frame) -> tuple[Message, ...]:
        match frame.get("type"):
            case "control_request":
                notices = control.notices_of(self.name, frame)
                if notices is not None:
                    self._process.send(control.noted(frame))
                    return notices
                ask = control.ask_of(self.name, frame)
                if not isinstance(ask, Message):
                    self._process.send(ask)
                    return ()
                self._asks.add(str(frame.get("request_id")))
                return (with_file(ask, self.cwd) if isinstance(ask, PermissionAsk) else ask,)
            case "control_cancel_request":
                withdrawal = control.withdrawal_of(self.name, frame)
                if withdrawal.ask not in self._asks:
                    return ()
                self._asks.discard(withdrawal.ask)
                return (withdrawal,)
            case "__closed__":
                return (self._ended(frame["error"]),)
        return messages_of(self.name, frame)

    def _ended(self, error: Exception) -> AgentGone:
        self._gone = True
        self._asks.clear()
        if self._closing:
            return AgentGone(session=self.name)
        code, tail = self._process.tap.exit_code, "\n".join(self._process.stderr)
        logger.error("session {}: Claude Code ended unexpectedly ({}), exit code {}", self.name, error, code)
        return AgentGone(
            session=self.name, failure=Failure.internal(GONE, {"exitCode": code, "stderr": tail} if tail else None)
        )


def _ignore(answer: asyncio.Future[Any]) -> None:
    """Nobody waits for this answer; its failure is not news either: Claude Code is being ended."""
    if not answer.cancelled():
        answer.exception()
