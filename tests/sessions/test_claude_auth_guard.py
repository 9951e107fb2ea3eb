"""Which accounts of Claude Code an integration without claude.ai subscriptions refuses."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.sessions.claude_auth_guard import NOT_SUPPORTED, SIGN_IN, refusal
from tests.core import logged

SUBSCRIBED = {"subscriptionType": "max", "email": "a@b", "apiProvider": "firstParty"}


@pytest.mark.parametrize(
    ("account", "text"),
    [
        (SUBSCRIBED, NOT_SUPPORTED),
        ({**SUBSCRIBED, "tokenSource": "claude.ai"}, NOT_SUPPORTED),
        ({**SUBSCRIBED, "apiKeySource": "none"}, NOT_SUPPORTED),
        ({"tokenSource": "none", "apiProvider": "firstParty"}, SIGN_IN),
        ({"tokenSource": "none", "apiKeySource": "none"}, SIGN_IN),
        ({"tokenSource": "none", "apiKeySource": ["apiKeyHelper"]}, SIGN_IN),
        ({**SUBSCRIBED, "apiKeySource": "ANTHROPIC_API_KEY"}, None),
        ({**SUBSCRIBED, "apiKeySource": "apiKeyHelper"}, None),
        ({**SUBSCRIBED, "apiKeySource": "/login managed key"}, None),
        ({**SUBSCRIBED, "tokenSource": "ANTHROPIC_AUTH_TOKEN"}, None),
        ({**SUBSCRIBED, "apiProvider": "bedrock"}, None),
    ],
)
def test_accounts(account: dict[str, Any], text: str | None) -> None:
    """A subscription is refused, and nobody at all; every other credential is taken. Both are -32000."""
    refused = refusal(account)
    assert (refused.message if refused is not None else None) == (text and f"Authentication required: {text}")
    if refused is not None:
        assert refused.code == -32000
        reason = {"reason": "claude_subscription_not_supported"} if text == NOT_SUPPORTED else None
        assert refused.data == reason


@pytest.mark.parametrize("account", [None, {}, 7])
def test_an_account_that_cannot_be_read(account: Any) -> None:
    """It is let pass, with a warning."""
    with logged() as lines:
        assert refusal(account) is None
    assert [line.split()[0] for line in lines] == ["WARNING"]
