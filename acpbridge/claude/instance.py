"""One Claude Code of a session: its wire, and what is known of it alone.

All of it ends when that one dies or gives way. Which one is a session's, who comes next and what waits meanwhile is the
business of `session` and `absence`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

import attrs
from loguru import logger

from middleware.messages import Answer, Message, Prompt, StopTask

from .asks import OpenAsks
from .echoes import Echoes
from .events import messages_of
from .given import GivenPrompts
from .interrupts import dropped_by
from .process import ClaudeProcess
from .prompts import user_message
from .tap import Frame


@attrs.define(eq=False)
class Instance:
    """A Claude Code, and what it was given and has asked.

    Args:
        session: the session's name.
        cwd: its working directory.
        process: the process, started or not.
    """

    session: str
    cwd: str
    process: ClaudeProcess
    given: GivenPrompts = attrs.field(factory=GivenPrompts, init=False)
    asks: OpenAsks = attrs.field(init=False)
    gives_way: bool = attrs.field(default=False, init=False)  # another one takes its place, though it lives
    _echoes: Echoes = attrs.field(factory=Echoes, init=False)

    def __attrs_post_init__(self) -> None:
        self.asks = OpenAsks(self.session, self.cwd, self.process.send)

    def left(self) -> Instance:
        """The same process, of which nothing is wanted any more: it was given nothing, and has asked nothing."""
        return Instance(self.session, self.cwd, self.process)

    # ------------------------------------------------------------------------------------------ toward Claude Code

    def give(self, prompt: Prompt) -> None:
        self.given.give(prompt)
        self.process.send(user_message(prompt))

    def answer(self, message: Answer) -> bool:
        """Answer an ask; False when it is not this one's, or was withdrawn meanwhile."""
        return self.asks.answer(message)

    async def request(self, subtype: str, **members: Any) -> Any:
        """Make a control request.

        Raises:
            ControlError: Claude Code refused.
            ClaudeSDKError: it is gone.
        """
        if subtype != "set_model":
            return await self.process.request(subtype, **members)
        self._echoes.change_begins()
        try:
            return await self.process.request(subtype, **members)
        finally:
            self._echoes.change_ends()

    def interrupt(self, drop: Iterable[str]) -> Coroutine[Any, Any, tuple[str, ...]]:
        """Drop what is queued, then stop what runs: in this order on one wire (examples/facts 5 to 7), and at once.

        Both ways of dropping are used, since which of them works depends on Claude Code's version. What is returned
        waits for the receipts, and gives the prompts that were dropped.
        """
        drops = {prompt: self.process.request("cancel_async_message", message_uuid=prompt) for prompt in drop}
        stop = self.process.request("interrupt", cancel_queued=True)
        return dropped_by(self.session, drops, stop)

    def stop_task(self, message: StopTask) -> None:
        """Ask it to stop a task; its frames tell how that ended."""
        self.process.request("stop_task", task_id=message.task).add_done_callback(self._stop_taken)

    def _stop_taken(self, answer: asyncio.Future[Any]) -> None:
        if not answer.cancelled() and (error := answer.exception()) is not None:
            logger.warning("session {}: a task was not stopped: {}", self.session, error)

    async def close(self, *, stop: bool) -> None:
        """End it; with `stop` what runs is stopped first, so that it need not be killed."""
        if stop:
            self.process.request("interrupt", cancel_queued=True).add_done_callback(_ignore)
        await self.process.close()

    # ------------------------------------------------------------------------------------------ from Claude Code

    def messages(self, frame: Frame) -> tuple[Message, ...] | None:
        """What a frame says; None for one that nobody is to hear of."""
        self.given.observe(frame)
        if self._echoes.hides(frame):
            return None
        match frame.get("type"):
            case "control_request":
                return self.asks.asked(frame)
            case "control_cancel_request":
                return self.asks.withdrawn(frame)
        return messages_of(self.session, frame)

    # ------------------------------------------------------------------------------------------ its end

    @property
    def last_words(self) -> str:
        """The end of what it wrote to stderr, at most 500 characters."""
        return "\n".join(self.process.stderr).strip()[-500:]

    def death(self, error: Exception) -> dict[str, Any]:
        """What is known of its end: `exitCode` and `stderr`."""
        code = getattr(error, "exit_code", None)
        code = self.process.tap.exit_code if code is None else code
        return {"exitCode": code, "stderr": "\n".join(self.process.stderr)}


def _ignore(answer: asyncio.Future[Any]) -> None:
    """Nobody waits for this answer; its failure is not news either: Claude Code is being ended."""
    if not answer.cancelled():
        answer.exception()
