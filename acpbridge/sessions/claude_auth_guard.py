"""`--hide-claude-auth`: an integration that may not use claude.ai subscriptions (reference 10.6). Pure functions.

The ways to log in that lead to one are not offered (`login`), and a Claude Code that bills one is not used: no session
begins with it, and no prompt is given to it. With a provider or a gateway of the client's it is not asked at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loguru import logger

from acpbridge.claude.members import text_in
from middleware.errors import Failure

NOT_SUPPORTED = "This integration does not support using claude.ai subscriptions."
SIGN_IN = "Sign in with an API key or a Console account to use this integration."

_KEYS = frozenset({"ANTHROPIC_API_KEY", "apiKeyHelper", "/login managed key"})
_NO_TOKEN = (None, "", "none", "claude.ai")


def refusal(account: Any) -> Failure | None:
    """Why a Claude Code with this account may not be used; None when it may.

    Args:
        account: of its answer to the handshake. What cannot be read is let pass, with a warning.
    """
    if not isinstance(account, dict) or not account:
        logger.warning("whose account Claude Code uses is not known, so it is not checked")
        return None
    if account.get("apiProvider") not in (None, "firstParty"):
        return None
    key = account.get("apiKeySource")
    if text_in(account, "apiKeySource") in _KEYS or account.get("tokenSource") not in _NO_TOKEN:
        return None
    if _is_text(account, "subscriptionType"):
        return Failure.auth_required(NOT_SUPPORTED, {"reason": "claude_subscription_not_supported"})
    return None if isinstance(key, str) and key not in ("", "none") else Failure.auth_required(SIGN_IN)


def _is_text(source: Mapping[str, Any], key: str) -> bool:
    return isinstance(source.get(key), str) and bool(source[key])
