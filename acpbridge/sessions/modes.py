"""The permission modes that a session can offer, in Claude Code's words (reference 6.1). Tables and pure functions.

Which of them there are is decided here; Claude Code has the last word, and refuses what policy, root or the model
forbids. Nothing here ever puts a freer mode in the place of one that is not to be had.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from middleware import acp

DEFAULT = "default"
BYPASS = "bypassPermissions"

_CATALOG = {
    DEFAULT: ("Manual", "Always ask before making changes"),
    "acceptEdits": ("Accept edits", "Automatically accept all file edits"),
    "plan": ("Plan", "Create a plan before making changes"),
    "auto": ("Auto", "Claude handles permission decisions"),
    BYPASS: ("Bypass permissions", "Accepts all permissions"),
}
"""The modes that are offered, in this order: name and description by Claude Code's id."""

KNOWN = frozenset({*_CATALOG, "dontAsk"})
"""The modes that Claude Code has. `dontAsk` is never offered, but a session may be in it."""

_ALIASES = {
    "auto": "auto",
    "default": DEFAULT,
    "manual": DEFAULT,
    "acceptedits": "acceptEdits",
    "dontask": "dontAsk",
    "plan": "plan",
    "bypasspermissions": BYPASS,
    "bypass": BYPASS,
}


def normalized(mode: object) -> str | None:
    """Claude Code's id of a mode, however it is spelled; None for what is no mode."""
    return _ALIASES.get(mode.strip().lower()) if isinstance(mode, str) else None


def name_of(mode: str) -> str:
    return _CATALOG[mode][0] if mode in _CATALOG else mode


def may_bypass(wished: Mapping[str, Any]) -> bool:
    """Whether Claude Code may be started so that it can leave all permissions out.

    Args:
        wished: `_meta.claudeCode.options`.
    """
    return not is_root() and wished.get("allowDangerouslySkipPermissions") is not False


def is_root() -> bool:
    """Claude Code refuses to bypass permissions for root, except in a sandbox."""
    if not hasattr(os, "geteuid") or os.environ.get("IS_SANDBOX") == "1":
        return False  # Windows has no root; Claude Code takes no other value for a sandbox, and would not start
    return os.geteuid() == 0


def available(*, bypass: bool, settings: Mapping[str, Any], model: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The modes of a session.

    Args:
        bypass: `may_bypass`.
        settings: Claude Code's effective settings.
        model: its description of the model that answers; None when it has none.
    """
    permissions = settings.get("permissions")
    permissions = permissions if isinstance(permissions, dict) else {}
    gone = set()
    if "disable" in (settings.get("disableAutoMode"), permissions.get("disableAutoMode")):
        gone.add("auto")
    if model is not None and model.get("supportsAutoMode") is not True:
        gone.add("auto")
    if not bypass or permissions.get("disableBypassPermissionsMode") == "disable":
        gone.add(BYPASS)
    return tuple(mode for mode in _CATALOG if mode not in gone)


def mode_state(current: str, modes: Iterable[str]) -> acp.SessionModeState:
    """ACP's list of the modes; the current one is in it, whatever it is."""
    listed = tuple(modes)
    shown = listed if current in listed else (*listed, current)
    return acp.SessionModeState(current_mode_id=current, available_modes=[_mode(mode) for mode in shown])


def _mode(mode: str) -> acp.SessionMode:
    name, description = _CATALOG.get(mode, (mode, None))
    return acp.SessionMode(id=mode, name=name, description=description)
