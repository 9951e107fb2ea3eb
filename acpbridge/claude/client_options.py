"""What a client asks of Claude Code in `_meta.claudeCode.options`: names and shapes. Pure functions.

The names are those of the TypeScript SDK (reference 9.1), which clients know; the Python SDK has most of them under
another spelling. An option of the wrong shape is refused, since a session that quietly ignores what was asked for, a
list of allowed tools above all, is worse than none. `null` counts as absent. Values are never logged or quoted: they
may be keys. Which layer wins is decided in `options`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from loguru import logger


class WrongOption(ValueError):
    """An option that no session can be started with; the text names it and says what it must be."""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_plugins(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and item.get("type") == "local" and isinstance(item.get("path"), str) for item in value
    )


_Shape = tuple[Callable[[Any], bool], str]

_TEXT: _Shape = (_is_text, "a text")
_TEXTS: _Shape = (_is_texts, "a list of texts")
_NUMBER: _Shape = (_is_number, "a number")
_FLAG: _Shape = (_is_flag, "true or false")
_OBJECT: _Shape = (_is_object, "an object")

_PASSED: Mapping[str, tuple[str, _Shape]] = {
    "additionalDirectories": ("add_dirs", _TEXTS),
    "allowedTools": ("allowed_tools", _TEXTS),
    "betas": ("betas", _TEXTS),
    "disallowedTools": ("disallowed_tools", _TEXTS),
    "effort": ("effort", _TEXT),
    "fallbackModel": ("fallback_model", _TEXT),
    "maxBudgetUsd": ("max_budget_usd", _NUMBER),
    "maxThinkingTokens": ("max_thinking_tokens", _NUMBER),
    "maxTurns": ("max_turns", _NUMBER),
    "model": ("model", _TEXT),
    "outputFormat": ("output_format", _OBJECT),
    "permissionMode": ("permission_mode", _TEXT),
    "plugins": ("plugins", (_is_plugins, "a list of objects of the type `local` with a `path`")),
    "settingSources": ("setting_sources", _TEXTS),
    "skills": ("skills", (lambda value: value == "all" or _is_texts(value), "`all` or a list of texts")),
    "strictMcpConfig": ("strict_mcp_config", _FLAG),
    "thinking": ("thinking", _OBJECT),
    "tools": ("tools", (lambda value: _is_texts(value) or _is_object(value), "a list of texts or a preset")),
}
"""Option -> its name in the Python SDK, and its shape."""

_INITIALIZE = frozenset(
    {"agents", "appendSubagentSystemPrompt", "perTaskStopAffordance", "planModeInstructions", "title", "toolAliases"}
)
"""Options that travel in `initialize`, as the client wrote them."""

_ELSEWHERE = frozenset({"env", "extraArgs", "forwardSubagentText", "mcpServers", "settings", "systemPrompt"})
"""Options that have a function of their own here, or are read by `options` or a stage."""

_OURS = frozenset({"input-format", "output-format", "permission-prompt-tool", "print", "session-id", "verbose"})
"""Flags of Claude Code that the bridge depends on."""


def sdk_options(wished: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the SDK has, under its names. What is not known is logged, by its name.

    Raises:
        WrongOption
    """
    known = {}
    for key in sorted(wished):
        value = wished[key]
        if key in _PASSED and value is not None:
            name, (fits, shape) = _PASSED[key]
            if not fits(value):
                _wrong(key, shape)
            known[name] = value
        elif key not in _PASSED and key not in _INITIALIZE and key not in _ELSEWHERE:
            logger.info("the option {} of _meta.claudeCode.options is not passed on", ascii(key[:80]))
    if "thinking" in known:
        known["thinking"] = _thinking(known["thinking"])
    return known


def initialize_members(wished: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are members of the `initialize` request."""
    return {key: wished[key] for key in sorted(_INITIALIZE) if wished.get(key) is not None}


def environment(wished: Mapping[str, Any]) -> dict[str, str]:
    """Variables for Claude Code's process. Raises `WrongOption`."""
    variables = _object(wished, "env")
    for name, value in variables.items():
        if value is not None and not isinstance(value, str):
            _wrong(f"env.{name}", "a text")
    return {name: value for name, value in variables.items() if value is not None}


def extra_arguments(wished: Mapping[str, Any]) -> dict[str, str | None]:
    """Flags of Claude Code, None for one without a value. Raises `WrongOption`."""
    arguments: dict[str, str | None] = {}
    for name, value in _object(wished, "extraArgs").items():
        if value is not None and not isinstance(value, str) and not _is_number(value):
            _wrong(f"extraArgs.{name}", "a text, a number or null")
        if name.lstrip("-") in _OURS:
            logger.warning("the flag {} of _meta.claudeCode.options.extraArgs is the bridge's own", ascii(name[:80]))
        else:
            arguments[name] = None if value is None or value == "" else str(value)
    return arguments


def mcp_servers(wished: Mapping[str, Any]) -> dict[str, Any]:
    """MCP servers in Claude Code's form, by name. Raises `WrongOption`."""
    servers = {}
    for name, server in _object(wished, "mcpServers").items():
        if not isinstance(server, dict):
            _wrong(f"mcpServers.{name}", "an object")
        if server.get("type") == "sdk":
            logger.warning("the MCP server {} lives in the client's process and cannot be reached", ascii(name[:80]))
        else:
            servers[name] = server
    return servers


def settings(wished: Mapping[str, Any]) -> str | None:
    """Settings as the SDK takes them: JSON, or a path. Raises `WrongOption`."""
    value = wished.get("settings")
    if value is None or isinstance(value, str):
        return value or None
    if not isinstance(value, dict):
        _wrong("settings", "an object or a path")
    return json.dumps(value)


def _thinking(value: Mapping[str, Any]) -> dict[str, Any]:
    """TypeScript says `budgetTokens`; without a budget Claude Code chooses one."""
    kind, budget = value.get("type"), value.get("budgetTokens", value.get("budget_tokens"))
    display = {"display": value["display"]} if isinstance(value.get("display"), str) else {}
    if kind == "disabled":
        return {"type": "disabled"}
    if kind == "adaptive" or (kind == "enabled" and budget is None):
        return {"type": "adaptive", **display}
    if kind != "enabled" or not _is_number(budget):
        _wrong("thinking", "of the type `adaptive`, `disabled` or `enabled`, with a number as `budgetTokens`")
    return {"type": "enabled", "budget_tokens": budget, **display}


def _object(wished: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = wished.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        _wrong(key, "an object")
    return dict(value)


def _wrong(name: str, shape: str) -> NoReturn:
    raise WrongOption(f"`_meta.claudeCode.options.{name[:120]}` must be {shape}")
