"""What in Claude Code's frames says that something changed beside the turns: settings, model, who is signed in.

Only whether to look again: what it became is read from Claude Code's answers (`choices`, `identity`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpbridge.claude.control import NEWS

SIGN_IN_FAILED = ("authentication_failed", "oauth_org_not_allowed")
"""What a message of Claude Code's own says went wrong, where it is the sign-in."""


def speaks_of_identity(frame: Mapping[str, Any]) -> bool:
    """Whether somebody else may be signed in: a sign-in was not accepted, or settings changed that name a key's helper.

    Not those of a project: a permission that is granted for good is written there.
    """
    if frame.get("type") == "assistant":
        return frame.get("error") in SIGN_IN_FAILED
    hook = _hook_of(frame)
    return hook.get("hook_event_name") == "ConfigChange" and hook.get("source") in ("user_settings", "policy_settings")


def _hook_of(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    """What our hook for news is told with this frame; empty for any other frame."""
    request = frame.get("request") if frame.get("type") == "control_request" else None
    if not isinstance(request, dict) or request.get("callback_id") != NEWS:
        return {}
    hook = request.get("input")
    return hook if isinstance(hook, dict) else {}


def is_news(frame: Mapping[str, Any]) -> bool:
    """A hook that says that the settings changed, or the model other than by us."""
    hook = _hook_of(frame)
    name = hook.get("hook_event_name")
    return name == "ConfigChange" or (name == "PostModelSwitch" and hook.get("source") not in ("sdk", "resume"))
