"""What choosing an option does: the effect that was settled when the option was offered, and the answer it becomes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from middleware.messages import PermissionAnswer, PermissionAsk
from middleware.tools.text import legal, without_controls

from .suggestions import DESTINATIONS, Update

REFUSED = "User refused permission to run tool"
ABORTED = "Tool use aborted"
KEEP_PLANNING = "User chose to keep planning"
FRESH_CONTEXT = "User accepted the plan and requested a fresh context"

FEEDBACK = 10_000
"""Characters of a reason that a client may give for a refusal."""


@attrs.frozen(kw_only=True)
class Modes:
    """What is known of a session's permission modes: those on offer, and the one before plan mode."""

    available: tuple[str, ...] = ("default", "acceptEdits", "plan")
    current: str | None = None
    before_plan: str | None = None

    def changed(self, available: tuple[str, ...], current: str | None) -> Modes:
        """The same after a change; the mode in which planning began is kept."""
        before = self.before_plan
        if current == "plan" and self.current != "plan":
            before = self.current
        return Modes(available=available, current=current, before_plan=before)

    def allowed(self, mode: str) -> str:
        """The mode, or the next lower one where a model that has no Auto was chosen meanwhile (reference 5.8)."""
        return "acceptEdits" if mode == "auto" and "auto" not in self.available else mode


@attrs.frozen(kw_only=True)
class Effect:
    """What an option does. `updates` is what Claude Code will be told to keep, exactly.

    `restart_mode` is the mode in which a fresh Claude Code carries out the plan. `interrupt` ends the turn.
    """

    decision: Literal["allow", "deny"]
    updates: tuple[Update, ...] = ()
    lasting: bool = False
    message: str = REFUSED
    interrupt: bool = False
    restart_mode: str | None = None

    @property
    def meta(self) -> dict[str, Any] | None:
        """A lasting effect as data, for `_meta` of its option: `scope`, `rules`, and the updates themselves.

        `scope` is where it is kept; where the updates differ in that, the longest-lasting.
        """
        if not self.lasting:
            return None
        updates = copy.deepcopy(list(self.updates))
        kept = [update["destination"] for update in updates] or ["session"]
        told: dict[str, Any] = {
            "scope": max(kept, key=DESTINATIONS.index),
            "rules": [rule for update in copy.deepcopy(updates) for rule in update.get("rules", ())],
            "updates": updates,
        }
        if self.restart_mode is not None:
            told["clearContext"] = True
        return {"permission": told}


ALLOW = Effect(decision="allow")
REFUSE = Effect(decision="deny")


def lasting(*updates: Update) -> Effect:
    return Effect(decision="allow", updates=updates, lasting=True)


def allow_rule(tool: str, content: str | None = None) -> Effect:
    """A rule of our own making, kept in the project's local settings."""
    rule = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return lasting({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"})


def set_mode(mode: str, *, permanent: bool) -> Effect:
    update = {"type": "setMode", "mode": mode, "destination": "session"}
    return Effect(decision="allow", updates=(update,), lasting=permanent)


def feedback_of(meta: Mapping[str, Any] | None) -> str:
    """`_meta.permission.feedback` of a client's answer: why the user refused. "" where there is none, or too much."""
    permission = (meta or {}).get("permission")
    feedback = permission.get("feedback") if isinstance(permission, Mapping) else None
    if not isinstance(feedback, str):
        return ""
    feedback = without_controls(legal(feedback)).strip()
    return feedback if len(feedback) <= FEEDBACK else ""


def answer(ask: PermissionAsk, effect: Effect, *, feedback: str, modes: Modes) -> PermissionAnswer:
    """The answer that an effect becomes (reference 5.8)."""
    if effect.decision == "deny":
        # With a reason the model is to go on by it; without one, what stops the turn stops it.
        return PermissionAnswer(
            session=ask.session,
            ask=ask.ask,
            tool_use=ask.tool_use,
            decision="deny",
            message=f"{effect.message}: {feedback}" if feedback else effect.message,
            interrupt=effect.interrupt and not feedback,
            classification="user_reject",
        )
    updates = tuple(_in_modes(update, modes) for update in effect.updates)
    return PermissionAnswer(
        session=ask.session,
        ask=ask.ask,
        tool_use=ask.tool_use,
        decision="allow",
        updated_input=ask.input,
        updated_permissions=updates or None,
        classification="user_permanent" if effect.lasting else "user_temporary",
    )


def _in_modes(update: Update, modes: Modes) -> Update:
    return {**update, "mode": modes.allowed(update["mode"])} if update["type"] == "setMode" else update


def abort(ask: PermissionAsk, message: str = ABORTED) -> PermissionAnswer:
    """No decision: this use of the tool fails, and the turn goes on."""
    return PermissionAnswer(session=ask.session, ask=ask.ask, tool_use=ask.tool_use, decision="abort", message=message)
