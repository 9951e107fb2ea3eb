"""One session at the agent end: which Claude Code it has, one after the other, and what passes between it and us.

What is said to one Claude Code, and how, is `instance`'s business; what waits while there is none, `absence`'s. Which
prompt a result belongs to, what a cancel means and who is asked is decided in the stages. Runs on the SDK loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
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
    Prompt,
    RestartSession,
    SessionRestarted,
    StopTask,
)

from . import control
from .absence import CLOSED, Absence, HeldPrompts, ended_unexpectedly
from .calls import CALLS
from .events import commands_in, messages_of
from .flow_control import FlowControl
from .instance import Instance
from .options import SessionOptions
from .process import ClaudeProcess
from .restart import Sleep, start_again
from .successor import Carried, Predecessor
from .tap import Frame
from .watch import Watcher

Feed = Callable[..., None]

FILLING_ENDS_WITHIN = 3.0
"""Seconds for which the end of a session waits for the start of a Claude Code that it has overtaken."""


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
    info: dict[str, Any] = attrs.field(factory=dict, init=False)  # its answer to the handshake
    _claude: Instance = attrs.field(init=False)
    _closing: bool = attrs.field(default=False, init=False)
    _absence: Absence | None = attrs.field(default=None, init=False)  # while there is no Claude Code to talk to
    _twice: set[str] = attrs.field(factory=set, init=False)  # prompts that were given a second time
    _held: HeldPrompts = attrs.field(factory=HeldPrompts, init=False)
    _renewals: int = attrs.field(default=0, init=False)  # that wait for their time
    _carried: Carried = attrs.field(factory=Carried, init=False)

    def __attrs_post_init__(self) -> None:
        self._take_process()

    def _take_process(self) -> None:
        process = ClaudeProcess(
            self.options.sdk,
            initialize={**control.INITIALIZE, **self.options.initialize},
            on_frame=lambda frame: self._frame_of(process, frame),
            flow=self.flow.wait,
            watcher=self.watcher,
        )
        self._claude = Instance(self.name, self.cwd, process)

    @property
    def last_words(self) -> str:
        """The end of what Claude Code wrote to stderr, at most 500 characters: what a start that failed says of it."""
        return self._claude.last_words

    async def start(self) -> dict[str, Any]:
        """Start Claude Code; its answer to the handshake. Raises `ClaudeSDKError`."""
        self.info = info = await self._claude.process.start()
        self.feed(Commands(session=self.name, commands=commands_in(info)))
        return info

    async def close(self) -> None:
        """End Claude Code: what runs is stopped first, so that it need not be killed."""
        self._closing = True
        await self._claude.close(stop=self._absence is None)
        if self._absence is not None and self._absence.filling is not None:
            # It finds the session closed. Nothing of this session may follow its end.
            await asyncio.wait([self._absence.filling], timeout=FILLING_ENDS_WITHIN)

    # ------------------------------------------------------------------------------------------ toward Claude Code

    @property
    def process_id(self) -> int | None:
        """Claude Code's; None when it does not run."""
        return None if self._absence is not None else self._claude.process.tap.process_id

    @property
    def has_prompts(self) -> bool:
        """Whether Claude Code was given prompts that are not over."""
        return bool(self._claude.given.running or self._claude.given.waiting)

    def prompt(self, message: Prompt) -> None:
        if self._absence is not None or self._renewals:
            # The end of the stream answered the prompts that it knew; this one came behind it.
            self._held.add(message)
            if self._absence is not None:
                self._revive(self._absence)
            return
        self._claude.give(message)

    async def request(self, subtype: str, **members: Any) -> Any:
        """Make a control request, of a Claude Code that is started again first where it has died.

        Raises:
            ControlError: Claude Code refused.
            ClaudeSDKError: it is gone, and does not come back.
        """
        if self._absence is not None:
            await self._end_of(self._absence)
        claude = self._claude
        try:
            return await claude.request(subtype, **members)
        except ClaudeSDKError:
            if not claude.gives_way or self._closing:
                raise
        if self._absence is not None:  # it was replaced, and nothing has died: the new one is asked
            await self._end_of(self._absence)
        return await self._claude.request(subtype, **members)

    async def renew(self, rest: Callable[[], Awaitable[None]], stays: Callable[[], bool] = lambda: False) -> bool:
        """Have a new Claude Code take over, as `again` says then; prompts that come from now on are for that one.

        A Claude Code that does not come back is no error: it is tried again with the next prompt.

        Args:
            rest: returns when nothing runs that the old one should bring to its end.
            stays: whether, at that point, the old one must stay after all.

        Returns:
            whether the old one was replaced.
        """
        self._renewals += 1
        try:
            await rest()
            while self._absence is not None and self._absence.filling is not None:
                # It began before what the new one is to be started with was said.
                await asyncio.shield(self._absence.filling)
                await rest()
            absence = self._absence
            if absence is None and not stays():
                given = self._claude.given
                self._claude.gives_way = True
                absence = self._leave()
                self._held.put_first(given.late)
                self.feed(AgentGone(session=self.name, prompts=()))  # its work in the background ends with it
        finally:
            self._renewals -= 1
        if absence is None:
            self._give_held()
            return False
        await self._end_of(absence)
        return True

    def _give_held(self) -> None:
        for prompt in self._held.take():
            self.prompt(prompt)

    # ------------------------------------------------------------------------------------------ its death

    def _leave(self, old: Predecessor | None = None) -> Absence:
        """From now on there is no Claude Code: what it was given and asked is over."""
        self._claude = self._claude.left()
        self._absence = Absence(self.name, self.feed, self._held, old)
        return self._absence

    def _revive(self, absence: Absence) -> None:
        if absence.filling is None and not self._closing:
            absence.filling = self.spawn(self._fill(absence, self._start_once_more), f"restart of {self.name}")

    async def _end_of(self, absence: Absence) -> None:
        """Wait until there is a Claude Code again, or none could be started; the one that starts it need not wait."""
        self._revive(absence)
        if absence.filling is not None and asyncio.current_task() is not absence.filling:
            await asyncio.shield(absence.filling)

    async def _fill(self, absence: Absence, start: Callable[[], Awaitable[None]]) -> None:
        """Have `start` bring another Claude Code, and give it what waits; without one the absence goes on."""
        try:
            prompts = await absence.end(start, lambda error: self._claude.death(error))
            if prompts is not None:
                logger.info("session {}: there is a Claude Code again", self.name)
                self._absence = None
                for prompt in prompts:
                    self._claude.give(prompt)
                self._give_held()
        finally:
            absence.old = absence.filling = None

    async def _start_once_more(self) -> None:
        if self.again is None:
            raise ClaudeSDKError("this session cannot be taken up again")
        self.options, self._carried = await self.again(), Carried()
        await start_again(self._start_again, self.name, self.sleep)
        await self.restore()

    async def _start_again(self) -> None:
        await self._claude.process.close()
        if self._closing:
            raise ClaudeSDKError(CLOSED)
        self._take_process()
        await self.start()

    # ------------------------------------------------------------------------------------------ its successor

    def restart(self, message: RestartSession) -> None:
        """Have another Claude Code carry out a plan: nothing of this one is fed any more (docs/clear-context.md)."""
        if self._absence is not None or self.afresh is None:
            failure = Failure.internal("Claude Code has ended")
            self.feed(AgentReply(session=self.name, call=message.call, failure=failure))
            return
        old = Predecessor(self.name, message, self._claude)
        stopped = old.drop(self._claude.given.stopped)
        absence = self._leave(old)
        self._held.add(*old.claude.given.waiting)
        self.feed(SessionRestarted(session=self.name))
        if stopped:
            self.feed(Interrupted(session=self.name, dropped=stopped))
        start = partial(self._start_successor, old, self.afresh)
        absence.filling = self.spawn(self._fill(absence, start), f"fresh context of {self.name}")

    async def _start_successor(self, old: Predecessor, afresh: Callable[[str], Awaitable[SessionOptions]]) -> None:
        mode = old.restart.mode
        self.options = await afresh(mode)
        self._carried = self._carried.after(old.result, old.running)
        await start_again(self._start_again, self.name, self.sleep)
        await self.settle(mode)

    def interrupt(self, message: Interrupt) -> None:
        """Stop what runs; of what waits, drop what is named."""
        dropped = self._held.drop(message.drop)
        if self._absence is not None:
            self.feed(Interrupted(session=self.name, dropped=(*self._absence.drop(message.drop), *dropped)))
            return
        self._claude.given.stop(message.drop)
        self.flow.open()
        receipts = self._claude.interrupt(prompt for prompt in message.drop if prompt not in dropped)
        self.spawn(self._receipt(dropped, receipts), f"interrupt of {self.name}")

    async def _receipt(self, held: tuple[str, ...], receipts: Awaitable[tuple[str, ...]]) -> None:
        dropped = await receipts
        self.flow.release()
        self.feed(Interrupted(session=self.name, dropped=(*held, *dropped)))

    def stop_task(self, message: StopTask) -> None:
        """Ask Claude Code to stop a task; of one that has ended its tasks have, too."""
        if self._absence is None:
            self._claude.stop_task(message)

    async def call(self, message: AgentCall) -> Any:
        """Make a control request for a stage. Raises `ControlError` or `ClaudeSDKError`."""
        arguments = {name: message.arguments[name] for name in CALLS[message.name] if name in message.arguments}
        return await self.request(message.name, **arguments)

    def answer(self, message: Answer) -> None:
        """Answer an ask; one that was withdrawn meanwhile is not wanted any more."""
        old = None if self._absence is None else self._absence.old
        if not self._claude.answer(message) and old is not None:
            old.answer(message)

    # ------------------------------------------------------------------------------------------ from Claude Code

    def _frame_of(self, process: ClaudeProcess, frame: Frame) -> None:
        old = None if self._absence is None else self._absence.old
        if old is not None and process is old.claude.process:
            old.take(frame)
        elif process is self._claude.process:
            self._frame(frame)

    def _frame(self, frame: Frame) -> None:
        if self._absence is not None and frame.get("type") in ("__closed__", "result"):
            return  # a start that failed: the end of the absence tells
        if frame.get("type") == "stream_event":  # thousands in a turn, and only the stages care
            self.feed(*messages_of(self.name, frame))
            return
        messages = self._claude.messages(frame) if frame.get("type") != "__closed__" else self._ended(frame["error"])
        if messages is not None:
            self.feed(*self._carried.messages(messages), *self.observe(frame))

    def _ended(self, error: Exception) -> tuple[Message, ...]:
        given = self._claude.given
        absence = self._leave()
        if self._closing:
            return (AgentGone(session=self.name),)
        # What it was written but never took, since it was dead already, is its successor's: once.
        late = [prompt for prompt in given.late if prompt.prompt not in self._twice]
        self._twice = {prompt.prompt for prompt in late}
        self._held.add(*late)
        if late:
            self._revive(absence)
        failure = ended_unexpectedly(self._claude.death(error))
        logger.error("session {}: Claude Code ended unexpectedly: {}", self.name, error)
        self.spawn(self._claude.process.close(), f"the end of {self.name}'s Claude Code")
        prompts = tuple(prompt for prompt in given.names if prompt not in self._twice)
        return (AgentGone(session=self.name, failure=failure, prompts=prompts),)
