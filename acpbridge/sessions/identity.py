"""Who Claude Code is signed in as: asked, remembered, and told to the client when it is another one (reference 10.6).

It is asked for soon after `initialize` where no session has said it by then, behind a logout, when settings change,
when a sign-in was not accepted, and at a prompt while nobody is signed in: the person may have logged in in a terminal.
(The reference asks at every prompt, which starts a program of 400 MB each time.) The handshake of each session says it
too. A gateway of the client's stands until the client logs out; a provider is nobody's identity. Runs on the SDK loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
from loguru import logger

from acpbridge import cli
from middleware.messages import AuthStatus

from . import auth_status

LOOK_AFTER = 2.0
"""Seconds from `initialize` until Claude Code is asked: the one of the first session, which says it unasked, must not
have another one beside it while it starts."""

WITHIN = 5.0
"""Seconds that Claude Code has to say it."""

Probe = Callable[[], Awaitable[Mapping[str, Any] | None]]


@attrs.define(eq=False)
class Identity:
    """The identity of one connection.

    Args:
        feed: puts messages into the pipeline.
        spawn: starts a task on the loop.
        probe: asks Claude Code; None from it, or in its place, says nothing.
    """

    feed: Callable[..., None]
    spawn: Callable[..., Any]
    probe: Probe | None = None
    _soon: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    _told: AuthStatus | None = attrs.field(default=None, init=False)
    _gateway: bool = attrs.field(default=False, init=False)
    _asking: bool = attrs.field(default=False, init=False)
    _epoch: int = attrs.field(default=0, init=False)  # what was asked before a change is not wanted behind it

    def begin(self) -> None:
        """A client has come: look soon, unless a session says it first."""
        if self.probe is not None:
            self._soon = asyncio.get_running_loop().call_later(LOOK_AFTER, self._look_first)

    def _look_first(self) -> None:
        if self._told is None:
            self.look()

    def close(self) -> None:
        """Nobody is asked any more."""
        self.probe = None
        if self._soon is not None:
            self._soon.cancel()

    def look(self) -> None:
        """Ask, unless it is being asked; nothing waits for the answer."""
        if self.probe is not None and not self._asking and not self._gateway:
            self._asking = True
            self.spawn(self._look(self.probe, None), "auth status")

    def prompted(self) -> None:
        """A prompt came: is there still nobody?"""
        if self._told is not None and self._told.kind == "none":
            self.look()

    def learn(self, account: Any) -> None:
        """What the handshake of a session says that goes its own way."""
        status = auth_status.of_account(account) if isinstance(account, dict) else None
        if status is not None:
            self._tell(status)

    def take_gateway(self, address: str) -> None:
        """The client named a gateway."""
        self._epoch += 1
        self._gateway = False
        self._tell(auth_status.of_gateway(address))
        self._gateway = True

    def logged_out(self) -> None:
        """Whoever it was is gone; who is it now?"""
        self._epoch += 1
        self._gateway = False
        if self.probe is not None:
            self._asking = True
            self.spawn(self._look(self.probe, auth_status.NOBODY), "auth status")

    async def _look(self, probe: Probe, otherwise: AuthStatus | None) -> None:
        epoch, status = self._epoch, otherwise
        try:
            report = await probe()
            status = auth_status.of_report(report) if report is not None else otherwise
        except Exception as error:
            logger.info("who is signed in is not known: {}", error)
        finally:
            if epoch == self._epoch:
                self._asking = False
        if status is not None and epoch == self._epoch:
            self._tell(status)

    def _tell(self, status: AuthStatus) -> None:
        if self._gateway:
            return
        status = auth_status.merged(self._told, status)
        if status != self._told:
            self._told = status
            self.feed(status)


async def ask_claude() -> Mapping[str, Any] | None:
    """What `claude auth status` says, whatever it exits with; None when it says nothing within `WITHIN` seconds.

    It ends by itself, so that nobody needs to watch it for the case that this program is killed.

    Raises:
        OSError: it cannot be started.
    """
    program = cli.executable()
    if program is None:
        return None
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        program, "auth", "status", "--json", stdin=nothing, stdout=pipe, stderr=nothing
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), WITHIN)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # to the end of its pipe, which would be left open otherwise
    try:
        report = json.loads(said)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None
