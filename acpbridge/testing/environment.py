"""What Claude Code needs so that it talks to a local server, with no account and nothing of the person's own
settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

API_KEY = "sk-ant-scripted"
"""Any key will do: nobody checks it."""

SETTINGS: dict[str, Any] = {"permissions": {"defaultMode": "default"}, "skipWebFetchPreflight": True}
"""settings.json: ask for permissions (Claude Code's own default mode is `auto`), and do not ask Anthropic whether a
page may be fetched."""

_EMPTIED = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDECODE",
)
"""Variables that would lead it elsewhere. An environment that is merged over another cannot remove, but an empty one
counts as unset."""


def config_dir(home: Path) -> Path:
    """CLAUDE_CONFIG_DIR in that home."""
    return home / ".claude"


def claude_environment(url: str, home: Path, max_retries: int = 0) -> dict[str, str]:
    """The variables to add to an environment; the directory of settings is made."""
    config_dir(home).mkdir(parents=True, exist_ok=True)
    variables = dict.fromkeys(_EMPTIED, "")
    variables |= {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": API_KEY,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "CLAUDE_CONFIG_DIR": str(config_dir(home)),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(max_retries),
        "ENABLE_TOOL_SEARCH": "false",
        # A proxy of the machine must not be asked for this machine itself.
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Claude Code refuses bypassPermissions to root elsewhere than in a sandbox.
        variables["IS_SANDBOX"] = "1"
    return variables


def write_settings(home: Path, settings: Mapping[str, Any] | None = None) -> Path:
    """Write settings.json, `settings` merged over `SETTINGS` key by key (`permissions` one level deeper); its path."""
    merged: dict[str, Any] = {**SETTINGS, **(settings or {})}
    merged["permissions"] = {**SETTINGS["permissions"], **(settings or {}).get("permissions", {})}
    path = config_dir(home) / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merged, indent=2), encoding="utf-8")
    return path
