"""How Claude Code's ask for a permission is worded, and what the client's answer means.

Owns the asks that are open, each with the options that it was given and the effect of each: an answer is valid only for
what was offered in that request. Whether an ask may be shown at all is `CancelDrop`'s question.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs
from loguru import logger

from middleware import acp
from middleware.messages import (
    Answer,
    AskWithdrawn,
    Closing,
    Message,
    PermissionAnswer,
    PermissionAsk,
    PermissionReply,
    PermissionRequest,
    SessionClosed,
)
from middleware.stage import Context, Outcome, Stage, on

REFUSED = "User refused permission to run tool"
ABORTED = "Tool use aborted"


@attrs.frozen
class _Effect:
    """What choosing an option does."""

    decision: Literal["allow", "deny"]
    updates: tuple[Mapping[str, Any], ...] | None = None
    lasting: bool = False


@attrs.define
class _Open:
    ask: PermissionAsk
    effects: Mapping[str, _Effect]


@attrs.define(eq=False)
class Permissions(Stage):
    """Asks in, `PermissionRequest` out; the client's choice in, `PermissionAnswer` out (reference 05)."""

    _open: dict[tuple[str, str], _Open] = attrs.field(factory=dict, init=False)

    @on(PermissionAsk)
    def _ask(self, message: PermissionAsk, context: Context) -> Outcome:
        options, effects = _offer(message)
        self._open[message.session, message.ask] = _Open(message, effects)
        call = acp.ToolCallUpdate(
            tool_call_id=message.tool_use or message.ask,
            name=message.name,
            status="pending",
            raw_input=dict(message.input),
            locations=[acp.ToolCallLocation(path=message.blocked_path)] if message.blocked_path else None,
        )
        known = {field.name: getattr(message, field.name) for field in attrs.fields(PermissionAsk)}
        return PermissionRequest(**known, call=call, options=options)

    @on(PermissionReply)
    def _reply(self, message: PermissionReply, context: Context) -> Outcome:
        opened = self._open.pop((message.session, message.ask), None)
        if opened is None:
            logger.debug("session {}: an answer to {}, which is settled", message.session, message.ask)
            return None
        return self._meaning(opened, message)

    def _meaning(self, opened: _Open, reply: PermissionReply) -> PermissionAnswer:
        ask = opened.ask
        if reply.failure is not None:
            logger.warning("session {}: the client failed to ask for {}", ask.session, ask.name)
            return _answer(ask, "abort", message=ABORTED)
        if reply.option is None:
            return _answer(ask, "abort", message=ABORTED)
        effect = opened.effects.get(reply.option)
        if effect is None:
            return _answer(ask, "abort", message=f"Permission option was not offered: {reply.option}")
        if effect.decision == "deny":
            return _answer(ask, "deny", message=REFUSED, classification="user_reject")
        return _answer(
            ask,
            "allow",
            updated_input=ask.input,
            updated_permissions=effect.updates,
            classification="user_permanent" if effect.lasting else "user_temporary",
        )

    @on(Answer)
    def _answered(self, message: Answer, context: Context) -> Outcome:
        """A stage nearer the client has answered in the client's place."""
        self._open.pop((message.session, message.ask), None)
        return message

    @on(AskWithdrawn)
    def _withdrawn(self, message: AskWithdrawn, context: Context) -> Outcome:
        self._open.pop((message.session, message.ask), None)
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._open = {key: opened for key, opened in self._open.items() if key[0] != message.session}
        return message

    @on(Closing)
    def _closing(self, message: Closing, context: Context) -> Iterator[Message]:
        """The client cannot answer any more: what it was asked does not happen."""
        for opened in self._open.values():
            yield _answer(opened.ask, "abort", message=ABORTED)
        self._open.clear()
        yield message


def _answer(ask: PermissionAsk, decision: Literal["allow", "deny", "abort"], **members: Any) -> PermissionAnswer:
    return PermissionAnswer(session=ask.session, ask=ask.ask, decision=decision, tool_use=ask.tool_use, **members)


def _offer(ask: PermissionAsk) -> tuple[tuple[acp.PermissionOption, ...], dict[str, _Effect]]:
    """The options, allow once first and reject last, and what each does.

    A lasting choice is offered where Claude Code suggests one that can be named truly, and its effect is copied now,
    so that what is applied later is what the label said.
    """
    options = [acp.PermissionOption(option_id="allow-once", name="Yes", kind="allow_once")]
    effects = {"allow-once": _Effect("allow"), "reject": _Effect("deny")}
    label = _lasting_label(ask.suggestions)
    if label is not None:
        options.append(acp.PermissionOption(option_id="allow-with-updates", name=label, kind="allow_always"))
        effects["allow-with-updates"] = _Effect("allow", tuple(copy.deepcopy(ask.suggestions)), lasting=True)
    options.append(acp.PermissionOption(option_id="reject", name="No", kind="reject_once"))
    return tuple(options), effects


def _lasting_label(suggestions: Any) -> str | None:
    """One suggestion that can be said in a line: edits for this session, or rules that allow something."""
    if not isinstance(suggestions, list) or len(suggestions) != 1 or not isinstance(suggestions[0], dict):
        return None
    update = suggestions[0]
    if (
        update.get("type") == "setMode"
        and update.get("mode") == "acceptEdits"
        and update.get("destination") == "session"
    ):
        return "Yes, allow all edits during this session"
    if update.get("type") == "addRules" and update.get("behavior") == "allow":
        rules = update.get("rules")
        if isinstance(rules, list) and rules and all(isinstance(rule, dict) for rule in rules):
            named = [str(rule.get("ruleContent") or rule.get("toolName") or "").removesuffix(":*") for rule in rules]
            if all(named):
                return f"Yes, and don't ask again for {' and '.join(named)} commands"
    return None
