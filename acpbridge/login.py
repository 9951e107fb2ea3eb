"""How a person can log in, as `initialize` lists it (reference 01.3). Light, since it is answered before all else.

Claude Code logs in by itself, in a terminal: a client that can run one is told what to run. Without a terminal there is
nothing to offer, and the key is in the agent's environment or there already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

_REMOTE = ("NO_BROWSER", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CLAUDE_CODE_REMOTE")
"""Variables that say that no browser opens in front of the person."""

_IN_TERMINAL = (
    (
        "claude-login",
        "Log in with Claude",
        "Run `claude /login` in the terminal",
        ("--cli",),
        "Claude Login",
    ),
)

_IN_BROWSER = (
    (
        "claude-ai-login",
        "Claude Subscription",
        "Use Claude subscription",
        ("--cli", "auth", "login", "--claudeai"),
        "Claude Login",
    ),
    (
        "console-login",
        "Anthropic Console",
        "Use Anthropic Console (API usage billing)",
        ("--cli", "auth", "login", "--console"),
        "Anthropic Console Login",
    ),
)


_SUBSCRIPTIONS = ("claude-login", "claude-ai-login")
"""The methods by which a person may log in with a claude.ai subscription."""

GATEWAYS = {"gateway": "anthropic", "gateway-bedrock": "bedrock"}
"""Methods for a client that has a gateway of its own, and what each speaks."""


def methods(capabilities: Mapping[str, Any], *, hide_claude_auth: bool = False) -> list[dict[str, Any]]:
    """The ways to log in that this client can be offered.

    Args:
        capabilities: `clientCapabilities` of the wire.
        hide_claude_auth: leave out those that lead to a claude.ai subscription.
    """
    offered = []
    named = _is_there(_object(capabilities, "_meta").get("terminal-auth"))
    auth = _object(capabilities, "auth")
    if named or _is_there(auth.get("terminal")):
        remote = any(os.environ.get(name) for name in _REMOTE)
        rows = _IN_TERMINAL if remote else _IN_BROWSER
        offered += [_method(*row, named=named) for row in rows if not (hide_claude_auth and row[0] in _SUBSCRIPTIONS)]
    if _is_there(_object(auth, "_meta").get("gateway")):
        offered += [_gateway(name, protocol) for name, protocol in GATEWAYS.items()]
    return offered


def _gateway(name: str, protocol: str) -> dict[str, Any]:
    return {
        "id": name,
        "name": "Custom model gateway",
        "description": "Use a custom gateway to authenticate and access models",
        "_meta": {"gateway": {"protocol": protocol}},
    }


def _method(name: str, title: str, text: str, arguments: tuple[str, ...], label: str, *, named: bool) -> dict[str, Any]:
    method: dict[str, Any] = {
        "id": name,
        "name": title,
        "description": text,
        "type": "terminal",
        "args": list(arguments),
    }
    if named:  # older clients want to be told the whole command
        command = {"command": sys.executable, "args": ["-P", "-m", "acpbridge", *arguments], "label": label}
        method["_meta"] = {"terminal-auth": command}
    return method


def _is_there(value: Any) -> bool:
    return value is True or isinstance(value, Mapping)


def _object(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    return value if isinstance(value, dict) else {}
