"""After how long an idle session is compacted, from the environment (reference 12); `IdleCompaction` does it."""

from __future__ import annotations

import os
from typing import Final

from loguru import logger

from middleware.stages.idle_compaction import DELAY

VARIABLES: Final = ("ACPBRIDGE_IDLE_COMPACT_DELAY_MS", "CLAUDE_AGENT_ACP_IDLE_COMPACT_DELAY_MS")
"""Ours, and that of claude-agent-acp, whose users have it set."""

_LONGEST: Final = 2_147_483_647


def delay() -> float:
    """Seconds. A variable holds milliseconds in digits, at most some 24 days; anything else is logged and ignored."""
    for name in VARIABLES:
        given = os.environ.get(name, "").strip()
        if given.isascii() and given.isdigit() and len(given) < 16 and int(given) <= _LONGEST:
            return int(given) / 1000
        if given:
            logger.warning("{} is ignored: it must be a number of milliseconds", name)
    return DELAY
