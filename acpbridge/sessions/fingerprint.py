"""Whether a session that is open is the one that a client asks for again (reference 9.2). Pure functions.

A client that loads a session it has open gets the running Claude Code, unless it asks for another working directory,
other servers or other options: then Claude Code is started anew.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from acpbridge.claude.members import object_in
from middleware import acp

_LEFT_OUT = frozenset(
    {
        "agent",
        "continue",
        "cwd",
        "executable",
        "forkSession",
        "includePartialMessages",
        "loadTimeoutMs",
        "permissionMode",
        "resume",
        "resumeDropsTurn",
        "resumeSessionAt",
        "sessionId",
        "title",
    }
)
"""Options of `_meta.claudeCode.options` that say how to start, or what can be changed while it runs."""


def fingerprint(params: Any) -> str:
    """A digest of what a session was asked for; equal for requests that want the same Claude Code.

    A digest, since servers and options hold keys.

    Args:
        params: of session/new, load, resume or fork.
    """
    wire = acp.unstructure(params)
    meta = object_in(wire, "_meta")
    options = {
        key: value
        for key, value in object_in(object_in(meta, "claudeCode"), "options").items()
        if key not in _LEFT_OUT and value is not None
    }
    if isinstance(options.get("skills"), list):
        options["skills"] = sorted(set(map(str, options["skills"])))
    servers = wire.get("mcpServers") or []
    wanted = {
        "cwd": wire.get("cwd"),
        "mcpServers": sorted(servers, key=lambda server: str(server.get("name"))),
        "additionalDirectories": wire.get("additionalDirectories") or [],
        "additionalRoots": meta.get("additionalRoots"),
        "systemPrompt": [wire.get("systemPrompt"), meta.get("systemPrompt")],
        "disableBuiltInTools": meta.get("disableBuiltInTools"),
        "options": options,
    }
    return hashlib.sha256(json.dumps(wanted, sort_keys=True, default=str).encode()).hexdigest()
