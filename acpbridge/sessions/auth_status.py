"""How Claude Code is signed in, in the words of `_auth/status_update` (reference 10.6). Pure functions.

Two accounts of it: `claude auth status --json`, and the account in Claude Code's answer to the handshake. Neither holds
a key. When it is asked, and who is told, is the business of `identity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from middleware.messages import AuthStatus

NOBODY = AuthStatus(kind="none", label="Not logged in")

_EXTERNAL = {
    "bedrock": "AWS Bedrock",
    "vertex": "Google Vertex AI",
    "foundry": "Azure AI Foundry",
    "anthropicAws": "Anthropic on AWS",
    "anthropicGoogleCloud": "Anthropic on Google Cloud",
    "mantle": "Mantle",
}
"""The clouds that sign in by themselves, by Claude Code's name."""

_KEYS = {
    "ANTHROPIC_API_KEY": "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN": "ANTHROPIC_AUTH_TOKEN",
    "apiKeyHelper": "API key helper",
}
"""Where a key comes from, by Claude Code's name."""


def of_report(report: Mapping[str, Any]) -> AuthStatus:
    """What `claude auth status --json` says."""
    method, source = report.get("authMethod"), report.get("apiKeySource")
    if (cloud := _cloud(report.get("apiProvider"))) is not None:
        return cloud
    if report.get("loggedIn") is not True:
        return NOBODY
    if isinstance(report.get("subscriptionType"), str) or method in ("claude.ai", "oauth_token"):
        return _account(report.get("subscriptionType"), report.get("email"), report.get("orgName"))
    return _key(source)


def of_account(account: Mapping[str, Any]) -> AuthStatus | None:
    """What the account of a handshake says; None when it says nothing."""
    if (cloud := _cloud(account.get("apiProvider"))) is not None:
        return cloud
    source, token = account.get("apiKeySource"), account.get("tokenSource")
    if isinstance(account.get("subscriptionType"), str):
        return _account(account["subscriptionType"], account.get("email"), account.get("organization"))
    if isinstance(source, str) and source != "none":
        return _key(source)
    if isinstance(token, str) and token != "none":
        return _key(token) if token in _KEYS else _account(None, account.get("email"), account.get("organization"))
    return NOBODY if token == "none" else None


def of_gateway(address: str) -> AuthStatus:
    """A gateway that the client named."""
    return AuthStatus(kind="gateway", label="Custom model gateway", detail=urlsplit(address).hostname)


def merged(before: AuthStatus | None, now: AuthStatus) -> AuthStatus:
    """What is told now: of the same identity what was known in more detail stays known."""
    if before is None or (before.kind, before.label) != (now.kind, now.label):
        return now
    return attrs.evolve(now, detail=now.detail or before.detail, account={**before.account, **now.account})


def _cloud(provider: Any) -> AuthStatus | None:
    if not isinstance(provider, str) or provider in ("", "firstParty"):
        return None
    if provider == "gateway":
        return AuthStatus(kind="gateway", label="Custom model gateway")
    return AuthStatus(kind="external", label=_EXTERNAL.get(provider, provider))


def _account(subscription: Any, email: Any, organization: Any) -> AuthStatus:
    plan = subscription if isinstance(subscription, str) and subscription else ""
    named = {"plan": plan, "email": email, "organization": organization}
    account = {key: value for key, value in named.items() if isinstance(value, str) and value}
    words = plan.replace("_", " ").title()
    return AuthStatus(kind="account", label=f"Claude {words}" if words else "Claude", account=account)


def _key(source: Any) -> AuthStatus:
    return AuthStatus(kind="api_key", label="Anthropic API key", detail=_KEYS.get(str(source)))
