"""Claude Code's suggestions (`PermissionUpdate[]`): valid as a whole or not offered at all (reference 5.10).

What is valid comes back as a copy, taken when the ask arrives: what is applied later is what the label said, whatever
becomes of the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from middleware.tools.unseen import is_seen

Update = dict[str, Any]
"""A `PermissionUpdate`, in Claude Code's own spelling."""

DESTINATIONS = ("session", "cliArg", "localSettings", "projectSettings", "userSettings")
"""Where a change is kept; the longer it lasts and the more it covers, the later it stands."""

MODES = frozenset({"default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"})
BEHAVIORS = frozenset({"allow", "deny", "ask"})

MOST = 100
"""Updates in a bundle, rules or directories in an update."""

TOOL_NAME, RULE, DIRECTORY = 512, 10_000, 4096
"""Characters of a tool's name, a rule's content, a directory."""

_RULE = {"toolName": TOOL_NAME, "ruleContent": RULE}

_SURROGATES = re.compile("[\ud800-\udfff]")


class _Invalid(Exception):
    """The bundle holds something that is not known."""


def normalized(suggestions: Any) -> tuple[Update, ...] | None:
    """A copy of the whole bundle, or None when any part of it is not known to be valid.

    A member that is not known makes the bundle invalid too: what it would do cannot be said.
    """
    try:
        return tuple(_listed(suggestions, _update))
    except _Invalid:
        return None


def is_rule_content(value: Any) -> bool:
    """Whether a text can be the content of a rule."""
    return _is_text(value, RULE)


def is_tool_name(value: Any) -> bool:
    return _is_text(value, TOOL_NAME)


def _is_text(value: Any, most: int) -> bool:
    """A text in which something is not seen cannot be named truly either (5.10 says it of control characters)."""
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.strip():
        return False
    return is_seen(value) and not _SURROGATES.search(value)


def _check(holds: bool) -> None:
    if not holds:
        raise _Invalid


def _listed(value: Any, read: Callable[[Any], Any], *, least: int = 1) -> list[Any]:
    _check(isinstance(value, list) and least <= len(value) <= MOST)
    return [read(item) for item in value]


def _one_of(value: Any, known: Any) -> str:
    _check(isinstance(value, str) and value in known)
    return str(value)


def _text(value: Any, most: int) -> str:
    _check(_is_text(value, most))
    return str(value)


def _update(value: Any) -> Update:
    _check(isinstance(value, dict))
    kind = value.get("type")
    _check(isinstance(kind, str) and kind in _KINDS)
    members = _KINDS[kind]
    _check(value.keys() == {"type", "destination", *members})
    return {key: _read(key, kind, members, item) for key, item in value.items()}


def _read(key: str, kind: str, members: Mapping[str, Callable[[Any], Any]], item: Any) -> Any:
    if key == "type":
        return kind
    return _one_of(item, DESTINATIONS) if key == "destination" else members[key](item)


def _rule(value: Any) -> Update:
    _check(isinstance(value, dict) and "toolName" in value and value.keys() <= _RULE.keys())
    return {key: _text(item, _RULE[key]) for key, item in value.items()}


def _rules(value: Any) -> list[Any]:
    return _listed(value, _rule)


def _maybe_no_rules(value: Any) -> list[Any]:
    return _listed(value, _rule, least=0)


def _behavior(value: Any) -> str:
    return _one_of(value, BEHAVIORS)


def _mode(value: Any) -> str:
    return _one_of(value, MODES)


def _directories(value: Any) -> list[Any]:
    return _listed(value, lambda item: _text(item, DIRECTORY))


_KINDS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "addDirectories": {"directories": _directories},
    "addRules": {"rules": _rules, "behavior": _behavior},
    "removeDirectories": {"directories": _directories},
    "removeRules": {"rules": _rules, "behavior": _behavior},
    "replaceRules": {"rules": _maybe_no_rules, "behavior": _behavior},
    "setMode": {"mode": _mode},
}
