"""`ToolCalls`: a call is announced first, in whatever order it is met, and nothing is told twice."""

from __future__ import annotations

import attrs
import pytest

from middleware import Message
from middleware.errors import Failure
from middleware.messages import (
    FileState,
    SessionClosed,
    Task,
    ToolCallLost,
    ToolCallUpdate,
    ToolGate,
    ToolProgress,
    WorkStopped,
)
from middleware.stages import Permissions, ToolCalls, Validation
from middleware.testing import check_stage, interleavings
from tests.stages.tool_call_words import BASH, EDIT, ENDS, FILE, RESPONSE, SCRIPT, ask, piece, response, start
from tests.tools.play import AIR, HOME, SESSION, merged, played, result, runner, shown_diffs, texts, use, wire

# ------------------------------------------------------------------------------------------------- the traces (4.12)


def test_streamed_command() -> None:
    """Bash as it streams: announced empty, refined by its command, by its whole input, ended by its result."""
    calls = played(
        ToolCalls(),
        start("Bash"),
        piece('{"command": "ls'),
        piece(' -la", "desc'),
        piece('ription": "List"}'),
        use("Bash", BASH),
        ToolProgress(session=SESSION, tool_use="t", elapsed=3.0),
        result("out"),
    )
    assert [dict(call, sessionUpdate="", _meta="") for call in calls] == [
        {
            "sessionUpdate": "",
            "_meta": "",
            "toolCallId": "t",
            "name": "Bash",
            "status": "pending",
            "title": "Terminal",
            "kind": "execute",
            "rawInput": {},
        },
        {"sessionUpdate": "", "_meta": "", "toolCallId": "t", "title": "ls -la", "rawInput": {"command": "ls -la"}},
        {
            "sessionUpdate": "",
            "_meta": "",
            "toolCallId": "t",
            "rawInput": BASH,
            "content": [{"type": "content", "content": {"type": "text", "text": "List"}}],
        },
        {"sessionUpdate": "", "_meta": "", "toolCallId": "t", "status": "in_progress"},
        {
            "sessionUpdate": "",
            "_meta": "",
            "toolCallId": "t",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "```console\nout\n```"}}],
            "rawOutput": {"output": "out", "metadata": {"exit": 0}},
        },
    ]
    assert calls[3]["_meta"] == {"claudeCode": {"toolName": "Bash", "toolResponse": {"elapsedTimeSeconds": 3.0}}}


@pytest.mark.parametrize("hook_first", [True, False], ids=["hook, result", "result, hook"])
def test_edit_with_its_hook(hook_first: bool) -> None:
    """The hook's patch takes the place of the input's diff, before the result or after it; the hook says no status."""
    told = [response("Edit", RESPONSE), result("updated")]
    announced, *updates = played(ToolCalls(), use("Edit", EDIT), *(told if hook_first else reversed(told)))
    assert shown_diffs(announced) == [("two", "TWO")]
    hook = updates[0 if hook_first else 1]
    assert "status" not in hook
    assert hook["_meta"]["claudeCode"]["toolResponse"] == RESPONSE
    held = merged([announced, *updates])
    assert shown_diffs(held) == [("one\ntwo", "one\nTWO")]
    assert held["locations"] == [{"path": FILE, "line": 4}]
    assert held["status"] == "completed"
    assert sum("content" in update for update in updates) == 1


def test_hook_has_the_last_word_on_the_object() -> None:
    """The object that the hook told is not told again by the result, which may have less of it."""
    calls = played(
        ToolCalls(),
        use("Bash", BASH),
        response("Bash", {"stdout": "out", "n": 1}),
        result("out", structured={"stdout": "out"}),
    )
    assert "toolResponse" not in calls[-1]["_meta"]["claudeCode"]


def test_result_with_the_object_needs_no_hook() -> None:
    """The tool's object on the result gives the diff; the hook that repeats it says nothing new."""
    calls = played(ToolCalls(), use("Edit", EDIT), result("updated", structured=RESPONSE), response("Edit", RESPONSE))
    assert len(calls) == 2
    assert shown_diffs(calls[1]) == [("one\ntwo", "one\nTWO")]
    assert calls[1]["_meta"]["claudeCode"]["toolResponse"] == RESPONSE


# ------------------------------------------------------------------------------------------------- first surfaces


SURFACES: dict[str, list[Message]] = {
    "stream": [start("Bash"), piece('{"command": "ls -la", "description": "List"}')],
    "message": [use("Bash", BASH)],
    "ask": [ask("Bash", BASH)],
    "hook": [ToolGate(session=SESSION, ask="g", tool_use="t", name="Bash", input=BASH)],
}


@pytest.mark.parametrize("order", list(interleavings(*[[name] for name in SURFACES])), ids=" ".join)
def test_every_order_of_surfaces(order: tuple[str, ...]) -> None:
    """Whichever of the four ways comes first announces the call, once; the client ends up with the same of it."""
    script = [message for name in order for message in SURFACES[name]]
    announced, *updates = played(ToolCalls(), *script, result("out"))
    assert announced["sessionUpdate"] == "tool_call"
    assert {update["sessionUpdate"] for update in updates} == {"tool_call_update"}
    held = merged([announced, *updates])
    assert (held["title"], held["kind"], held["rawInput"], held["status"]) == ("ls -la", "execute", BASH, "completed")
    assert [update["status"] for update in updates if "status" in update] == ["completed"]


@pytest.mark.parametrize("order", list(interleavings(*[[name] for name in SURFACES])), ids=" ".join)
def test_every_order_with_permissions(order: tuple[str, ...]) -> None:
    """With `Permissions` behind it the call is announced before its request, which shows what the call does."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    made.feed(*[message for name in order for message in SURFACES[name]]).run()
    lines = wire(made.client)
    request = next(line for line in lines if "toolCall" in line)
    before = lines[: lines.index(request)]
    assert [line["sessionUpdate"] for line in before][:1] == ["tool_call"]
    held, shown = merged(before), request["toolCall"]
    for key in ("toolCallId", "name", "title", "kind", "status", "rawInput", "content"):
        assert shown[key] == held[key]


def test_request_shows_the_real_file() -> None:
    """A Write over an existing file is asked for with the text that is there, and keeps it when it is refused."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    input = {"file_path": FILE, "content": "new\n"}
    file = FileState(path=FILE, state="text", text="old\n")
    made.feed(use("Write", input), ask("Write", input, file=file), use("Write", input)).run()
    made.feed(result("refused", is_error=True)).run()
    announced, request, refused = wire(made.client)
    assert shown_diffs(announced) == [(None, "new\n")]  # nobody has looked at the file yet
    assert shown_diffs(request["toolCall"]) == [("old\n", "new\n")]
    assert shown_diffs(refused) == [("old\n", "new\n")]
    assert texts(refused) == ["```\nrefused\n```"]


def test_ask_announces_with_the_real_file() -> None:
    """Where the ask comes first, the announcement shows what the request does."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    file = FileState(path=FILE, state="text", text="old\n")
    made.feed(ask("Write", {"file_path": FILE, "content": "new\n"}, file=file)).run()
    announced, request = wire(made.client)
    assert shown_diffs(announced) == shown_diffs(request["toolCall"]) == [("old\n", "new\n")]


def test_request_shows_what_the_call_shows() -> None:
    """Where the ask itself has nothing to show, its request shows what the client holds of the call."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    made.feed(use("ExitPlanMode", {"plan": "1. do"}), ask("ExitPlanMode", {})).run()
    announced, request = wire(made.client)
    assert texts(request["toolCall"]) == texts(announced) == ["1. do"]


def test_lost_announcement_is_made_again() -> None:
    """When the announcement does not reach the client, the next surface announces the call again."""
    calls = played(
        ToolCalls(),
        start("Bash"),
        ToolCallLost(session=SESSION, tool_use="t"),
        piece('{"command": "ls", "x": 1}'),
        use("Bash", BASH),
        result("out"),
    )
    assert [call["sessionUpdate"] for call in calls] == ["tool_call", "tool_call", "tool_call_update"]
    assert calls[1]["title"] == "ls -la"


def test_announcement_says_that_it_was_lost() -> None:
    """A stage nearer the client that breaks on an announcement has it taken back, as a runner does with any message."""
    (call,) = runner(ToolCalls()).feed(use("Bash", BASH)).run().client
    assert list(call.failed(Failure.internal())) == [ToolCallLost(session=SESSION, tool_use="t")]


def test_subagents_calls_say_whose_they_are() -> None:
    """A call of a subagent carries the Agent call that it belongs to: from the stream, or from the agent that asks."""
    task = Task(session=SESSION, task="agent 1", state="running", tool_use="parent", subagent=True)
    (streamed,) = played(ToolCalls(), use("Bash", BASH, parent="parent"))
    (asked,) = played(ToolCalls(), task, ask("Bash", BASH, agent="agent 1"))
    expected = {"toolName": "Bash", "parentToolUseId": "parent"}
    assert streamed["_meta"]["claudeCode"] == asked["_meta"]["claudeCode"] == expected


# ------------------------------------------------------------------------------------------------- nothing twice


def test_unchanged_fields_are_not_sent_again() -> None:
    """The complete message after the stream repeats nothing; a surface that says nothing new sends nothing."""
    calls = played(ToolCalls(), use("Bash", BASH), use("Bash", BASH), start("Bash"), ask("Bash", BASH))
    assert len(calls) == 1


def test_progress_is_news_when_time_passes() -> None:
    """A tool's progress is told when it changes, for a subagent's inner progress on its Agent call."""
    calls = played(
        ToolCalls(),
        use("Agent", {"description": "x"}),
        ToolProgress(session=SESSION, tool_use="t", elapsed=1.0),
        ToolProgress(session=SESSION, tool_use="t", elapsed=1.0),
        ToolProgress(session=SESSION, tool_use="inner", parent="t", elapsed=2.0, subagent_type="general-purpose"),
        ToolProgress(session=SESSION, tool_use="nobody's", elapsed=2.0),
    )
    assert [call["_meta"]["claudeCode"]["toolResponse"] for call in calls[1:]] == [
        {"elapsedTimeSeconds": 1.0},
        {"elapsedTimeSeconds": 2.0, "subagentType": "general-purpose"},
    ]


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
def test_a_call_ends_once(first: str, second: str) -> None:
    """Whatever comes behind a call's end, be it a second end, its hook, its progress or its start, tells nothing."""
    late: list[Message] = [ToolProgress(session=SESSION, tool_use="t", elapsed=9.0), use("Bash", BASH), start("Bash")]
    calls = played(ToolCalls(), use("Bash", BASH), ENDS[first], ENDS[second], *late, ENDS[second])
    assert [call.get("status") for call in calls] == ["pending", "completed" if first == "result" else "failed"]


@pytest.mark.parametrize("first", [name for name in ENDS if name != "result"])
def test_late_hook_reopens_nothing(first: str) -> None:
    """A hook behind a call that ended without a result tells nothing: it must not overwrite how it ended."""
    assert len(played(ToolCalls(), use("Edit", EDIT), ENDS[first], response("Edit", RESPONSE))) == 2


def test_unknown_calls_are_not_shown() -> None:
    """Results, hooks, progress and denials of calls that the client does not hold tell nothing."""
    assert played(ToolCalls(), result("out"), response("Bash"), *ENDS.values()) == []


# ------------------------------------------------------------------------------------------------- the stage itself


def test_is_a_stage() -> None:
    """`ToolCalls` behaves as any stage must."""
    check_stage(ToolCalls, SCRIPT)


def test_is_legal_acp() -> None:
    """A strict `Validation` in front of it has nothing to complain of."""
    stop: list[Message] = [WorkStopped(session=SESSION), SessionClosed(session=SESSION)]
    made = runner(Validation(strict=True), ToolCalls(), profile=AIR)
    made.feed(*SCRIPT[:-1], *stop).run()
    assert [line["status"] for line in wire(made.client) if "status" in line] == [
        "pending",
        "completed",
        "pending",
        "failed",
    ]


def test_sessions_are_apart() -> None:
    """The same id in two sessions is two calls, and the end of one session ends its own calls only."""
    other = attrs.evolve(use("Bash", BASH), session="other")
    made = runner(ToolCalls()).feed(use("Bash", BASH), other, SessionClosed(session="other")).run()
    assert [line["status"] for line in wire(made.client)] == ["pending", "pending", "failed"]
    assert [message.session for message in made.client if isinstance(message, ToolCallUpdate)] == ["other"]
