"""Commands as terminals, for clients that declare it: `_meta.terminal_info`, `terminal_output`, `terminal_exit`
(reference 4.5). The terminal of a call has the call's id; a client shows it where the call's content names it.
"""

from __future__ import annotations

from typing import Any

from middleware import acp
from middleware.profile import ClientProfile

from .text import shown
from .views import Contents, UseView


def shown_content(view: UseView, tool_use: str, profile: ClientProfile) -> Contents:
    """A call's content for this client: a command is its terminal where there are terminals."""
    if view.command and profile.terminal_output:
        return (acp.Terminal(terminal_id=tool_use),)
    return view.content


def info(tool_use: str) -> dict[str, Any]:
    return {"terminal_info": {"terminal_id": tool_use}}


def output(tool_use: str, text: str, profile: ClientProfile) -> dict[str, Any]:
    key = "terminal_output_delta" if profile.terminal_output_delta else "terminal_output"
    return {key: {"terminal_id": tool_use, "data": shown(text)}}


def exit(tool_use: str, code: int | None) -> dict[str, Any]:
    """The command is over; `code` is None where nobody knows its exit code."""
    return {"terminal_exit": {"terminal_id": tool_use, "exit_code": code, "signal": None}}
