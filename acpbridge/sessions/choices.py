"""What is set in one session, and changing it: mode, model, effort, fast mode, ultracode, agent (reference 06).

Claude Code is asked and told; what it then is, is read from its own answers and frames, so that the client hears of
every change however it came about (a command, a plan that was approved, a policy). One change at a time. Runs on the
SDK loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import attrs

from acpbridge.claude.members import text_or_none
from middleware import acp
from middleware.errors import Failure
from middleware.messages import Message, ModelNames, Notice

from . import config_options, models, modes, session_notices
from .choice_news import news_of, session_modes
from .config_options import Chosen
from .failures import RequestRefused
from .read_settings import Settings, settings_of, settled

Ask = Callable[..., Awaitable[Any]]
Feed = Callable[..., None]


@attrs.define(eq=False)
class Choices:
    """The choices of one session.

    Args:
        session: the ACP session id.
        ask: makes a control request.
        feed: puts messages into the pipeline.
        booleans: the client takes options that are on or off.
        bypass: permissions may be left out altogether.
        changed: called with the name of each option that the client chose, and its value.
        listed: the models that the client's provider says it has, by id; None where nobody says.
    """

    session: str
    ask: Ask
    feed: Feed
    booleans: bool
    bypass: bool
    changed: Callable[[str, str], Awaitable[None]] | None = None
    listed: Callable[[], tuple[str, ...] | None] = lambda: None
    tell: Callable[[Notice], None] = attrs.field(init=False)
    chosen: Chosen = attrs.field(factory=Chosen, init=False)
    explicit: dict[str, str] = attrs.field(factory=dict, init=False)
    settings: Settings = attrs.field(factory=Settings, init=False)
    _fast_ended: bool = attrs.field(default=False, init=False)  # Claude Code said that it is not to be had
    _effort_chosen: bool = attrs.field(default=False, init=False)  # in this Claude Code
    _no_auto_told: bool = attrs.field(default=False, init=False)
    _turn: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)
    _open: bool = attrs.field(default=False, init=False)
    _quiet: bool = attrs.field(default=False, init=False)  # it is not for the client yet

    def __attrs_post_init__(self) -> None:
        self.tell = self.feed

    # ------------------------------------------------------------------------------------------ what is

    async def learn(self, info: Mapping[str, Any]) -> None:
        """Take in what a Claude Code that was just started says of itself. Raises what `ask` raises."""
        await self._learn(info)
        self.feed(session_modes(self.session, self.chosen))
        self._name_models()

    async def learn_again(self, info: Mapping[str, Any], wishes: Mapping[str, str]) -> None:
        """The same of a Claude Code that was started anew; the client is told what is not as before.

        Args:
            info: what it says of itself.
            wishes: what is to be set in it, as for `take_up`.
        """
        before = self.chosen
        try:
            self._open = False
            await self._learn(info)
            await self.take_up(wishes)
        finally:
            after, self.chosen, self._open = self.chosen, before, True
        self._change(after)
        self._name_models()

    def _name_models(self) -> None:
        self.feed(ModelNames(session=self.session, entries=config_options.model_entries(self.chosen)))

    async def _learn(self, info: Mapping[str, Any]) -> None:
        current = modes.normalized(info.get("current_permission_mode")) or modes.DEFAULT
        rows = tuple(models.offered(models.rows_of(info), self.listed()))
        answer = await self.ask("get_settings")
        agents, reason = config_options.custom_agents(info), text_or_none(info, "fast_mode_disabled_reason")
        self._effort_chosen = self._fast_ended = False
        chosen = attrs.evolve(self.chosen, mode=current, rows=rows, agents=agents, fast_reason=reason)
        self.chosen = self._settled(chosen, answer)
        self._open = True
        if rows and self.chosen.row is None and self.listed() is not None:
            await self._begin_with(models.in_place_of(self.chosen.model, info, rows))

    async def _begin_with(self, row: models.Row) -> None:
        """Have another model answer than the one that Claude Code began with, which the provider does not have."""
        await self._told("set_model", model=row["value"])
        chosen = attrs.evolve(self.chosen, model=row["value"])
        if chosen.mode == "auto" and row.get("supportsAutoMode") is not True:
            await self._told("set_permission_mode", mode=modes.DEFAULT)
            chosen = attrs.evolve(chosen, mode=modes.DEFAULT)
        self.chosen = self._settled(chosen, await self.ask("get_settings"))

    async def without_auto(self, wish: object) -> bool:
        """Whether the session was to begin in Auto, which its model has not: it begins in Accept edits then.

        A model without Auto is what this is for (reference 6.1). Where Auto is forbidden Claude Code is in Manual.

        Args:
            wish: the client's `permissionMode`; what the settings say counts where there is none.
        """
        wanted = modes.normalized(self.settings.default_mode if wish is None else wish) == "auto"
        if not wanted or self.chosen.mode != modes.DEFAULT or not self.settings.lack_auto(self.chosen.row):
            return False
        self._quiet = True
        try:
            await self._leave_auto()
        finally:
            self._quiet = False
        return True

    @property
    def wishes(self) -> dict[str, str]:
        """What must be set in a Claude Code that knows nothing of this one, beside the mode: values by option."""
        chosen = self.chosen
        wishes = {"model": chosen.model} if chosen.row is not None and chosen.model != "default" else {}
        wishes |= {name: "on" for name, on in (("fast", chosen.fast), ("ultracode", chosen.ultracode)) if on}
        wishes |= {"agent": chosen.agent} if chosen.agent in chosen.agents and chosen.agent is not None else {}
        return {**wishes, **self.explicit}

    async def refresh(self) -> None:
        """Look what became of the settings, and tell the client what is another one. Raises what `ask` raises."""
        async with self._turn:
            await self._learn_settings()

    @property
    def mode_state(self) -> acp.SessionModeState:
        return modes.mode_state(self.chosen.mode, self.chosen.modes)

    @property
    def options(self) -> list[acp.SessionConfigOption]:
        return config_options.options(self.chosen, booleans=self.booleans)

    def observe(self, frame: Mapping[str, Any]) -> Iterable[Message]:
        """What a frame says of the choices: the messages for it.

        Mode and model of an `init` frame are not read: it says what was when the turn began, and comes behind the
        change that a command of this turn made.
        """
        kind, chosen = (frame.get("type"), frame.get("subtype")), self.chosen
        if not self._open:
            return ()
        if kind == ("system", "init") or frame.get("type") == "result":
            return self._fast(frame)
        if kind != ("system", "status"):
            return ()
        mode = modes.normalized(frame.get("permissionMode"))
        return self._news(attrs.evolve(chosen, mode=mode)) if mode is not None else ()

    def _settled(self, chosen: Chosen, answer: Any) -> Chosen:
        """With what `get_settings` answered."""
        self.settings = settings_of(answer)
        return settled(
            chosen,
            self.settings,
            bypass=self.bypass,
            begins=not self._open,
            effort_chosen=self._effort_chosen,
            fast_ended=self._fast_ended,
        )

    def _fast(self, frame: Mapping[str, Any]) -> list[Message]:
        """What a turn's beginning or end says of fast mode: it may be on in the settings, and not to be had.

        A pause after a rate limit, and a reason that nobody could do something about, is none of the person's business.
        """
        state, reason = frame.get("fast_mode_state"), text_or_none(frame, "fast_mode_disabled_reason")
        if state not in ("on", "off"):
            return []
        why = config_options.FAST_REASONS.get(reason or "") if state == "off" else None
        ended = self.chosen.fast and why is not None
        self._fast_ended = (self._fast_ended or ended) and state == "off"
        news = self._news(attrs.evolve(self.chosen, fast=self.chosen.fast and not ended, fast_reason=reason))
        if ended and why is not None:
            news.append(session_notices.fast_ended(self.session, why))
        return news

    # ------------------------------------------------------------------------------------------ telling

    def _change(self, chosen: Chosen) -> None:
        self.feed(*self._news(chosen))

    def _news(self, chosen: Chosen) -> list[Message]:
        """The messages for what is another choice now."""
        before, self.chosen = self.chosen, chosen
        if self._quiet:
            return [session_modes(self.session, chosen)]
        return news_of(self.session, before, chosen, booleans=self.booleans)

    # ------------------------------------------------------------------------------------------ setting

    async def set_mode(self, wish: str) -> None:
        """Change the mode.

        Raises:
            RequestRefused: -32602, there is no such mode, or not in this session.
        """
        mode = modes.normalized(wish)
        if mode is None:
            raise RequestRefused(Failure.invalid_params(f"Invalid Mode: {wish}"))
        async with self._turn:
            await self._set_mode(mode, wish)
            await self._chose("mode", mode)

    async def set_option(self, name: str, value: str | bool) -> None:
        """Change an option.

        Raises:
            RequestRefused: -32602, there is no such option, or not with this value.
        """
        async with self._turn:
            option = next((option for option in self.options if option.id == name), None)
            if option is None:
                raise RequestRefused(Failure.invalid_params(f"Unknown config option: {name}"))
            await self._set(name, config_options.checked(option, value, self.chosen.rows))
            await self._chose(name, value if isinstance(value, str) else ("on" if value else "off"))

    async def _chose(self, name: str, value: str) -> None:
        self.explicit[name] = value
        if self.changed is not None:
            await self.changed(name, value)

    async def take_up(self, wishes: Mapping[str, str]) -> None:
        """Set what was chosen before, as far as it is still to be had; the client is told of none of the steps.

        Args:
            wishes: values by option.
        """
        self._quiet = True
        try:
            await self._take_up(wishes)
        finally:
            self._quiet = False

    async def _take_up(self, wishes: Mapping[str, str]) -> None:
        for name in ("model", "mode", "ultracode", "fast", "effort", "agent"):
            wish = wishes.get(name)
            option = next((option for option in self.options if option.id == name), None)
            if wish is None or option is None:
                continue
            value: str | bool = wish == "on" if isinstance(option, acp.SessionConfigBoolean) else wish
            try:
                await self._set(name, config_options.checked(option, value, self.chosen.rows))
            except RequestRefused as error:
                self.feed(session_notices.not_restored(self.session, name, wish, error.failure.message))
            else:
                self.explicit[name] = wish

    async def _set(self, name: str, value: str | bool) -> None:
        on = value is True or value == "on"
        match name:
            case "mode":
                await self._set_mode(str(value), str(value))
            case "model":
                await self._set_model(str(value))
            case "effort":
                ultracode = {"ultracode": True} if self.chosen.ultracode else {}  # another effort would end it
                effort = {"effortLevel": None if value == "default" else value}
                await self._told("apply_flag_settings", settings={**effort, **ultracode})
                self._effort_chosen = True
                await self._learn_settings()
            case "agent":
                await self._apply(agent=None if value == "default" else value)
            case "fast":
                self._fast_ended = False
                await self._apply(fastMode=on)
            case "ultracode":
                await self._apply(ultracode=on)

    async def _set_mode(self, mode: str, wish: str) -> None:
        if mode not in self.chosen.modes:
            raise RequestRefused(Failure.invalid_params(f"Mode {wish} is not available in this session"))
        answer = await self._told("set_permission_mode", mode=mode)
        effective = modes.normalized(answer.get("mode")) or mode
        self._change(attrs.evolve(self.chosen, mode=effective))

    async def _set_model(self, value: str) -> None:
        await self._told("set_model", model=value)
        settings = await self.ask("get_settings")
        await self._settle(attrs.evolve(self.chosen, model=value), settings)

    async def _settle(self, chosen: Chosen, settings: Any) -> None:
        """Take in the settings behind a change, whoever made it; a model without Auto takes the session out of it."""
        self._change(self._settled(chosen, settings))
        if self.chosen.mode == "auto" and self.settings.lack_auto(self.chosen.row):
            await self._leave_auto()

    async def _leave_auto(self) -> None:
        """Go on in Accept edits. It is told once a session: how it came to another mode stands in its options."""
        await self._told("set_permission_mode", mode="acceptEdits")
        self._change(attrs.evolve(self.chosen, mode="acceptEdits"))
        if not self._no_auto_told:
            self._no_auto_told = True
            self.tell(session_notices.no_auto(self.session))

    async def _apply(self, **settings: Any) -> None:
        await self._told("apply_flag_settings", settings=settings)
        await self._learn_settings()

    async def _learn_settings(self) -> None:
        """Read the settings as they are now. What is chosen is looked at behind the answer: it may change meanwhile."""
        settings = await self.ask("get_settings")
        await self._settle(self.chosen, settings)

    async def _told(self, subtype: str, **members: Any) -> dict[str, Any]:
        """Tell Claude Code; its refusal is the client's answer."""
        from acpbridge.claude.tap import ControlError

        try:
            answer = await self.ask(subtype, **members)
        except ControlError as error:
            raise RequestRefused(Failure.invalid_params(str(error))) from error
        return answer if isinstance(answer, dict) else {}
