"""How a permission request looks: the tool call that it shows, its heading and the reason (reference 5.2)."""

from __future__ import annotations

from typing import Any

import attrs

from middleware import acp
from middleware.messages import PermissionAsk, PermissionRequest
from middleware.profile import ClientProfile
from middleware.tools import describe_use, raw_input, terminals
from middleware.tools.text import fenced_json, legal, one_line, text_content
from middleware.tools.unseen import plain, spelled

from .options import COMPUTER_USE, Choice, display_name, host

TEXT = 4000
"""Characters of a heading or a reason; a longer one is left out, not cut."""

PATH = 4096
"""Characters of a path that is added to a request's locations."""

_COMMANDS = frozenset({"Bash", "PowerShell"})
SANDBOX = "SandboxNetworkAccess"


def request(
    ask: PermissionAsk, choices: tuple[Choice, ...], *, profile: ClientProfile, cwd: str, parent: str | None
) -> PermissionRequest:
    """The ask in the words in which the client is asked; `parent` is the Agent call of the subagent that asks."""
    call = _call(ask, profile, cwd, parent)
    members = {field.name: getattr(ask, field.name) for field in attrs.fields(PermissionAsk)}
    return PermissionRequest(
        **members,
        call=call,
        options=tuple(choice.option for choice in choices),
        meta=_meta(ask, call.title or ask.name, profile),
    )


def call_of(ask: PermissionAsk) -> str:
    """The id of the call that an ask is shown as: its tool use's, or its own where it has none."""
    return ask.tool_use if ask.tool_use is not None else ask.ask


def is_settled_by_answer(ask: PermissionAsk) -> bool:
    """Whether no result will ever come for the call: what was asked is all that there is (reference 5.9)."""
    return ask.tool_use is None or ask.name == SANDBOX


def _call(ask: PermissionAsk, profile: ClientProfile, cwd: str, parent: str | None) -> acp.ToolCallUpdate:
    view = describe_use(ask.name, ask.input, cwd=cwd, file=ask.file)
    content = list(terminals.shown_content(view, call_of(ask), profile))
    computer = ask.name.startswith(COMPUTER_USE)
    if not content and (ask.name == SANDBOX or computer):
        content = [text_content(spelled(fenced_json(dict(ask.input))))]
    locations = list(view.locations) if view.locations is not None else None
    blocked = ask.blocked_path or ""
    if _is_path(blocked) and not any(location.path == blocked for location in locations or ()):
        locations = [*(locations or ()), acp.ToolCallLocation(path=blocked)]
    named = host(ask) if ask.name == SANDBOX else display_name(ask) if computer else ""
    return acp.ToolCallUpdate(
        tool_call_id=call_of(ask),
        name=ask.name,
        status="pending",
        title=named or view.title,
        kind=view.kind,
        content=content,
        locations=locations,
        raw_input=raw_input(ask.input, view, repeat=False),
        meta=_call_meta(ask, parent),
    )


def _is_path(path: str) -> bool:
    return 0 < len(path) <= PATH and one_line(path) == path


def _call_meta(ask: PermissionAsk, parent: str | None) -> dict[str, Any] | None:
    about: dict[str, Any] = {}
    if parent is not None:
        about |= {"toolName": ask.name, "parentToolUseId": parent}
    if ask.mcp_server is not None:
        known = {key: ask.mcp_server.get(key) for key in ("name", "source")}
        about["mcpServer"] = {key: value for key, value in known.items() if isinstance(value, str)}
    return {"claudeCode": about} if about else None


def _meta(ask: PermissionAsk, title: str, profile: ClientProfile) -> dict[str, Any]:
    told: dict[str, Any] = {"version": 1, "title": heading(ask, title)}
    reason = plain(legal(ask.decision_reason or "")).strip()
    if reason and len(reason) <= TEXT:
        told["description"] = f"Reason: {reason}"
    meta: dict[str, Any] = {"permission": told}
    if profile.air:
        placed = {**told, "defaultToNo": True} if ask.default_to_no else dict(told)
        meta["jetbrains"] = {"air": {"version": 1, "permission": placed}}
    return meta


def heading(ask: PermissionAsk, title: str) -> str:
    """The request's heading is the call's title, a command verbatim; the plan's asks for an action."""
    if ask.name == "ExitPlanMode":
        return "Ready to code?"
    if ask.name in _COMMANDS:
        return plain(title) or "Use tool?"
    line = one_line(title)
    return line if 0 < len(line) <= TEXT else "Use tool?"
