"""One session at the agent end: a Claude Code and what of ours is said to it.

Makes frames of the messages that reach the agent end, and messages of frames. Which prompt a result belongs to, what a
cancel means and who is asked is decided in the stages; here is only the wire. Runs on the SDK loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import attrs
from claude_agent_sdk import ClaudeSDKError
from loguru import logger

from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentGone,
    AgentReply,
    Answer,
    Commands,
    Interrupt,
    Interrupted,
    Message,
    PermissionAsk,
    Prompt,
    RestartSession,
    SessionRestarted,
    StopTask,
)

from . import control
from .calls import CALLS
from .echoes import Echoes
from .events import commands_in, messages_of
from .files import with_file
from .flow_control import FlowControl
from .given import GivenPrompts
from .interrupts import dropped_by
from .options import SessionOptions
from .process import ClaudeProcess
from .prompts import user_message
from .restart import Sleep, start_again
from .successor import Carried, Predecessor
from .tap import Frame
from .watch import Watcher

GONE = (
    "Claude Code ended unexpectedly ({}). Send the prompt again: it is started anew and goes on with the conversation."
)

NOT_BACK = "Claude Code ended and could not be started again: {}"

NOT_CLEARED = "Claude Code could not be started with an empty context, so the plan was not carried out: {}"

Feed = Callable[..., None]


def _nothing_more(frame: Frame) -> Iterable[Message]:
    return ()


async def _nothing_to_restore() -> None:
    return


async def _nothing_to_settle(mode: str) -> None:
    return


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
        observe: called with each frame; the messages that it gives follow those of the frame.
        again: what Claude Code is started with when it has died. Without it a session whose Claude Code died is over.
        restore: called when it is back, before it is given a prompt.
        afresh: what a Claude Code is started with that carries out a plan in this mode and with an empty context.
        settle: called with the mode when that one has started, before it is given the plan.
        sleep: see `restart`.
    """

    name: str
    cwd: str
    options: SessionOptions
    feed: Feed
    flow: FlowControl
    spawn: Callable[..., Any]
    watcher: Watcher
    observe: Callable[[Frame], Iterable[Message]] = _nothing_more
    again: Callable[[], Awaitable[SessionOptions]] | None = None
    restore: Callable[[], Awaitable[None]] = _nothing_to_restore
    afresh: Callable[[str], Awaitable[SessionOptions]] | None = None
    settle: Callable[[str], Awaitable[None]] = _nothing_to_settle
    sleep: Sleep | None = None
    _process: ClaudeProcess = attrs.field(init=False)
    _asks: set[str] = attrs.field(factory=set, init=False)
    _closing: bool = attrs.field(default=False, init=False)
    _gone: bool = attrs.field(default=False, init=False)
    _echoes: Echoes = attrs.field(factory=Echoes, init=False)
    _given: GivenPrompts = attrs.field(factory=GivenPrompts, init=False)  # to this one
    _again: set[str] = attrs.field(factory=set, init=False)  # prompts that were given a second time
    _held: list[Prompt] = attrs.field(factory=list, init=False)  # for the Claude Code that is being started
    _revival: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _predecessor: Predecessor | None = attrs.field(default=None, init=False)  # while its successor is being started
    _carried: Carried = attrs.field(factory=Carried, init=False)

    def __attrs_post_init__(self) -> None:
        self._process = self._new_process()

    def _new_process(self) -> ClaudeProcess:
        process = ClaudeProcess(
            self.options.sdk,
            initialize={**control.INITIALIZE, **self.options.initialize},
            on_frame=lambda frame: self._frame_of(process, frame),
            flow=self.flow.wait,
            watcher=self.watcher,
        )
        return process

    @property
    def last_words(self) -> str:
        """The end of what Claude Code wrote to stderr, at most 500 characters: what a start that failed says of it."""
        return "\n".join(self._process.stderr).strip()[-500:]

    async def start(self) -> dict[str, Any]:
        """Start Claude Code; its answer to the handshake. Raises `ClaudeSDKError`."""
        info = await self._process.start()
        self.feed(Commands(session=self.name, commands=commands_in(info)))
        return info

    async def close(self) -> None:
        """End Claude Code: what runs is stopped first, so that it need not be killed."""
        self._closing = True
        if not self._gone:
            self._process.request("interrupt", cancel_queued=True).add_done_callback(_ignore)
        await self._process.close()

    # ------------------------------------------------------------------------------------------ toward Claude Code

    @property
    def process_id(self) -> int | None:
        """Claude Code's; None when it does not run."""
        return None if self._gone else self._process.tap.process_id

    def prompt(self, message: Prompt) -> None:
        if self._gone:
            # The end of the stream answered the prompts that it knew; this one came behind it.
            self._held.append(message)
            self._revive()
            return
        self._given.give(message)
        self._process.send(user_message(message))

    async def request(self, subtype: str, **members: Any) -> Any:
        """Make a control request, of a Claude Code that is started again first where it has died.

        Raises:
            ControlError: Claude Code refused.
            ClaudeSDKError: it is gone, and does not come back.
        """
        if self._gone and self._revival is None:
            self._revive()
        if self._revival is not None and asyncio.current_task() is not self._revival:
            await asyncio.shield(self._revival)
        if subtype != "set_model":
            return await self._process.request(subtype, **members)
        self._echoes.change_begins()
        try:
            return await self._process.request(subtype, **members)
        finally:
            self._echoes.change_ends()

    async def renew(self) -> None:
        """Have a new Claude Code take over, as `again` says now; what the old one did not take yet is given to it.

        Raises nothing: a Claude Code that does not come back is tried again with the next prompt.
        """
        if not self._gone:
            self._gone = True
            self._asks.clear()
            given, self._given = self._given, GivenPrompts()
            self._held += given.late
        self._revive()
        if self._revival is not None:
            await asyncio.shield(self._revival)

    # ------------------------------------------------------------------------------------------ its death

    def _revive(self) -> None:
        if self._revival is None and not self._closing:
            self._revival = self.spawn(self._come_back(), f"restart of {self.name}")

    async def _come_back(self) -> None:
        """Start Claude Code again, and give it what waits for it; or say that it does not come back."""
        try:
            if self.again is None:
                raise ClaudeSDKError("this session cannot be taken up again")
            self.options, self._carried = await self.again(), Carried()
            await start_again(self._start_again, self.name, self.sleep)
            await self.restore()
        except Exception as error:
            logger.opt(exception=error).error("session {}: Claude Code did not come back", self.name)
            lost, self._held = tuple(prompt.prompt for prompt in self._held), []
            failure = Failure.internal(NOT_BACK.format(error), self._death(error))
            self.feed(AgentGone(session=self.name, failure=failure, prompts=lost))
        else:
            logger.info("session {}: Claude Code is back", self.name)
            self._gone = False
            held, self._held = self._held, []
            for prompt in held:
                self.prompt(prompt)
        finally:
            self._revival = None

    async def _start_again(self) -> None:
        await self._process.close()
        if self._closing:
            raise ClaudeSDKError("the session is closed")
        self._echoes, self._process = Echoes(), self._new_process()
        await self.start()

    # ------------------------------------------------------------------------------------------ its successor

    def restart(self, message: RestartSession) -> None:
        """Have another Claude Code carry out a plan: nothing of this one is fed any more (docs/clear-context.md)."""
        if self._gone or self.afresh is None:
            failure = Failure.internal("Claude Code has ended")
            self.feed(AgentReply(session=self.name, call=message.call, failure=failure))
            return
        old = self._predecessor = Predecessor(self.name, message, self._process, self._given, self._asks)
        stopped = old.drop(self._given.stopped)
        self._gone, self._asks, self._given = True, set(), GivenPrompts()
        self._held += old.prompts.waiting
        self.feed(SessionRestarted(session=self.name))
        if stopped:
            self.feed(Interrupted(session=self.name, dropped=stopped))
        self._revival = self.spawn(self._succeed(old, self.afresh), f"fresh context of {self.name}")

    async def _succeed(self, old: Predecessor, afresh: Callable[[str], Awaitable[SessionOptions]]) -> None:
        """Start the successor and give it the plan, and what waits; or say that there is none."""
        restart = old.restart
        try:
            await old.end()
            self.options = await afresh(restart.mode)
            self._carried = self._carried.after(old.result, old.running)
            await start_again(self._start_again, self.name, self.sleep)
            await self.settle(restart.mode)
        except Exception as error:
            logger.opt(exception=error).error("session {}: no Claude Code with an empty context", self.name)
            lost, self._held = (*old.running, *(prompt.prompt for prompt in self._held)), []
            failure = Failure.internal(NOT_CLEARED.format(error), self._death(error))
            self.feed(AgentReply(session=self.name, call=restart.call, failure=failure))
            self.feed(AgentGone(session=self.name, failure=failure, prompts=lost))
        else:
            self._gone = False
            self.feed(AgentReply(session=self.name, call=restart.call))
            held, self._held = self._held, []
            for prompt in (*old.task(), *held):
                self.prompt(prompt)
        finally:
            self._predecessor = self._revival = None

    def _death(self, error: Exception) -> dict[str, Any]:
        """What is known of the end of a Claude Code."""
        code = getattr(error, "exit_code", None)
        code = self._process.tap.exit_code if code is None else code
        return {"exitCode": code, "stderr": "\n".join(self._process.stderr)}

    def interrupt(self, message: Interrupt) -> None:
        """Drop what is queued, then stop what runs: in this order on one wire (examples/facts 5 to 7).

        Both ways of dropping are used, since which of them works depends on Claude Code's version.
        """
        if self._gone:
            dropped = tuple(prompt.prompt for prompt in self._held if prompt.prompt in message.drop)
            self._held = [prompt for prompt in self._held if prompt.prompt not in dropped]
            if self._predecessor is not None:
                dropped = (*self._predecessor.drop(message.drop), *dropped)
            self.feed(Interrupted(session=self.name, dropped=dropped))
            return
        self._given.stop(message.drop)
        self.flow.open()
        drops = {prompt: self._process.request("cancel_async_message", message_uuid=prompt) for prompt in message.drop}
        stop = self._process.request("interrupt", cancel_queued=True)
        self.spawn(self._receipt(drops, stop), f"interrupt of {self.name}")

    def stop_task(self, message: StopTask) -> None:
        """Ask Claude Code to stop a task; its frames tell how it ended."""
        if self._gone:
            return  # its tasks have ended with it
        self._process.request("stop_task", task_id=message.task).add_done_callback(self._stop_taken)

    def _stop_taken(self, answer: asyncio.Future[Any]) -> None:
        if not answer.cancelled() and (error := answer.exception()) is not None:
            logger.warning("session {}: a task was not stopped: {}", self.name, error)

    async def call(self, message: AgentCall) -> Any:
        """Make a control request for a stage. Raises `ControlError` or `ClaudeSDKError`."""
        arguments = {name: message.arguments[name] for name in CALLS[message.name] if name in message.arguments}
        return await self.request(message.name, **arguments)

    async def _receipt(self, drops: dict[str, asyncio.Future[Any]], stop: asyncio.Future[Any]) -> None:
        dropped = await dropped_by(self.name, drops, stop)
        self.flow.release()
        self.feed(Interrupted(session=self.name, dropped=dropped))

    def answer(self, message: Answer) -> None:
        """Answer an ask; one that was withdrawn meanwhile is not wanted any more."""
        if message.ask in self._asks:
            self._asks.discard(message.ask)
            self._process.send(control.response_to(message))
        elif self._predecessor is not None:
            self._predecessor.answer(message)

    # ------------------------------------------------------------------------------------------ from Claude Code

    def _frame_of(self, process: ClaudeProcess, frame: Frame) -> None:
        if self._predecessor is not None and process is self._predecessor.process:
            self._predecessor.take(frame)
        elif process is self._process:
            self._frame(frame)

    def _frame(self, frame: Frame) -> None:
        if self._gone and frame.get("type") in ("__closed__", "result"):
            return  # a start that failed: `_come_back` tells
        if frame.get("type") == "stream_event":  # thousands in a turn, and only the stages care
            self.feed(*messages_of(self.name, frame))
            return
        self._given.observe(frame)
        if not self._echoes.hides(frame):
            self.feed(*self._carried.messages(self._messages(frame)), *self.observe(frame))

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
        given, self._given = self._given, GivenPrompts()
        if self._closing:
            return AgentGone(session=self.name)
        # What it was written but never took, since it was dead already, is its successor's: once.
        late = [prompt for prompt in given.late if prompt.prompt not in self._again]
        self._again = {prompt.prompt for prompt in late}
        self._held += late
        if late:
            self._revive()
        death = self._death(error)
        logger.error("session {}: Claude Code ended unexpectedly: {}", self.name, error)
        self.spawn(self._process.close(), f"the end of {self.name}'s Claude Code")
        last = self._process.stderr[-1].strip()[:200] if self._process.stderr else ""
        why = f"exit code {death['exitCode']}" + (f": {last}" if last else "")
        prompts = tuple(prompt for prompt in given.names if prompt not in self._again)
        return AgentGone(session=self.name, failure=Failure.internal(GONE.format(why), death), prompts=prompts)


def _ignore(answer: asyncio.Future[Any]) -> None:
    """Nobody waits for this answer; its failure is not news either: Claude Code is being ended."""
    if not answer.cancelled():
        answer.exception()
