"""Starting Claude Code again: how often, with which waits, and when it is given up."""

from __future__ import annotations

import asyncio

import pytest
from claude_agent_sdk import CLIConnectionError, CLINotFoundError

from acpbridge.claude.restart import ATTEMPTS, start_again


def _try(failures: list[Exception]) -> tuple[int, list[float], Exception | None]:
    """Start, failing so; how often it was tried, how long was waited, and what it ended with."""
    waits: list[float] = []
    tries = 0

    async def start() -> None:
        nonlocal tries
        tries += 1
        if failures:
            raise failures.pop(0)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run() -> None:
        await start_again(start, "s", sleep)

    try:
        asyncio.run(run())
    except Exception as error:
        return tries, waits, error
    return tries, waits, None


def test_back_off() -> None:
    """It is tried again after waits that grow, and comes back when one start works."""
    assert _try([CLIConnectionError("a"), CLIConnectionError("b")]) == (3, [0.25, 0.5], None)


def test_bound() -> None:
    """After the last try its error comes out; all waits together are below 2 s."""
    failures: list[Exception] = [CLIConnectionError(str(number)) for number in range(9)]
    tries, waits, error = _try(failures)
    assert (tries, str(error)) == (ATTEMPTS, str(ATTEMPTS - 1))
    assert sum(waits) < 2


@pytest.mark.parametrize("error", [CLINotFoundError("nowhere"), CLIConnectionError("No conversation found with x")])
def test_hopeless(error: Exception) -> None:
    """What will say the same the next time is not tried again."""
    assert _try([error, error]) == (1, [], error)
