"""Claude Code's dialog about a request that the model has declined, as a form, and what the answer means (10.2).

Claude Code asks only where the person has switched off that another model tries by itself (`switchModelsOnFlag`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware.messages import RefusalAsk
from middleware.tools.unseen import plain

RETRY = "retry_fallback"
KEEP = "cancelled"


def refusal_form(ask: RefusalAsk) -> tuple[str, dict[str, Any]]:
    """The message and the schema: shall the other model try?"""
    category = f" ({ask.category})" if ask.category else ""
    message = f"{ask.original_model} declined this request{category}. Retry with {ask.fallback_model}?"
    if ask.guidance:
        message += f"\n\n{ask.guidance}"
    options = [
        {
            "const": RETRY,
            "title": plain(f"Retry with {ask.fallback_model}"),
            "description": plain(f"The session continues on {ask.fallback_model}."),
        },
        {"const": KEEP, "title": "Keep the refusal", "description": "You can send a new message."},
    ]
    return plain(message), {"type": "object", "properties": {"choice": {"type": "string", "oneOf": options}}}


def refusal_result(action: str, content: Mapping[str, Any] | None) -> str:
    """What the person chose; everything but the retry keeps the refusal."""
    return RETRY if action == "accept" and (content or {}).get("choice") == RETRY else KEEP
