"""A session that is open, as the agent end sees it: its Claude Code, what is set in it, what it is called.

Reads along with what Claude Code writes (`observe`), and says what a Claude Code that died is started with. Opening one
is in `opening`, what the client asks of one in the modules named after the methods. Runs on the SDK loop.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from loguru import logger

from middleware.messages import Message, Prompt, WindowSize

from . import claude_auth_guard, continued, default_mode, remembered, session_notices
from .choices import Choices
from .failures import RequestRefused
from .heads import StoredTitles, now, read_titles
from .hook_frames import is_news, speaks_of_identity
from .news import News
from .places import find_transcript
from .rest import Rest
from .titles import Titles

if TYPE_CHECKING:
    from acpbridge.claude.options import SessionOptions
    from acpbridge.claude.session import ClaudeSession

    from .identity import Identity
    from .routing import Route


T = TypeVar("T")


@attrs.define(eq=False)
class OpenSession:
    """One open session.

    Args:
        name: the ACP session id.
        conversation: Claude Code's id of what it is at; another one after `/clear`.
        cwd: the working directory.
        asked: the fingerprint of what the client asked for.
        claude: its Claude Code.
        options: what that was first started with.
        choices: what is set in it.
        spawn: starts a task on the loop.
        provider: the way of the client's provider, at this moment.
        gateway: that of the gateway that the client had authenticated with when the session was opened.
        identity: who is signed in.
        no_subscription: a Claude Code that bills a claude.ai subscription is not used.
        routed: the options with a way.
    """

    name: str
    conversation: str
    cwd: str
    asked: str
    claude: ClaudeSession
    options: SessionOptions
    choices: Choices
    spawn: Callable[..., Any]
    provider: Callable[[], Route | None]
    gateway: Route | None
    identity: Identity
    no_subscription: bool
    routed: Callable[[Route | None, SessionOptions], SessionOptions]
    ready: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)  # it is open, or could not be opened
    titles: Titles = attrs.field(init=False)
    rest: Rest = attrs.field(init=False)
    _news: News = attrs.field(init=False)
    _later: list[Message] = attrs.field(factory=list, init=False)
    _answered: bool = attrs.field(default=False, init=False)
    _told: set[session_notices.Problem] = attrs.field(factory=set, init=False)  # what is wrong with settings files
    _sized: str | None = attrs.field(default=None, init=False)  # the model whose window is known
    _agent_waits: bool = attrs.field(default=False, init=False)
    _prompted: bool = attrs.field(default=False, init=False)
    _refresh: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._news = News(self.name)
        self.rest = Rest(has_prompts=lambda: self.claude.has_prompts)
        self.titles = Titles(
            session=self.name, ask=self.claude.request, feed=self.claude.feed, now=now, stored=self._titles
        )
        self.choices.changed, self.choices.tell = self._chosen, self._tell

    # ------------------------------------------------------------------------------------------ the client's side

    def answered(self) -> None:
        """The client knows the session from here on: what was to be told it is told."""
        if not self._answered and self.route is None:
            self.identity.learn(self.claude.info.get("account"))
        self._answered = True
        later, self._later = self._later, []
        self.claude.feed(*later)

    def check_account(self) -> None:
        """Raises `RequestRefused`: -32000, with this account Claude Code may not be used."""
        if self.no_subscription and self.route is None:
            refused = claude_auth_guard.refusal(self.claude.info.get("account"))
            if refused is not None:
                raise RequestRefused(refused)

    def prompted(self, prompt: Prompt) -> None:
        """A prompt is on its way to Claude Code."""
        self._prompted = True
        description = self.titles.prompted(prompt)
        if description is not None:
            self.spawn(self.titles.make(description), f"title of {self.name}")
        if self.choices.chosen.model != self._sized:
            self._sized = self.choices.chosen.model
            self.spawn(self._size(), f"context window of {self.name}")

    async def _size(self) -> None:
        """How large the model's context is: results say so too, but the first one comes at the end of a turn."""
        try:
            usage = await self.claude.request("get_context_usage", detail="summary")
        except Exception as error:
            logger.info("session {}: how large its context is, is not known: {}", self.name, error)
            return
        size = usage.get("rawMaxTokens") if isinstance(usage, dict) else None
        if isinstance(size, int) and size > 0:
            self.claude.feed(WindowSize(session=self.name, size=size))

    async def _titles(self) -> StoredTitles:
        return await self._aside(_stored_titles, self.conversation)

    def _tell(self, message: Message) -> None:
        if self._answered:
            self.claude.feed(message)
        else:
            self._later.append(message)

    # ------------------------------------------------------------------------------------------ Claude Code's side

    def observe(self, frame: Mapping[str, Any]) -> Iterable[Message]:
        """What a frame says beside the turns. What cannot be read is logged: the turns go on without it."""
        try:
            return self._read(frame)
        except Exception as error:
            logger.opt(exception=error).error(
                "session {}: a frame of type {} was not read", self.name, frame.get("type")
            )
            return ()

    def _read(self, frame: Mapping[str, Any]) -> Iterable[Message]:
        kind, subtype = frame.get("type"), frame.get("subtype")
        self.rest.observe(frame)
        self.titles.observe(frame)
        if kind == "conversation_reset":
            self.titles.forget()
        elif kind == "system" and subtype == "init":
            self._is_at(frame.get("session_id"))
        elif kind == "system" and subtype == "session_state_changed":
            if not self.rest.busy:
                self._look_again()
                if self._answered:
                    self.spawn(self.titles.idle(), f"title of {self.name}")
        elif kind == "control_request" and is_news(frame):
            self._look_again()
        elif kind == "system" and subtype == "informational" and self._is_told(str(frame.get("content"))):
            return ()
        if speaks_of_identity(frame):
            self.identity.look()
        return [*self._news.messages_of(frame), *self.choices.observe(frame)]

    def _is_told(self, text: str) -> bool:
        """Claude Code says of a broken settings file, with the next turn, what was told when it broke."""
        return any(file and file in text for file, *_ in self._told)

    def _is_at(self, conversation: Any) -> None:
        """After `/clear` Claude Code goes on under another id. The next load finds it by ours."""
        if isinstance(conversation, str) and conversation and conversation != self.conversation:
            logger.info("session {}: goes on as the conversation {}", self.name, conversation)
            self.conversation = conversation
            self.spawn(self._aside(continued.remember, self.name, conversation), f"conversation of {self.name}")

    def _look_again(self) -> None:
        if self._refresh is None and self._answered:
            self._refresh = self.spawn(self._look(), f"settings of {self.name}")

    async def _look(self) -> None:
        try:
            if self.claude.process_id is not None:
                await self.choices.refresh()
                self.tell_problems()
        except Exception as error:
            logger.info("session {}: its settings were not read: {}", self.name, error)
        finally:
            self._refresh = None

    def tell_problems(self) -> None:
        """Tell what is wrong with settings files, each thing once until it is right again."""
        self._told, told = session_notices.problems(self.choices.settings.problems), self._told
        for problem in sorted(self._told - told):
            self._tell(session_notices.settings_file(self.name, *problem))

    def tell_default_mode(self) -> None:
        """Tell that the session does not begin in the mode that the settings want."""
        mode = self.choices.chosen.mode
        configured = default_mode.unavailable(self.choices.settings.default_mode, mode)
        if configured is not None:
            self._tell(session_notices.default_mode(self.name, configured, mode))

    def tell_missing_subagents(self, count: int, *, notices: bool) -> None:
        """Tell that a replay was without some subagents, if the client has a place for it that is no answer."""
        if count and notices:
            self._tell(session_notices.missing_subagents(self.name, count))

    # ------------------------------------------------------------------------------------------ choices, and a death

    async def _chosen(self, name: str, value: str) -> None:
        await self._aside(remembered.write_choice, self.name, name, value, now())
        if name == "agent" and (self._prompted or self.claude.options.sdk.resume is not None):
            self.spawn(self._change_agent(), f"agent of {self.name}")

    async def _change_agent(self) -> None:
        """Have the agent that was chosen answer with its own system prompt and tools.

        Claude Code takes another agent for the model and hooks at once; the tools are those of its first turn, and the
        system prompt is the one that it recorded in that of the conversation (seen in 2.1.332). So a new one is
        started, without the record, when nothing runs that would end with the old one.
        """
        if self._agent_waits:
            return
        self._agent_waits = True
        replaced = False
        try:
            while not replaced:
                if self.rest.tasks:
                    self._tell(session_notices.agent_waits(self.name))
                    await self.rest.come(tasks=True)
                replaced = await self.claude.renew(self.rest.come, stays=self._has_tasks)
        finally:
            self._agent_waits = False

    def _has_tasks(self) -> bool:
        """Asked when the old one is about to go: what is chosen from here on needs another new one."""
        self._agent_waits = self.rest.tasks
        return self.rest.tasks

    @property
    def route(self) -> Route | None:
        """The way that requests go at this moment; None leaves it to Claude Code's settings."""
        return self.provider() or self.gateway

    async def again(self) -> SessionOptions:
        """What a Claude Code is started with that takes this session up where the last one left it."""
        self.rest.begin_anew()
        loop = asyncio.get_running_loop()
        self.conversation, saved = await loop.run_in_executor(
            None, continued.where_to_go_on, self.name, self.conversation
        )
        chosen = self.choices.chosen
        sdk = replace(
            self.options.sdk,
            resume=self.conversation if saved else None,
            session_id=None if saved else self.conversation,
            permission_mode=chosen.mode,  # type: ignore[arg-type]  # one of the SDK's, checked when it was learned
        )
        options = attrs.evolve(self.options, sdk=sdk)
        return self.routed(self.route, options.unrecorded if "agent" in self.choices.explicit else options)

    async def claude_anew(self) -> None:
        """Go on with a Claude Code that is started anew, as soon as nothing runs."""
        await self.ready.wait()
        await self.claude.renew(self.rest.come)

    async def restore(self) -> None:
        """Set again in the new Claude Code what was chosen in the old one."""
        explicit = dict(self.choices.explicit)
        explicit.pop("mode", None)  # it was started in it
        await self.choices.learn_again(self.claude.info, explicit)

    async def afresh(self, mode: str) -> SessionOptions:
        """What a Claude Code is started with that carries out a plan, in this mode and with an empty context."""
        self.rest.begin_anew()
        sdk = replace(
            self.options.sdk,
            resume=None,
            session_id=str(uuid.uuid4()),
            permission_mode=mode,  # type: ignore[arg-type]  # one of those that were offered
        )
        return self.routed(self.route, attrs.evolve(self.options, sdk=sdk))

    async def settle(self, mode: str) -> None:
        """The Claude Code of `afresh` has started: the session is at its conversation, and as it was but for the mode.

        Not before: where it does not start, the session goes on with the conversation that it is at.
        """
        self.conversation = self.claude.options.sdk.session_id or self.conversation
        self.titles.forget()
        await self._aside(continued.remember, self.name, self.conversation)
        await self.choices.learn_again(self.claude.info, {**self.choices.wishes, "mode": mode})

    async def _aside(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)


def _stored_titles(conversation: str) -> StoredTitles:
    """What is known of the titles of a conversation; nothing of one that is not written yet, or cannot be read."""
    try:
        transcript = find_transcript(conversation)
        return read_titles(transcript) if transcript is not None else StoredTitles()
    except (OSError, ValueError) as error:
        logger.info("conversation {}: its titles cannot be read: {}", conversation[:80], error)
        return StoredTitles()
