"""`logout`: Claude Code forgets who is logged in (reference 10.6)."""

from __future__ import annotations

import asyncio
import subprocess
from typing import TYPE_CHECKING

from acpbridge import cli
from middleware import acp
from middleware.errors import Failure
from middleware.messages import Request

from .failures import RequestRefused

if TYPE_CHECKING:
    from acpbridge.agent_end import AgentEnd

WITHIN = 30.0
"""Seconds that it may take."""


async def logout(end: AgentEnd, request: Request) -> acp.LogoutResponse:
    """Log out, and forget a gateway and a provider; sessions that are open go their way no longer, and are asked to log
    in when they next need to."""
    routed = [opened for opened in end.open.values() if opened.route is not None]
    end.gateway = end.route = None
    for opened in routed:
        opened.gateway = None
        end.loop.spawn(opened.claude_anew(), f"logout of {opened.name}")
    try:
        done = await asyncio.get_running_loop().run_in_executor(None, log_out)
    finally:
        end.identity.logged_out()
    if done is not None:
        raise RequestRefused(done)
    return acp.LogoutResponse()


def log_out() -> Failure | None:
    """Run Claude Code's own logout; what went wrong. Blocking."""
    program = cli.executable()
    if program is None:
        return Failure.internal(f"claude auth logout failed: {cli.MISSING}")
    try:
        ended = subprocess.run(
            [program, "auth", "logout"], stdin=subprocess.DEVNULL, capture_output=True, timeout=WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Failure.internal(f"claude auth logout failed: {error}")
    if ended.returncode == 0:
        return None
    stderr = ended.stderr.decode(errors="replace").strip()
    return Failure.internal(f"claude auth logout failed: exit code {ended.returncode}", {"stderr": stderr[-2000:]})
