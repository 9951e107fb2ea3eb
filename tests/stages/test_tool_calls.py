"""`ToolCalls`: a call is announced first, refined, and ends once, in whatever order it is met."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from middleware import Message
from middleware.errors import Failure
from middleware.messages import (
    FileState,
    MessageStarted,
    PermissionAsk,
    SessionClosed,
    SessionRestarted,
    Task,
    ToolCallLost,
    ToolCallUpdate,
    ToolDenied,
    ToolGate,
    ToolInput,
    ToolProgress,
    ToolResponse,
    TurnEnded,
    WorkStopped,
)
from middleware.stages import Permissions, ToolCalls, Validation
from middleware.stages.tool_calls import NEVER_RAN, NO_RESULT, REFINED, STOPPED
from middleware.testing import check_stage, interleavings
from middleware.tools.text import REPEATED
from tests.tools.play import (
    AIR,
    CWD,
    HOME,
    SESSION,
    TERMINAL_DELTAS,
    TERMINALS,
    Json,
    merged,
    played,
    result,
    runner,
    shown_diffs,
    texts,
    use,
    wire,
)

FILE = f"{CWD}/a.py"
EDIT = {"file_path": FILE, "old_string": "two", "new_string": "TWO"}
RESPONSE = {
    "filePath": FILE,
    "structuredPatch": [{"newStart": 4, "lines": [" one", "-two", "+TWO"]}],
    "originalFile": "one\ntwo",
}
BASH = {"command": "ls -la", "description": "List"}


def start(tool: str, tool_use: str = "t", block: int = 0, **members: Any) -> Message:
    return use(tool, {}, tool_use, block=block, whole=False, **members)


def piece(json: str, block: int = 0, parent: str | None = None) -> Message:
    return ToolInput(session=SESSION, block=block, json=json, parent=parent)


def ask(tool: str, input: Json, tool_use: str | None = "t", **members: Any) -> PermissionAsk:
    return PermissionAsk(session=SESSION, ask="a", tool_use=tool_use, name=tool, input=input, **members)


def response(tool: str, response: Any = None, **members: Any) -> ToolResponse:
    return ToolResponse(session=SESSION, tool_use="t", name=tool, response=response, **members)


def ended(stop_reason: Any = "end_turn", **members: Any) -> TurnEnded:
    return TurnEnded(session=SESSION, request=1, prompt="p", stop_reason=stop_reason, **members)


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


# ------------------------------------------------------------------------------------------------- streaming


def test_lanes_are_apart() -> None:
    """Blocks are counted by message and by lane: a subagent's first block is not the main thread's."""
    calls = played(
        ToolCalls(),
        start("Bash", "main"),
        start("Bash", "inner", parent="p"),
        piece('{"command": "inner", ', parent="p"),
        piece('{"command": "main", '),
    )
    assert [(call["toolCallId"], call["title"]) for call in calls[2:]] == [("inner", "inner"), ("main", "main")]


def test_next_message_begins_anew() -> None:
    """When the next message starts, pieces for its first block are not the last message's."""
    calls = played(
        ToolCalls(), start("Bash"), MessageStarted(session=SESSION, message="m2"), piece('{"command": "x", ')
    )
    assert len(calls) == 1


def test_content_waits_for_the_whole_input() -> None:
    """A partial input gives title, place and raw input, never content (reference 4.2); its end gives nothing."""
    calls = played(
        ToolCalls(), start("Edit"), piece(json.dumps({**EDIT, "replace_all": False})[:-1] + ", "), piece('"x": 1}')
    )
    assert [sorted(call.keys() - {"sessionUpdate", "_meta", "toolCallId"}) for call in calls[1:]] == [
        ["locations", "rawInput", "title"]
    ]


def test_refinements_are_bounded() -> None:
    """An input of very many members does not become as many updates; the whole input comes with the message."""
    input = {f"key {number}": number for number in range(200)}
    pieces = [piece(text) for text in json.dumps(input).replace(", ", ", \0").split("\0")]
    calls = played(ToolCalls(), start("FutureTool"), *pieces, use("FutureTool", input))
    assert len(calls) == 1 + REFINED + 1
    assert calls[-1]["rawInput"] == input


def test_long_members_are_not_sent_again_and_again() -> None:
    """While an input streams, a long member is left out of the raw input; the whole input brings it, once."""
    input = {"long": "x" * (REPEATED + 1), "a": 1, "b": 2}
    pieces = [piece(text) for text in json.dumps(input).replace(", ", ", \0").split("\0")]
    calls = played(ToolCalls(), start("mcp__x__y"), *pieces, use("mcp__x__y", input))
    assert sum(str(call).count("x" * REPEATED) for call in calls) == 1
    assert calls[-1]["rawInput"] == input


def test_same_text_is_not_sent_three_times() -> None:
    """A long file text is in the diff of the call and of its request, and in no raw input (examples/clients 2)."""
    text = "x" * (REPEATED + 1)
    input = {"file_path": FILE, "content": text}
    made = runner(ToolCalls(), Permissions(home=HOME))
    pieces = [piece(part) for part in json.dumps(input).replace(", ", ", \0").split("\0")]
    created: Json = {"type": "create", "filePath": FILE, "content": text, "structuredPatch": [], "originalFile": None}
    made.feed(start("Write"), *pieces, use("Write", input), ask("Write", input)).run()
    made.feed(response("Write", created), result("created", structured=created)).run()
    lines = wire(made.client)
    assert sum(str(line).count(text) for line in lines) == 2
    assert max(str(line).count(text) for line in lines) == 1
    assert merged(lines[:2])["rawInput"] == {"file_path": FILE}


def test_short_texts_stay_in_the_raw_input() -> None:
    """Clients that read the raw input find short texts there; the request's leaves out what its own diff shows."""
    made = runner(ToolCalls(), Permissions(home=HOME))
    made.feed(use("Edit", EDIT), ask("Edit", EDIT)).run()
    announced, request = wire(made.client)
    assert announced["rawInput"] == EDIT
    assert request["toolCall"]["rawInput"] == {"file_path": FILE}


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


ENDS: dict[str, Message] = {
    "result": result("out"),
    "denied": ToolDenied(session=SESSION, tool_use="t", message="no"),
    "stopped": WorkStopped(session=SESSION),
    "turn": ended(),
    "restarted": SessionRestarted(session=SESSION),
}


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


# ------------------------------------------------------------------------------------------------- how calls end


def test_denied_by_a_rule() -> None:
    """A call that Claude Code itself denied fails with the reason (reference 4.8)."""
    denied = ToolDenied(session=SESSION, tool_use="t", message="no", reason_type="rule", reason="Bash(rm:*)")
    (_, update) = played(ToolCalls(), use("Bash", BASH), denied)
    assert (update["status"], texts(update)) == ("failed", ["Permission denied: Bash(rm:*)"])
    assert update["_meta"]["claudeCode"]["toolResponse"] == {
        "decisionReasonType": "rule",
        "decisionReason": "Bash(rm:*)",
        "message": "no",
    }


@pytest.mark.parametrize(
    ("surface", "end", "expected"),
    [
        ([start("Bash")], WorkStopped(session=SESSION), NEVER_RAN),
        ([use("Bash", BASH)], WorkStopped(session=SESSION), STOPPED),
        ([start("Bash")], ended(), NEVER_RAN),
        ([use("Bash", BASH)], ended("max_tokens"), NO_RESULT),
        ([use("Bash", BASH)], SessionClosed(session=SESSION), STOPPED),
        ([use("Bash", BASH)], SessionRestarted(session=SESSION), STOPPED),
    ],
)
def test_what_is_left_open(surface: list[Message], end: Message, expected: str) -> None:
    """No call is left open: it is closed before the message that says that its work is over, and says why."""
    made = runner(ToolCalls()).feed(*surface, end).run()
    assert texts(wire(made.client)[-1]) == [expected]
    assert made.client[-1] == end


def test_diff_survives_a_failure() -> None:
    """A call that fails keeps the diff of what was to be changed, with the reason behind it."""
    (_, update) = played(ToolCalls(), use("Edit", EDIT), WorkStopped(session=SESSION))
    assert shown_diffs(update) == [("two", "TWO")]
    assert texts(update) == [STOPPED]


def test_call_without_result_fails_the_prompt() -> None:
    """A turn that ends by itself although a call that may have run has no result is an error (02.6); one that only
    streamed, or was only asked for, is not."""
    stuck = runner(ToolCalls()).feed(use("Bash", BASH), ended()).run().client[-1]
    assert isinstance(stuck, TurnEnded)
    assert stuck.failure is not None
    assert stuck.failure.data == {"errorKind": "incomplete_tool_call"}
    assert "t" in stuck.failure.message
    for surface in (start("Bash"), ask("SandboxNetworkAccess", {"host": "x"})):
        fine = runner(ToolCalls()).feed(surface, ended()).run().client[-1]
        assert fine == ended()


def test_cancelled_turn_is_closed_by_its_stop_only() -> None:
    """The answer of a cancelled prompt closes nothing: `WorkStopped` did, and what is open belongs to later work."""
    made = runner(ToolCalls()).feed(use("Bash", BASH), ended("cancelled")).run()
    assert made.client[-1] == ended("cancelled")
    assert len(wire(made.client)) == 1


def test_background_work_goes_on() -> None:
    """A stop closes neither a background subagent's launch nor its calls; the end of its session's Claude does."""
    task = Task(session=SESSION, task="a1", state="running", tool_use="t", subagent=True, background=True)
    made = runner(ToolCalls()).feed(use("Agent"), task, use("Bash", BASH, "inner", parent="t"))
    made.feed(WorkStopped(session=SESSION), ended()).run()
    assert [line["sessionUpdate"] for line in wire(made.client)] == ["tool_call", "tool_call"]
    made.feed(SessionRestarted(session=SESSION)).run()
    assert [line["status"] for line in wire(made.client)[2:]] == ["failed", "failed"]


# ------------------------------------------------------------------------------------------------- terminals (4.5)


@pytest.mark.parametrize(
    ("profile", "key"),
    [(TERMINALS, "terminal_output"), (TERMINAL_DELTAS, "terminal_output_delta")],
    ids=["terminal_output", "terminal_output_delta"],
)
def test_terminal(profile: Any, key: str) -> None:
    """A command is a terminal: announced with it, then what it printed, then how it ended."""
    announced, printed, over = played(
        ToolCalls(), use("Bash", BASH), result("Exit code 3\nboom", is_error=True), profile=profile
    )
    assert announced["content"] == [{"type": "terminal", "terminalId": "t"}]
    assert announced["_meta"]["terminal_info"] == {"terminal_id": "t"}
    assert printed == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "_meta": {key: {"terminal_id": "t", "data": "Exit code 3\nboom"}},
    }
    assert over == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "failed",
        "rawOutput": {"metadata": {"exit": 3}},
        "_meta": {
            "claudeCode": {"toolName": "Bash"},
            "terminal_exit": {"terminal_id": "t", "exit_code": 3, "signal": None},
        },
    }


def test_terminal_of_a_silent_command() -> None:
    """A command that printed nothing has an end and no output."""
    (_, over) = played(ToolCalls(), use("Bash", BASH), result(""), profile=TERMINALS)
    assert over["_meta"]["terminal_exit"]["exit_code"] == 0


def test_terminal_in_the_background() -> None:
    """A command in the background keeps its terminal until its task ends; how it ended nobody says."""
    running = Task(session=SESSION, task="b1", state="running", tool_use="t", background=True)
    over = Task(session=SESSION, task="b1", state="ended")
    shell = {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}
    calls = played(
        ToolCalls(), use("Bash", BASH), running, result("started", structured=shell), over, over, profile=TERMINALS
    )
    exits = [call["_meta"].get("terminal_exit") for call in calls]
    assert exits == [None, None, None, {"terminal_id": "t", "exit_code": None, "signal": None}]
    assert [call.get("status") for call in calls] == ["pending", None, "completed", None]


@pytest.mark.parametrize("end", [WorkStopped(session=SESSION), SessionClosed(session=SESSION), ENDS["denied"]])
def test_terminal_of_a_stopped_command(end: Message) -> None:
    """A terminal whose command is stopped or never ran does not run for ever."""
    (_, over) = played(ToolCalls(), use("Bash", BASH), end, profile=TERMINALS)
    assert over["_meta"]["terminal_exit"] == {"terminal_id": "t", "exit_code": None, "signal": None}
    assert over["content"][0] == {"type": "terminal", "terminalId": "t"}


def test_only_commands_have_terminals() -> None:
    """Any other tool is shown to a client with terminals as to one without."""
    assert played(ToolCalls(), use("Read", {"file_path": FILE}), result("x"), profile=TERMINALS) == played(
        ToolCalls(), use("Read", {"file_path": FILE}), result("x")
    )


# ------------------------------------------------------------------------------------------------- the stage itself


SCRIPT: list[Message] = [
    start("Bash"),
    piece('{"command": "ls -la", '),
    use("Bash", BASH),
    ask("Bash", BASH),
    ToolGate(session=SESSION, ask="g", tool_use="t", name="Bash", input=BASH),
    response("Bash", {"stdout": "out"}),
    result("out"),
    use("Edit", EDIT, "second"),
    ended(),
]


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
