"""The receipt of an interrupt: which prompts Claude Code dropped from its queue, whichever way its version says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from claude_agent_sdk import ClaudeSDKError
from loguru import logger

from .tap import ControlError


async def dropped_by(
    session: str, drops: Mapping[str, asyncio.Future[Any]], stop: asyncio.Future[Any]
) -> tuple[str, ...]:
    """The prompts that were dropped, once all answers are there.

    Args:
        session: whose, for the log.
        drops: the answer of `cancel_async_message`, by prompt.
        stop: the answer of `interrupt`.
    """
    dropped = []
    for prompt, answer in drops.items():
        try:
            reply = await answer
        except (ControlError, ClaudeSDKError) as error:
            logger.debug("session {}: a queued prompt was not dropped: {}", session, error)
        else:
            if isinstance(reply, dict) and reply.get("cancelled") is True:
                dropped.append(prompt)
    try:
        reply = await stop
    except ControlError as error:
        logger.warning("session {}: the interrupt was not taken: {}", session, error)
    except ClaudeSDKError as error:
        logger.debug("session {}: nothing was left to interrupt: {}", session, error)
    else:
        named = reply.get("cancelled") if isinstance(reply, dict) else None
        dropped += [prompt for prompt in named or () if isinstance(prompt, str) and prompt not in dropped]
    return tuple(dropped)
