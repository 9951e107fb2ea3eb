"""Starting Claude Code again when it has died: with a bounded back-off, and into the same conversation.

What is started again, and what becomes of the prompts meanwhile, is `session`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import CLINotFoundError
from loguru import logger
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential

ATTEMPTS = 4
"""Starts that are tried for one prompt."""

FIRST_WAIT = 0.25
"""Seconds before the second start; doubled each time, so that the prompt waits for less than 2 s in all."""

_HOPELESS = ("No conversation found", "requires a valid session ID", "the session is closed", "was closed before it")
"""What Claude Code says when it will say the same the next time."""

Sleep = Callable[[float], Awaitable[None]]


async def start_again(start: Callable[[], Awaitable[Any]], session: str, sleep: Sleep | None = None) -> None:
    """Call `start` until it comes back, at most `ATTEMPTS` times.

    Args:
        start: starts Claude Code; called anew for each try.
        session: whose Claude Code, for the log.
        sleep: how the time between two tries passes; asyncio's sleep when None.

    Raises:
        Exception: what the last start raised.
    """
    tries = AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=FIRST_WAIT, exp_base=2),
        retry=retry_if_exception(_is_worth_trying),
        sleep=sleep or asyncio.sleep,
        before_sleep=lambda state: _log(session, state),
        reraise=True,
    )
    await tries(start)


def _is_worth_trying(error: BaseException) -> bool:
    if not isinstance(error, Exception) or isinstance(error, CLINotFoundError):
        return False
    return not any(text in str(error) for text in _HOPELESS)


def _log(session: str, state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome is not None else None
    logger.warning("session {}: Claude Code did not start ({}); start {} failed", session, error, state.attempt_number)
