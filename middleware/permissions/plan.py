"""The options of ExitPlanMode: in which mode the plan is carried out, and with which memory (reference 5.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from middleware import acp

from .effects import FRESH_CONTEXT, KEEP_PLANNING, Effect, Modes, set_mode

KEEP = {
    "auto": ("exit-plan-auto", "Yes, and use auto mode"),
    "bypassPermissions": ("exit-plan-bypass", "Yes, and bypass permissions"),
    "acceptEdits": ("exit-plan-accept-edits", "Yes, auto-accept edits"),
}
"""Option id and label, by the mode that follows."""

CLEAR = {
    "auto": ("exit-plan-clear-auto", "use auto mode"),
    "bypassPermissions": ("exit-plan-clear-bypass", "bypass permissions"),
    "acceptEdits": ("exit-plan-clear-accept-edits", "auto-accept edits"),
}

Option = tuple[str, str, acp.PermissionOptionKind, Effect]
"""Id, label, kind, effect."""


def plan_options(plan: Any, modes: Modes, *, used: int | None, may_restart: bool) -> Iterator[Option]:
    """The options, not yet in the order of their kinds.

    Args:
        plan: the `plan` member of the tool's input.
        modes: the modes that the session has.
        used: how full the context is, in percent.
        may_restart: whether a fresh Claude Code can take over.
    """
    elevated: list[str] = [mode for mode in ("auto", "bypassPermissions") if mode in modes.available]
    if modes.before_plan == "bypassPermissions":
        elevated.reverse()
    preferred = elevated[0] if elevated else "acceptEdits"
    if may_restart and isinstance(plan, str) and plan.strip():
        option, what = CLEAR[preferred]
        full = f" ({used}% used)" if used is not None else ""
        yield (
            option,
            f"Yes, clear context{full} and {what}",
            "allow_always",
            Effect(
                decision="deny",
                lasting=True,
                message=FRESH_CONTEXT,
                interrupt=True,
                updates=({"type": "setMode", "mode": preferred, "destination": "session"},),
                restart_mode=preferred,
            ),
        )
    for mode in elevated or ["acceptEdits"]:
        option, label = KEEP[mode]
        yield option, label, "allow_always", set_mode(mode, permanent=True)
    yield "exit-plan-default", "Yes, manually approve edits", "allow_once", set_mode("default", permanent=False)
    keep = Effect(decision="deny", message=KEEP_PLANNING, interrupt=True)
    yield "reject", "No, keep planning", "reject_once", keep
