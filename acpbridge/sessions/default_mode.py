"""The permission mode that a session begins in: what was asked for, and never a freer one (reference 6.1).

Claude Code applies the settings itself, leaves out what a repository may not decide, and falls back to Manual. What is
left is what would keep it from starting at all, and telling the person. Reads settings files: for worker threads.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from . import modes
from .places import config_directory

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:\\Program Files\\ClaudeCode",
}


def settings_files(cwd: str) -> tuple[Path, ...]:
    """Where Claude Code's settings for a directory are; the first one that sets something counts."""
    managed = Path(_MANAGED.get(sys.platform, "/etc/claude-code")) / "managed-settings.json"
    own = Path(cwd) / ".claude"
    return managed, own / "settings.local.json", own / "settings.json", config_directory() / "settings.json"


def mode_to_start_in(wished: Mapping[str, Any], cwd: str) -> str | None:
    """The mode to start Claude Code in; None leaves it to the settings.

    Where permissions may not be bypassed it is Manual, whoever wants it: Claude Code does not start at all for root
    then, and does as it is told where it is the client that forbids it.

    Args:
        wished: `_meta.claudeCode.options`.
        cwd: the session's working directory.
    """
    wish, bypass = wished.get("permissionMode"), modes.may_bypass(wished)
    if wish is not None:
        mode = modes.normalized(wish)
        if mode is None:
            logger.warning("the permission mode {!r} is unknown: Manual instead", str(wish)[:80])
        refused = mode is None or (mode == modes.BYPASS and not bypass)
        return modes.DEFAULT if refused else mode
    if not bypass and modes.BYPASS in map(modes.normalized, _configured(cwd)):
        return modes.DEFAULT
    return None


def unavailable(configured: object, current: str) -> str | None:
    """The default mode of the settings, when the session is not in it."""
    if not isinstance(configured, str) or modes.normalized(configured) == current:
        return None
    return configured


def _configured(cwd: str) -> Iterator[object]:
    for path in settings_files(cwd):
        try:
            settings = json.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError):
            continue  # Claude Code says what is wrong with it (`get_settings`)
        permissions = settings.get("permissions") if isinstance(settings, dict) else None
        if isinstance(permissions, dict) and "defaultMode" in permissions:
            yield permissions["defaultMode"]
