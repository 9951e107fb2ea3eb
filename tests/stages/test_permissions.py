"""`Permissions`: one answer for each ask, by what was offered in that request, whatever the client does."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from middleware import Message, StepRunner
from middleware.errors import Failure
from middleware.messages import (
    AgentReply,
    AskWithdrawn,
    Closing,
    PermissionAnswer,
    PermissionReply,
    PermissionRequest,
    RestartSession,
    SessionClosed,
    SessionModes,
    SessionRestarted,
    ToolResult,
)
from middleware.stages import CancelDrop, Permissions, ToolCalls
from middleware.testing import assert_one_answer, check_stage
from tests.permissions.bundles import ACCEPT_EDITS, bash
from tests.permissions.cases import ask
from tests.tools.play import CWD, HOME, SESSION, Json, runner, wire

COMMAND: Json = {"command": "npm test"}
WRITE: Json = {"file_path": f"{CWD}/a", "content": "x"}
PLAN: Json = {"plan": " 1. do it\n"}
MODES = ("default", "acceptEdits", "plan", "auto", "bypassPermissions")


def reply(option: str | None = None, **members: Any) -> PermissionReply:
    return PermissionReply(session=SESSION, ask="a", option=option, **members)


def feedback(text: Any) -> Json:
    return {"permission": {"feedback": text}}


def made(*messages: Message, restart: bool = False, modes: tuple[str, ...] = ()) -> StepRunner:
    runs = runner(Permissions(restart=restart, home=HOME))
    if modes:
        runs.feed(SessionModes(session=SESSION, available=modes, current="plan"))
    return runs.feed(*messages).run()


def answer_of(runs: StepRunner) -> PermissionAnswer:
    """The one answer that went to Claude Code."""
    answers = [message for message in runs.agent if isinstance(message, PermissionAnswer)]
    assert_one_answer(runs)
    (answer,) = answers
    return answer


# ------------------------------------------------------------------------------------------------- what a choice does


def test_allow_once() -> None:
    """This use is allowed with its own input, and nothing is kept."""
    answer = answer_of(made(ask("Bash", COMMAND, bash("npm test:*")), reply("allow-once")))
    assert answer == PermissionAnswer(
        session=SESSION,
        ask="a",
        tool_use="t",
        decision="allow",
        updated_input=COMMAND,
        updated_permissions=None,
        classification="user_temporary",
    )


@pytest.mark.parametrize(
    ("message", "option", "updates"),
    [
        (ask("Bash", COMMAND, bash("npm test:*")), "allow-with-updates", [bash("npm test:*")]),
        (ask("Write", WRITE, ACCEPT_EDITS), "allow-with-updates", [ACCEPT_EDITS]),
        (ask("WebFetch", {"url": "https://x.y/"}), "allow-with-updates", [("WebFetch", "domain:x.y")]),
        (ask("WebSearch", {}), "allow-with-updates", [("WebSearch", None)]),
        (ask("Skill", {"skill": "a b"}), "allow-skill-exact", [("Skill", "a b")]),
        (ask("Skill", {"skill": "a b"}), "allow-skill-prefix", [("Skill", "a:*")]),
    ],
)
def test_lasting_choices(message: Message, option: str, updates: list[Any]) -> None:
    """A lasting choice is allowed for good, with exactly the updates that it stands for (05.8)."""
    answer = answer_of(made(message, reply(option)))
    expected = [_local(*update) if isinstance(update, tuple) else update for update in updates]
    assert list(answer.updated_permissions or ()) == expected
    assert (answer.decision, answer.classification) == ("allow", "user_permanent")


def _local(tool: str, content: str | None) -> Json:
    rule = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}


def test_reject() -> None:
    """A refusal denies this one use: the model is told, and its turn and the calls beside it go on."""
    answer = answer_of(made(ask("Bash", COMMAND), reply("reject")))
    assert (answer.decision, answer.message) == ("deny", "User refused permission to run tool")
    assert (answer.classification, answer.interrupt, answer.updated_permissions) == ("user_reject", False, None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("use pnpm", ": use pnpm"),
        ("  two\nlines \x07\ud800", ": two\nlines \ufffd"),
        ("x" * 10_000, ": " + "x" * 10_000),
        ("x" * 10_001, ""),
        (" \n", ""),
        (7, ""),
    ],
    ids=["text", "made safe", "at the limit", "too long", "blank", "no text"],
)
def test_reject_with_a_reason(given: Any, expected: str) -> None:
    """Why the user refused reaches the model with the denial."""
    answer = answer_of(made(ask("Bash", COMMAND), reply("reject", meta=feedback(given))))
    assert answer.message == "User refused permission to run tool" + expected


def test_reason_of_no_refusal() -> None:
    """A reason beside a choice to allow changes nothing."""
    answer = answer_of(made(ask("Bash", COMMAND), reply("allow-once", meta=feedback("go on"))))
    assert (answer.decision, answer.message) == ("allow", "")


@pytest.mark.parametrize("meta", [None, {}, {"permission": None}, {"permission": "x"}, {"permission": {}}])
def test_malformed_reasons(meta: Any) -> None:
    """What is no reason is none."""
    assert answer_of(made(ask("Bash", COMMAND), reply("reject", meta=meta))).message.endswith("run tool")


# ------------------------------------------------------------------------------------------------- what is no decision


@pytest.mark.parametrize(
    ("answered", "message"),
    [
        (reply(None), "Tool use aborted"),
        (reply(failure=Failure.internal("boom")), "Tool use aborted"),
        (reply(failure=Failure.invalid_params("no such shape")), "Tool use aborted"),
        (reply("allow-with-updates"), "Permission option was not offered: allow-with-updates"),
        (reply("allow_once"), "Permission option was not offered: allow_once"),
        (reply("x" * 500), f"Permission option was not offered: {'x' * 80}"),
    ],
    ids=["cancelled", "error", "malformed", "lasting, not offered", "a kind", "very long"],
)
def test_no_decision(answered: PermissionReply, message: str) -> None:
    """A cancelled, failed or malformed answer, or one that was not offered, fails that use and no more."""
    answer = answer_of(made(ask("Bash", COMMAND), answered))
    assert (answer.decision, answer.message) == ("abort", message)
    assert (answer.interrupt, answer.updated_permissions) == (False, None)


def test_options_belong_to_their_request() -> None:
    """What was offered in one request is no answer to another that is open at the same time."""
    runs = runner(Permissions(home=HOME))
    other = PermissionReply(session=SESSION, ask="b", option="allow-skill-exact")
    second = ask("Bash", COMMAND)
    runs.feed(ask("Skill", {"skill": "x"}), _renamed(second, "b"), other, reply("allow-skill-exact")).run()
    assert {message.ask: message.decision for message in runs.agent if isinstance(message, PermissionAnswer)} == {
        "b": "abort",
        "a": "allow",
    }


def _renamed(message: Any, name: str) -> Message:
    changed: Message = attrs.evolve(message, ask=name, tool_use=name)
    return changed


@pytest.mark.parametrize(
    "late",
    [reply("allow-once"), reply(None), reply(failure=Failure.internal())],
    ids=["allowed", "cancelled", "failed"],
)
@pytest.mark.parametrize(
    "first",
    [
        reply("reject"),
        AskWithdrawn(session=SESSION, ask="a"),
        PermissionAnswer(session=SESSION, ask="a", decision="deny"),
        Closing(),
        SessionClosed(session=SESSION),
        SessionRestarted(session=SESSION),
    ],
    ids=lambda message: type(message).__name__,
)
def test_second_answer_is_nobodys(first: Message, late: PermissionReply) -> None:
    """An ask has one answer: what comes behind it, or behind its withdrawal, is dropped."""
    runs = made(ask("Bash", COMMAND), first)
    before = len(runs.agent)
    runs.feed(late).run()
    assert len(runs.agent) == before
    assert_one_answer(runs, complete=False)


def test_withdrawal_reaches_the_client() -> None:
    """An ask that Claude Code withdraws is withdrawn at the client at once, and needs no answer."""
    runs = made(ask("Bash", COMMAND), AskWithdrawn(session=SESSION, ask="a"))
    assert runs.client[-1] == AskWithdrawn(session=SESSION, ask="a")
    assert runs.agent == []


def test_closing_answers_what_is_open() -> None:
    """When the client is gone, what it was asked does not happen."""
    runs = made(ask("Bash", COMMAND), Closing())
    assert answer_of(runs).decision == "abort"
    assert isinstance(runs.agent[-1], Closing)


# ------------------------------------------------------------------------------------------------- sandbox


@pytest.mark.parametrize(
    ("end", "is_error"),
    [
        (reply("allow-once"), False),
        (reply("reject"), True),
        (reply(None), True),
        (AskWithdrawn(session=SESSION, ask="a"), True),
        (PermissionAnswer(session=SESSION, ask="a", decision="deny"), True),
    ],
    ids=["allowed", "refused", "cancelled", "withdrawn", "answered elsewhere"],
)
@pytest.mark.parametrize("tool_use", ["t", None])
def test_sandbox_calls_end_with_the_answer(end: Message, is_error: bool, tool_use: str | None) -> None:
    """No result ever comes of a host that a command asks for: its call ends with the decision (05.9)."""
    runs = runner(ToolCalls(), Permissions(home=HOME))
    runs.feed(ask("SandboxNetworkAccess", {"host": "x.y"}, tool_use=tool_use), end).run()
    calls = [line for line in wire(runs.client) if "sessionUpdate" in line]
    assert [line["status"] for line in calls] == ["pending", "failed" if is_error else "completed"]
    assert {line["toolCallId"] for line in calls} == {tool_use or "a"}


def test_other_calls_wait_for_their_result() -> None:
    """Any other call is ended by its result, not by its permission."""
    runs = made(ask("Bash", COMMAND), reply("reject"))
    assert not any(isinstance(message, ToolResult) for message in runs.client)


# ------------------------------------------------------------------------------------------------- plans (05.7)


@pytest.mark.parametrize(
    ("option", "mode", "classification"),
    [
        ("exit-plan-auto", "auto", "user_permanent"),
        ("exit-plan-bypass", "bypassPermissions", "user_permanent"),
        ("exit-plan-default", "default", "user_temporary"),
    ],
)
def test_plan_is_approved(option: str, mode: str, classification: str) -> None:
    """An approved plan sets the session's mode."""
    answer = answer_of(made(ask("ExitPlanMode", PLAN), reply(option), modes=MODES))
    assert answer.decision == "allow"
    assert list(answer.updated_permissions or ()) == [{"type": "setMode", "mode": mode, "destination": "session"}]
    assert answer.classification == classification


def test_auto_that_is_gone() -> None:
    """Where Auto is no longer there when the user chooses it, edits are accepted instead (05.8)."""
    gone = SessionModes(session=SESSION, available=("default", "acceptEdits", "plan"), current="plan")
    answer = answer_of(made(ask("ExitPlanMode", PLAN), gone, reply("exit-plan-auto"), modes=MODES))
    assert [update["mode"] for update in answer.updated_permissions or ()] == ["acceptEdits"]


def test_keep_planning() -> None:
    """A plan that is refused ends the turn; with a reason the model goes on planning by it."""
    answer = answer_of(made(ask("ExitPlanMode", PLAN), reply("reject")))
    assert (answer.decision, answer.message, answer.interrupt) == ("deny", "User chose to keep planning", True)
    reasoned = answer_of(made(ask("ExitPlanMode", PLAN), reply("reject", meta=feedback("smaller steps"))))
    assert (reasoned.message, reasoned.interrupt) == ("User chose to keep planning: smaller steps", False)


def test_mode_before_the_plan() -> None:
    """The mode in which planning began decides which elevated mode comes first; later news of plan mode do not."""
    bypass = SessionModes(session=SESSION, available=MODES, current="bypassPermissions")
    plan = SessionModes(session=SESSION, available=MODES, current="plan")
    (request,) = wire(made(bypass, plan, plan, ask("ExitPlanMode", PLAN)).client)
    assert [option["optionId"] for option in request["options"]] == [
        "exit-plan-default",
        "exit-plan-bypass",
        "exit-plan-auto",
        "reject",
    ]


def test_clear_context() -> None:
    """A fresh Claude Code is asked for before the old one is denied, and the client sees an approved plan."""
    runs = runner(ToolCalls(), Permissions(restart=True, home=HOME))
    runs.feed(SessionModes(session=SESSION, available=MODES, current="plan"), ask("ExitPlanMode", PLAN)).run()
    runs.feed(reply("exit-plan-clear-auto", meta=feedback("ignored"))).run()
    restart, answer = runs.agent
    assert isinstance(restart, RestartSession)
    assert (restart.session, restart.plan, restart.mode, restart.tool_use) == (SESSION, "1. do it", "auto", "t")
    assert isinstance(answer, PermissionAnswer)
    assert (answer.decision, answer.interrupt) == ("deny", True)
    assert answer.message == "User accepted the plan and requested a fresh context"
    assert answer.updated_permissions is None
    assert wire(runs.client)[-1] == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
        "title": "Exited Plan Mode",
        "_meta": {"claudeCode": {"toolName": "ExitPlanMode"}},
    }
    reply_ = AgentReply(session=SESSION, call=restart.call, failure=Failure.internal("no"))
    before = len(runs.client)
    runs.feed(reply_).run()
    assert len(runs.client) == before


def test_other_replies_pass() -> None:
    """The answer to somebody else's call is left alone."""
    other = AgentReply(session=SESSION, call="mcp 1")
    assert made(other).client == [other]


def test_restart_takes_back_what_is_open() -> None:
    """What the old Claude Code asked is withdrawn at the client when a fresh one takes over."""
    runs = made(ask("Bash", COMMAND), SessionRestarted(session=SESSION))
    assert runs.client[-2:] == [AskWithdrawn(session=SESSION, ask="a"), SessionRestarted(session=SESSION)]


# ------------------------------------------------------------------------------------------------- the stage itself


def test_is_a_stage() -> None:
    """`Permissions` behaves as any stage must."""
    script: list[Message] = [
        ask("Bash", COMMAND, bash("ls:*")),
        reply("allow-with-updates"),
        _renamed(ask("Write", WRITE), "b"),
    ]
    check_stage(lambda: Permissions(home=HOME), script)


def test_failing_ask_is_answered() -> None:
    """An ask on which the stage itself breaks is denied, so that Claude Code never waits for ever."""
    runs = StepRunner(runner(Permissions(home=HOME)).pipeline, raise_failures=False)
    runs.feed(ask("Bash", {"command": _Breaking()})).run()
    (answer,) = runs.agent
    assert isinstance(answer, PermissionAnswer)
    assert answer.decision == "deny"
    assert not any(isinstance(message, PermissionRequest) for message in runs.client)


class _Breaking:
    def __deepcopy__(self, memo: object) -> object:
        raise ValueError("cannot be copied")


def test_rejected_sibling_leaves_the_others() -> None:
    """Of two calls that are asked for at the same time, one is refused and the other runs."""
    runs = runner(ToolCalls(), CancelDrop(one_order=True), Permissions(home=HOME))
    runs.feed(ask("Bash", COMMAND), _renamed(ask("Bash", COMMAND), "b")).run()
    runs.feed(reply("reject"), PermissionReply(session=SESSION, ask="b", option="allow-once")).run()
    assert [message.decision for message in runs.agent if isinstance(message, PermissionAnswer)] == ["deny", "allow"]
    assert not any(message.interrupt for message in runs.agent if isinstance(message, PermissionAnswer))
