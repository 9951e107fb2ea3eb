"""The agent end: takes what leaves the pipeline toward the agent, and serves or writes it.

Owns the sessions of the connection. All of its state is touched on the SDK loop; `accept` hands a message over from the
last stage's thread and comes back at once. What a method of the client means is in `sessions/`, one Claude Code in
`claude/`. The SDK costs 0.7 s to import: `initialize` is answered before, and the first session waits for it.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from loguru import logger

from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentReply,
    Answer,
    Closing,
    Initialized,
    Interrupt,
    Message,
    Prompt,
    Request,
    RequestFailed,
    Response,
    RestartSession,
    StopTask,
)
from middleware.profile import ClientProfile

from .claude.calls import CALLS
from .claude.loop import SdkLoop
from .claude.watch import Watcher
from .sessions.failures import RequestRefused, failure_of
from .sessions.identity import Identity, Probe

if TYPE_CHECKING:
    from .claude.session import ClaudeSession
    from .sessions.opened import OpenSession
    from .sessions.routing import Route


class AgentEnd:
    """The sessions of one connection.

    Args:
        loop: the SDK loop, started by the caller.
        feed: puts messages into the pipeline; from any thread.
        has_room: whether the pipeline takes more.
        ask_claude: asks Claude Code who is signed in, see `sessions.identity`.
        hide_claude_auth: claude.ai subscriptions are not used, see `sessions.claude_auth_guard`.
    """

    def __init__(
        self,
        loop: SdkLoop,
        *,
        feed: Callable[..., None],
        has_room: Callable[[], bool],
        ask_claude: Probe | None = None,
        hide_claude_auth: bool = False,
    ) -> None:
        self.loop = loop
        self.feed = feed
        self.has_room = has_room
        self.hide_claude_auth = hide_claude_auth
        self.sessions: dict[str, ClaudeSession] = {}
        self.open: dict[str, OpenSession] = {}
        self.route: Route | None = None  # of the client's provider
        self.gateway: Route | None = None  # that the client authenticated with
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.watcher = Watcher()
        self.identity = Identity(feed=feed, spawn=loop.spawn, probe=ask_claude)
        self.closed = threading.Event()
        self._closing = False
        self.profile = ClientProfile()

    def start(self) -> None:
        """Begin to import the SDK, on a thread of its own."""
        threading.Thread(target=self._import_sdk, name="sdk import", daemon=True).start()

    def accept(self, message: Message) -> None:
        """Take a message that leaves the pipeline; from any one thread, in order."""
        self.loop.call(self._take, message)

    def room_changed(self) -> None:
        """The pipeline has room again; from any thread."""
        self.loop.call(self._recheck)

    async def sdk(self, module: str) -> ModuleType:
        """A module that needs the SDK, when it is imported; other sessions go on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(None, importlib.import_module, module)

    # ------------------------------------------------------------------------------------------ on the loop

    def _take(self, message: Message) -> None:
        match message:
            case Prompt():
                session = self.sessions.get(message.session)
                if session is None:
                    self.feed(
                        RequestFailed(request=message.request, failure=Failure.session_not_found(message.session))
                    )
                else:
                    self._prompt(session, message)
            case Interrupt() if message.session in self.sessions:
                self.sessions[message.session].interrupt(message)
            case Answer() if message.session in self.sessions:
                self.sessions[message.session].answer(message)
            case Request():
                self.loop.spawn(self._serve(message), f"{message.method} {message.request}")
            case StopTask() if message.session in self.sessions:
                self.sessions[message.session].stop_task(message)
            case RestartSession() if message.session in self.sessions:
                self.sessions[message.session].restart(message)
            case AgentCall() if message.name in CALLS and message.session in self.sessions:
                self.loop.spawn(self._call(message), f"{message.name} {message.call}")
            case AgentCall():
                failure = Failure.method_not_found(message.name)
                self.feed(AgentReply(session=message.session, call=message.call, failure=failure))
            case Closing():
                if not self._closing:
                    self._closing = True
                    self.identity.close()
                    self.loop.spawn(self._close_all(), "closing")
            case Initialized():
                self.profile = message.profile
                self.identity.begin()
            case _:
                logger.debug("the agent end has no use for {}", type(message).__name__)

    async def _call(self, call: AgentCall) -> None:
        """Whoever calls has a bound of its own; an answer that comes behind it is nobody's."""
        try:
            result = await self.sessions[call.session].call(call)
        except Exception as error:
            logger.debug("session {}: {} failed: {}", call.session, call.name, error)
            failure = Failure.internal(data={"details": str(error)})
            self.feed(AgentReply(session=call.session, call=call.call, failure=failure))
        else:
            self.feed(AgentReply(session=call.session, call=call.call, result=result))

    def _prompt(self, session: ClaudeSession, message: Prompt) -> None:
        opened = self.open.get(message.session)
        try:
            if opened is not None:
                opened.check_account()
            session.prompt(message)
            self.identity.prompted()
            if opened is not None:
                opened.prompted(message)
        except Exception as error:
            self.feed(RequestFailed(request=message.request, failure=failure_of(error, "session/prompt")))

    @property
    def closing(self) -> bool:
        """Whether the end has begun: no session may be opened any more."""
        return self._closing

    async def _serve(self, request: Request) -> None:
        from .sessions import METHODS

        serve = METHODS.get(request.method)
        logger.debug("{}", request.method)  # its members are the client's, and may be anything
        try:
            if serve is None:
                raise RequestRefused(Failure.method_not_found(request.method))
            if self._closing:
                raise RequestRefused(Failure.internal("The agent is closing."))
            result = await serve(self, request)
        except Exception as error:
            self.feed(RequestFailed(request=request.request, failure=failure_of(error, request.method)))
        else:
            self.feed(Response(request=request.request, result=result))
            opened = self.open.get(getattr(result, "session_id", None) or request.session or "")
            if opened is not None:
                opened.answered()

    def opening(self, name: str) -> asyncio.Lock:
        """Held while a session is opened, taken up or deleted, so that it has one Claude Code at a time."""
        return self._locks.setdefault(name, asyncio.Lock())

    async def _close_all(self) -> None:
        try:
            while self.sessions:  # one may be registered while the others close: its request was under way
                closings = [self.close_session(name) for name in list(self.sessions)]
                await asyncio.gather(*closings, return_exceptions=True)
        finally:
            self.watcher.close()
            self.closed.set()

    async def close_session(self, name: str) -> None:
        """End a session's Claude Code, and say that nothing of it follows. One that is not open is no error."""
        from middleware.messages import SessionClosed

        session = self.sessions.pop(name, None)
        opened = self.open.pop(name, None)
        if opened is not None:
            opened.titles.close()
        if session is None:
            return
        try:
            await session.close()
        except Exception as error:
            logger.opt(exception=error).error("session {}: Claude Code did not end as it should", name)
        finally:
            self.feed(SessionClosed(session=name))

    def _recheck(self) -> None:
        for session in self.sessions.values():
            session.flow.recheck()

    def _import_sdk(self) -> None:
        try:
            importlib.import_module("acpbridge.claude.session")
        except Exception as error:
            logger.opt(exception=error).error("claude-agent-sdk cannot be imported")
