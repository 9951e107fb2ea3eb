"""Opening a session: Claude Code is started as the client asks, and what is set in it is learned (reference 9.1).

The same for a new session and for one that is taken up again; what differs is said by the caller.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import attrs

from acpbridge.claude.flow_control import FlowControl
from middleware.errors import Failure
from middleware.messages import SessionOpened

from . import modes
from .choices import Choices
from .default_mode import mode_to_start_in
from .failures import RequestRefused
from .fingerprint import fingerprint
from .heads import StoredTitles
from .opened import OpenSession
from .routing import Route
from .session_settings import session_settings

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd


@attrs.frozen(kw_only=True)
class Past:
    """What a session that is taken up again has behind it.

    `conversation` is Claude Code's id of it, and `saved` whether there is a transcript. `choices` are what was set in
    it, by option. `mode` is the mode of a Claude Code that this one takes the place of: it wins. A model that nobody
    chose (`model_chosen`) was the one of the settings then, and gives way to that of today's.
    """

    conversation: str
    saved: bool = True
    choices: Mapping[str, str] = attrs.field(factory=dict)
    mode: str | None = None
    model_chosen: bool = True
    titles: StoredTitles = attrs.field(factory=StoredTitles)


async def open_session(end: AgentEnd, name: str, params: Any, past: Past | None = None) -> OpenSession:
    """Open a session under this id.

    Args:
        end: the agent end, which holds it from then on.
        name: the ACP session id.
        params: of session/new, load, resume or fork.
        past: what it has behind it; None for a new one.

    Raises:
        RequestRefused: Claude Code could not be started as the client asks.
    """
    module = await end.sdk("acpbridge.claude.session")
    options_module = await end.sdk("acpbridge.claude.options")
    wished = options_module.wished_options(params.meta)
    options = options_module.session_options(
        params, name, stops_subagents=end.profile.subagents, forms=end.profile.elicitation_form
    )
    options = await _prepared(options, wished, params.cwd, past)
    claude = module.ClaudeSession(
        name=name,
        cwd=params.cwd,
        options=_routed(end.route or end.gateway, options),
        feed=end.feed,
        flow=FlowControl(end.has_room),
        spawn=end.loop.spawn,
        watcher=end.watcher,
    )
    choices = Choices(
        session=name,
        ask=claude.request,
        feed=end.feed,
        booleans=end.profile.has("session", "configOptions", "boolean"),
        bypass=modes.may_bypass(wished),
        listed=lambda: opened.route.models if opened.route is not None else None,
    )
    opened = OpenSession(
        name=name,
        conversation=past.conversation if past is not None else name,
        cwd=params.cwd,
        asked=fingerprint(params),
        claude=claude,
        options=options,
        choices=choices,
        spawn=end.loop.spawn,
        provider=lambda: end.route,
        gateway=end.gateway,
        identity=end.identity,
        no_subscription=end.hide_claude_auth,
        routed=_routed,
    )
    claude.observe, claude.again, claude.restore = opened.observe, opened.again, opened.restore
    claude.afresh, claude.settle = opened.afresh, opened.settle
    if end.closing:
        raise RequestRefused(Failure.internal("The agent is closing."))
    end.sessions[name] = claude  # before it is open, so that it is closed with the others if the client goes now
    end.open[name] = opened
    end.feed(SessionOpened(session=name, cwd=params.cwd, resumed=past is not None and past.saved))
    try:
        await choices.learn(await claude.start())
        opened.check_account()
        await _take_up(opened, wished, past)
    except Exception as error:
        await end.close_session(name)
        raise _start_failure(error, name, claude.last_words) from error
    finally:
        opened.ready.set()
    return opened


async def _take_up(opened: OpenSession, wished: Mapping[str, Any], past: Past | None) -> None:
    """Set what was chosen before, except what the client asks for now, and say what is not as the settings want it."""
    opened.tell_problems()
    if past is not None:
        opened.titles.known(past.titles)
    if wished.get("title"):
        opened.titles.given()
    if past is None:
        if not await opened.choices.without_auto(wished.get("permissionMode")) and wished.get("permissionMode") is None:
            opened.tell_default_mode()
        return
    asked = {"mode": wished.get("permissionMode"), "model": wished.get("model"), "effort": wished.get("effort")}
    choices = {name: value for name, value in past.choices.items() if asked.get(name) is None}
    if past.mode is not None:
        choices["mode"] = past.mode
    if not past.model_chosen and (os.environ.get("ANTHROPIC_MODEL") or opened.choices.settings.effective.get("model")):
        choices.pop("model", None)
    await opened.choices.take_up(choices)


def _routed(route: Route | None, options: Any) -> Any:
    """The options with the way that requests go."""
    if route is None:
        return options
    sdk = replace(
        options.sdk,
        env={**options.sdk.env, **route.environment()},
        settings=route.settings(options.sdk.settings),
    )
    return attrs.evolve(options, sdk=sdk)


async def _prepared(options: Any, wished: Mapping[str, Any], cwd: str, past: Past | None) -> Any:
    """The options with what is known here: the mode to begin in, and the conversation to go on with."""
    loop = asyncio.get_running_loop()
    mode = await loop.run_in_executor(None, mode_to_start_in, wished, cwd)
    settings = await loop.run_in_executor(None, session_settings, options.sdk.settings, cwd)
    extra = dict(options.sdk.extra_args)
    if modes.may_bypass(wished):
        extra["allow-dangerously-skip-permissions"] = None
    sdk = replace(options.sdk, permission_mode=mode, settings=settings, extra_args=extra)
    if past is not None and past.saved:
        sdk = replace(sdk, session_id=None, resume=past.conversation)
    elif past is not None:
        sdk = replace(sdk, session_id=past.conversation)
    options = attrs.evolve(options, sdk=sdk)
    return options.unrecorded if past is not None and "agent" in past.choices else options


def _start_failure(error: Exception, session: str, last_words: str) -> RequestRefused:
    """Why Claude Code could not be started. `last_words` is the end of what it wrote to stderr: often the reason."""
    if isinstance(error, RequestRefused):
        return error
    data = getattr(error, "data", None)
    reason = data.get("startup_failure_reason") if isinstance(data, dict) else None
    text = str(error).removeprefix("Claude Code returned an error result: ")
    if last_words and not reason:
        text = f"{text}: {last_words}"
    if "No conversation found" in text:
        return RequestRefused(Failure.session_not_found(session))
    details = {"details": text, **({"startupFailureReason": reason} if reason else {})}
    if reason in ("gateway_signin_required", "org_pin_mismatch", "org_config_refused"):
        return RequestRefused(Failure.auth_required(text, details))
    if reason == "cwd_unavailable":
        return RequestRefused(Failure.invalid_params(text, details))
    return RequestRefused(Failure.internal(f"Claude Code could not be started: {text}", details))
