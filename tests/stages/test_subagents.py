"""Subagents: the flat form, and child sessions point by point (reference 7.1 to 7.3, 7.8)."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message, Pipeline, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    AskWithdrawn,
    Cancel,
    CancelRequest,
    Closing,
    Elicitation,
    Initialized,
    ModelNames,
    PastSubagent,
    PermissionAnswer,
    PermissionReply,
    PermissionRequest,
    Prompt,
    Request,
    RequestFailed,
    Response,
    SessionClosed,
    SessionOpened,
    SessionRestarted,
    StopTask,
    SubagentHistory,
    SubagentMessage,
    SubagentModel,
    SubagentPlace,
    SubagentSettings,
    Task,
    Text,
    Thought,
    ToolCall,
    ToolCallLost,
    ToolCallUpdate,
    TurnEnded,
    Update,
)
from middleware.profile import ClientProfile
from middleware.stages import Subagents, Validation
from middleware.stepping import StepRunner
from middleware.subagents import family, waiting
from middleware.testing import check_stage

S = "s"
CHILDREN: dict[str, Any] = {"subagents": {}}
FAILED = Failure.internal("it failed")


def runner(capabilities: dict[str, Any] | None = None) -> StepRunner:
    run = StepRunner(Pipeline([Subagents()]))
    run.feed(Initialized(profile=ClientProfile(capabilities=CHILDREN if capabilities is None else capabilities)))
    run.feed(SessionOpened(session=S, cwd="/repo")).run()
    run.client.clear()
    run.agent.clear()
    return run


def meta(name: str, lane: str | None = None, **more: Any) -> dict[str, Any]:
    return {"claudeCode": {"toolName": name, **({"parentToolUseId": lane} if lane else {}), **more}}


def call(tool_use: str, name: str = "Write", lane: str | None = None, /, **raw: Any) -> ToolCall:
    item = acp.ToolCall(tool_call_id=tool_use, title=name, raw_input=raw, meta=meta(name, lane), status="pending")
    return ToolCall(session=S, call=item)


def launch(tool_use: str = "L", lane: str | None = None, /, **raw: Any) -> ToolCall:
    given = {"prompt": "do it", "description": "The work", "subagent_type": "general-purpose", **raw}
    return call(tool_use, "Agent", lane, **given)


def ended(
    tool_use: str, status: Any = "completed", name: str = "Agent", lane: str | None = None, text: str = "", **more: Any
) -> ToolCallUpdate:
    content = [acp.Content(content=acp.TextContent(text=text))] if text else None
    change = acp.ToolCallUpdate(tool_call_id=tool_use, status=status, content=content, meta=meta(name, lane, **more))
    return ToolCallUpdate(session=S, change=change)


def begins(task: str = "c", tool_use: str | None = "L", **members: Any) -> Task:
    given = {"subagent": True, "background": False, "run": "1", **members}
    return Task(session=S, task=task, state="running", tool_use=tool_use, **given)


def ends(task: str = "c", status: str = "completed", **members: Any) -> Task:
    return Task(session=S, task=task, state="ended", status=status, **members)


def says(text: str, lane: str | None = "L") -> Text:
    return Text(session=S, text=text, parent=lane, whole=True)


def ask(name: str = "q", agent: str | None = "c", tool_use: str = "w") -> PermissionRequest:
    item = acp.ToolCallUpdate(tool_call_id=tool_use)
    return PermissionRequest(session=S, ask=name, tool_use=tool_use, agent=agent, name="Write", call=item, options=())


def told_in(run: StepRunner) -> list[Any]:
    """The updates that are made here."""
    return [message.update for message in run.client if isinstance(message, Update)]


def wire(run: StepRunner) -> list[str]:
    """What the client sees of it, a line each: the session, and what is said there."""
    return [line for message in run.client if (line := _line(message))]


def _line(message: Message) -> str:
    session = getattr(message, "session", "")
    match message:
        case Text():
            return f"{session}: text {message.text}"
        case ToolCall():
            return f"{session}: call {message.call.tool_call_id} {message.call.status}"
        case ToolCallUpdate():
            return f"{session}: change {message.change.tool_call_id} {message.change.status}"
        case PermissionRequest() | Elicitation():
            return f"{session}: ask {message.ask}"
        case AskWithdrawn():
            return f"{session}: withdrawn {message.ask}"
        case SessionClosed() | SessionOpened():
            return f"{session}: {type(message).__name__}"
        case Update(update=acp.SubagentUpdate() as told):
            state = acp.unstructure(told.state, acp.StateUpdate) if told.state is not None else {}
            words = [told.title, told.description, told.cwd, *(str(value) for value in state.values())]
            said = ["null" if word is acp.NULL else str(word) for word in words if word]
            return f"{session}: child {told.session_id} {' '.join(said)}".rstrip()
        case Update(update=acp.SessionMessage() as said):
            text = " ".join(block.text for block in said.content or () if isinstance(block, acp.TextContent))
            return f"{session}: {said.sender_session_id} to {said.recipient_session_id}: {text}"
    return ""


ANNOUNCED = [
    "c: SessionOpened",
    "s: child c The work general-purpose running",
    "s: s to c: do it",
    "c: s to c: do it",
]


def with_child(run: StepRunner | None = None) -> StepRunner:
    """A child that works, its announcement taken."""
    run = run or runner()
    run.feed(launch(), begins()).run()
    assert wire(run) == ANNOUNCED
    run.client.clear()
    return run


# ------------------------------------------------------------------------------------------ flat


def test_flat() -> None:
    """Without child sessions a child's text and thinking are left out; calls, asks and tasks are as they are."""
    run = runner({})
    thought = Thought(session=S, text="hm", parent="L")
    kept = [launch(), begins(), call("w", "Write", "L"), ask(), ended("w"), ends(), ended("L"), says("mine", None)]
    run.feed(says("leak"), thought, *kept).run()
    assert run.client == kept


def test_flat_with_transcript() -> None:
    """A client that declares `subagent-transcript` is given a child's words as they are."""
    run = runner({"_meta": {"subagent-transcript": True}})
    run.feed(says("told")).run()
    assert run.client == [says("told")]


@pytest.mark.parametrize("method", ["session/new", "session/load"])
def test_flat_when_the_session_asks(method: str) -> None:
    """A session that asks for it is given its subagents' words, another one is not."""
    run = runner({})
    options = {"claudeCode": {"options": {"forwardSubagentText": True}}}
    params: Any = acp.NewSessionRequest(cwd="/", mcp_servers=[], meta=options)
    result: Any = acp.NewSessionResponse(session_id=S)
    if method == "session/load":
        params = acp.LoadSessionRequest(cwd="/", session_id=S, mcp_servers=[], meta=options)
        result = acp.LoadSessionResponse()
    session = S if method == "session/load" else None
    run.feed(Request(request=1, method=method, params=params, session=session)).run()
    run.feed(Response(request=1, result=result), says("told"), Text(session="other", text="no", parent="L")).run()
    assert [message.text for message in run.client if isinstance(message, Text)] == ["told"]


def test_air_stays_flat() -> None:
    """JetBrains AIR has an earlier draft, and is not given child sessions."""
    run = runner({**CHILDREN, "_meta": {"jetbrains": {"air": {}}}})
    run.feed(launch(), begins()).run()
    assert run.client == [launch(), begins()]


# ------------------------------------------------------------------------------------------ announced


def test_announced() -> None:
    """The child is told on its parent's session, can be stopped, and both transcripts have what it was told."""
    run = runner()
    run.feed(launch(), begins()).run()
    assert wire(run) == ANNOUNCED
    told = told_in(run)[0]
    assert told.capabilities == acp.SubagentSessionCapabilities(cancel=acp.SessionCancelCapabilities())
    outgoing, incoming = told_in(run)[1:]
    assert (outgoing.message_id, outgoing.recipient_message_id, outgoing.sender_message_id) == ("L", "L", None)
    assert (incoming.message_id, incoming.sender_message_id, incoming.recipient_message_id) == ("L", "L", None)


@pytest.mark.parametrize(
    ("raw", "title", "description"),
    [
        ({"name": " Bo "}, "Bo", "general-purpose"),
        ({}, "The work", "general-purpose"),
        ({"description": ""}, "general-purpose", None),
        ({"description": "", "name": "  "}, "general-purpose", None),
    ],
)
def test_labels(raw: dict[str, Any], title: str, description: str | None) -> None:
    """The title is its name, else what it is for, else its kind; the kind is the description if it is not the title."""
    run = runner()
    run.feed(launch(**raw), begins()).run()
    told = told_in(run)[0]
    assert (told.title, told.description) == (title, description)


def test_what_the_frame_says_wins() -> None:
    """Claude Code's own words for a task stand before those of the call."""
    run = runner()
    run.feed(launch(), begins(description="Its words", subagent_type="Explore", prompt="its prompt")).run()
    assert wire(run)[1:3] == ["s: child c Its words Explore running", "s: s to c: its prompt"]


def test_without_a_call() -> None:
    """A child that no call began belongs to the root, and only its own transcript has its prompt."""
    run = runner()
    run.feed(begins(tool_use=None, description="D", prompt="p")).run()
    assert wire(run) == ["c: SessionOpened", "s: child c D running", "c: s to c: p"]


@pytest.mark.parametrize("launch_first", [True, False])
def test_nothing_before_the_announcement(launch_first: bool) -> None:
    """What comes of a child before it can be announced follows its announcement, in order."""
    run = runner()
    first, second = (launch(), begins()) if launch_first else (begins(), launch())
    run.feed(first, says("one"), call("w", "Write", "L"), says("two"), ended("w", name="Write", lane="L")).run()
    assert wire(run) == []
    run.feed(second).run()
    assert wire(run) == [*ANNOUNCED, "c: text one", "c: call w pending", "c: text two", "c: change w completed"]


def test_everything_of_it_is_in_its_session() -> None:
    """Text, calls and changes of the child go to its session; those of the main thread stay."""
    run = with_child()
    run.feed(says("hers"), call("w", "Write", "L"), ended("w", name="Write"), says("mine", None), call("v")).run()
    assert wire(run) == [
        "c: text hers",
        "c: call w pending",
        "c: change w completed",
        "s: text mine",
        "s: call v pending",
    ]


def test_a_child_of_a_child() -> None:
    """A delegation of a child is told on the child's session, also when it is met before the child is known."""
    for early in (False, True):
        run = runner()
        inner = launch("M", "L", prompt="deeper", description="Inner")
        run.feed(*([launch(), inner, begins()] if early else [launch(), begins(), inner]), begins("d", "M")).run()
        assert wire(run) == [
            *ANNOUNCED,
            "d: SessionOpened",
            "c: child d Inner general-purpose running",
            "c: c to d: deeper",
            "d: c to d: deeper",
        ]


# ------------------------------------------------------------------------------------------ the launch


def test_launch_is_hidden() -> None:
    """The call that a child replaces is never shown; its report is a message to the parent, cleaned."""
    run = with_child()
    text = "the report\nagentId: c (use SendMessage)\n<usage>tokens</usage>"
    run.feed(ends(), ended("L", text=text)).run()
    assert wire(run) == ["s: child c idle end_turn", "s: c to s: the report"]
    assert told_in(run)[-1].message_id == "L:reply"
    run.feed(ended("L", None, toolResponse={"late": 1})).run()
    assert len(wire(run)) == 2


@pytest.mark.parametrize(
    ("raw", "members", "more", "status"),
    [
        ({"run_in_background": True}, {"background": None}, {}, "completed"),
        ({}, {"background": True}, {}, "completed"),
        ({}, {}, {"toolResponse": {"status": "async_launched"}}, "completed"),
        ({}, {}, {}, "failed"),
    ],
)
def test_no_report(raw: dict[str, Any], members: dict[str, Any], more: dict[str, Any], status: str) -> None:
    """A launch in the background is no report, and a failed one neither: the state says what became of the child."""
    run = runner()
    run.feed(launch(**raw), begins(**members), ended("L", status, text="Async agent launched", **more)).run()
    assert wire(run) == ANNOUNCED


def test_launch_that_comes_to_nothing() -> None:
    """A launch that ends without a child is one call of its maker, as it ended; what waited for it is dropped."""
    run = runner()
    run.feed(launch(), says("lost"), ended("L", "failed", text="no such agent")).run()
    assert wire(run) == ["s: call L failed"]
    shown = run.client[-1]
    assert isinstance(shown, ToolCall)
    assert shown.call.raw_input["prompt"] == "do it"
    assert "no such agent" in str(shown.call.content)
    run.feed(begins()).run()
    assert "text lost" not in str(wire(run))


def test_child_of_a_background_launch_comes_later() -> None:
    """A launch in the background may end before its child is known: the child is announced then."""
    run = runner()
    run.feed(launch(run_in_background=True), ended("L"), says("early")).run()
    assert wire(run) == []
    run.feed(begins(background=True)).run()
    assert wire(run) == [*ANNOUNCED, "c: text early"]


def test_launch_that_needs_a_permission() -> None:
    """A launch that a permission is asked for is shown before that, and stays a call; only the child has its prompt."""
    run = runner()
    run.feed(launch(), ask(agent=None, tool_use="L"), begins(), ended("L", text="report")).run()
    assert wire(run) == [
        "s: call L pending",
        "s: ask q",
        "c: SessionOpened",
        "s: child c The work general-purpose running",
        "c: s to c: do it",
        "s: change L completed",
    ]


# ------------------------------------------------------------------------------------------ messages


def send(tool_use: str = "M", **raw: Any) -> ToolCall:
    return call(tool_use, "SendMessage", **{"to": "c", "message": "go on", **raw})


def test_message_to_a_running_child() -> None:
    """A message that reached the child stands in both transcripts, and not as a call."""
    run = with_child()
    run.feed(send(), ended("M", name="SendMessage", toolResponse={"success": True})).run()
    assert wire(run) == ["s: s to c: go on", "c: s to c: go on"]


@pytest.mark.parametrize("to", ["c", "agent-c", "The work"])
def test_named_child(to: str) -> None:
    """A child is named by its id or its title."""
    run = with_child()
    run.feed(send(to=to), ended("M", name="SendMessage")).run()
    assert len(wire(run)) == 2


@pytest.mark.parametrize(
    ("to", "status", "response"),
    [("c", "failed", {}), ("nobody", "completed", {}), ("c", "completed", {"success": False})],
)
def test_message_that_reached_nobody(to: str, status: str, response: dict[str, Any]) -> None:
    """A message that failed, or that has no child session, is one call of its sender."""
    run = with_child()
    run.feed(send(to=to), ended("M", status, name="SendMessage", toolResponse=response)).run()
    assert wire(run) == [f"s: call M {status}"]


def test_resumed() -> None:
    """A message that resumes an ended child: the same session runs again, the message is told once, before its work."""
    run = with_child()
    run.feed(ends(), send(), begins(tool_use="M", run="2", background=True), says("again", "M")).run()
    run.feed(ended("M", name="SendMessage", toolResponse={"success": True, "resumedAgentId": "c"}), ends(run="2")).run()
    assert wire(run) == [
        "s: child c idle end_turn",
        "s: child c running",
        "s: s to c: go on",
        "c: s to c: go on",
        "c: text again",
        "s: child c idle end_turn",
    ]


def test_message_that_needs_a_permission() -> None:
    """A message that a permission is asked for stays a call; only the child that it reached has it as a message."""
    for resumes in (False, True):
        run = with_child()
        if resumes:
            run.feed(ends()).run()
            run.client.clear()
        run.feed(send(), ask(agent=None, tool_use="M")).run()
        if resumes:
            run.feed(begins(tool_use="M", run="2", background=True)).run()
        run.feed(ended("M", name="SendMessage", toolResponse={"success": True})).run()
        told = ["c: s to c: go on", "s: change M completed"]
        assert wire(run) == [
            "s: call M pending",
            "s: ask q",
            *(["s: child c running", *told] if resumes else reversed(told)),
        ]
    run = with_child()
    run.feed(send(), ask(agent=None, tool_use="M"), ended("M", "failed", name="SendMessage")).run()
    assert wire(run) == ["s: call M pending", "s: ask q", "s: change M failed"]


def test_prompts_that_no_call_has_given() -> None:
    """What a child is told without a call stands in its transcript only, under an id of its own each time."""
    run = runner()
    run.feed(begins(tool_use=None, prompt="one"), ends(), begins(tool_use=None, prompt="two", run="2")).run()
    said = [told for told in told_in(run) if isinstance(told, acp.SessionMessage)]
    assert [(told.message_id, told.sender_message_id) for told in said] == [("c:prompt:1", None), ("c:prompt:2", None)]
    assert [line for line in wire(run) if "to c" in line] == ["c: s to c: one", "c: None to c: two"]


def test_resumed_by_a_patch() -> None:
    """A running patch resumes a child, and tells it nothing."""
    run = with_child()
    run.feed(ends(), Task(session=S, task="c", state="running", status="running")).run()
    assert wire(run) == ["s: child c idle end_turn", "s: child c running"]


def test_a_patch_that_says_nothing_of_it() -> None:
    """A patch of another member resumes nothing."""
    run = with_child()
    run.feed(ends(), Task(session=S, task="c", state="running", background=True)).run()
    assert wire(run) == ["s: child c idle end_turn"]


def test_hand_back() -> None:
    """What a child hands back is a message to its parent, and stands for its report; a failed one is its call."""
    run = with_child()
    run.feed(call("H", "SubagentHandback", "L", message="here"), ended("H", name="SubagentHandback", lane="L")).run()
    run.feed(ends(), ended("L", text="report")).run()
    assert wire(run) == ["c: c to s: here", "s: c to s: here", "s: child c idle end_turn"]
    run = with_child()
    run.feed(call("H", "SubagentHandback", "L", message="here"), ended("H", "failed", name="SubagentHandback")).run()
    assert wire(run) == ["c: call H failed"]


# ------------------------------------------------------------------------------------------ the end


@pytest.mark.parametrize(
    ("status", "members", "told"),
    [
        ("completed", {}, "idle end_turn"),
        ("killed", {}, "idle cancelled"),
        ("stopped", {}, "idle cancelled"),
        ("cancelled", {}, "idle cancelled"),
        ("failed", {}, "idle error"),
        ("killed", {"reason": "worker_restart"}, "idle"),
    ],
)
def test_end(status: str, members: dict[str, Any], told: str) -> None:
    """How it ended, in ACP's words, once."""
    run = with_child()
    run.feed(ends(status=status, **members), ends(status=status, **members)).run()
    assert wire(run) == [f"s: child c {told}"]


def test_end_with_an_error() -> None:
    """A failure has Claude Code's text; one that comes behind the failure is told once."""
    for members in ({"error": "it broke"}, {"summary": "it broke"}):
        run = with_child()
        run.feed(ends(status="failed"), ends(status="failed", **members), ends(status="failed", **members)).run()
        states = [told.state for told in told_in(run)]
        assert states == [
            acp.IdleStateUpdate(stop_reason="error"),
            acp.IdleStateUpdate(stop_reason="error", error=acp.Error(code=-32603, message="it broke")),
        ]


def test_never_known() -> None:
    """A child that ends before its parent is known is never told of, and nothing of it is shown later."""
    run = runner()
    run.feed(begins(), says("lost"), ends(), launch(), says("late")).run()
    assert wire(run) == []


def test_late_words_of_an_earlier_run() -> None:
    """A word of an earlier run, or the end of an earlier delegation, changes nothing."""
    run = with_child()
    run.feed(ends(run="1"), send(), begins(tool_use="M", run="2")).run()
    told = len(wire(run))
    run.feed(ends(run="1", status="failed"), ends(tool_use="L")).run()
    assert len(wire(run)) == told
    run.feed(ends(run="2", tool_use="L")).run()
    assert wire(run)[-1] == "s: child c idle end_turn"


def test_calls_of_a_stopped_child() -> None:
    """A call that is closed after its child has ended ends in the child's session."""
    run = with_child()
    run.feed(call("w", "Write", "L"), ends(status="killed"), ended("w", "failed", name="Write")).run()
    assert wire(run)[-1] == "c: change w failed"


@pytest.mark.parametrize("end", [AgentGone(session=S), SessionRestarted(session=S), SessionClosed(session=S)])
def test_all_end(end: Message) -> None:
    """Without a Claude Code every child that works is idle, the last one first, and nobody knows how it ended."""
    run = with_child()
    run.feed(launch("M"), begins("d", "M"), launch("N"), begins("e", "N"), ends("e")).run()
    run.client.clear()
    run.feed(ask(agent="d"), end).run()
    told = wire(run)
    idle = ["d: withdrawn q", "s: child d idle", "s: child c idle"]
    assert [line for line in told if line in idle] == idle
    closed = [line for line in told if "SessionClosed" in line]
    gone = ["e: SessionClosed", "d: SessionClosed", "c: SessionClosed"]
    assert closed == {AgentGone: [], SessionRestarted: gone, SessionClosed: [*gone, "s: SessionClosed"]}[type(end)]


# ------------------------------------------------------------------------------------------ asks


def test_ask_of_a_child() -> None:
    """A child's permission is asked in its session, which waits for the person meanwhile; the answer finds its way."""
    run = with_child()
    run.feed(ask(), ask("r", tool_use="v")).run()
    assert wire(run) == ["s: child c requires_action", "c: ask q", "c: ask r"]
    run.feed(PermissionReply(session="c", ask="q", option="allow")).run()
    assert len(wire(run)) == 3
    run.feed(PermissionReply(session="c", ask="r", option="allow")).run()
    assert wire(run)[3:] == ["s: child c running"]
    assert [message.session for message in run.agent if isinstance(message, PermissionReply)] == [S, S]


def test_question_of_a_child() -> None:
    """So is a child's question; a server's stays with the root, and so does the main thread's ask."""
    run = with_child()
    run.feed(
        Elicitation(session=S, ask="e", agent="c", message="?"), Elicitation(session=S, ask="f", message="?")
    ).run()
    run.feed(ask("g", agent=None)).run()
    assert [line for line in wire(run) if "ask" in line] == ["c: ask e", "s: ask f", "s: ask g"]


def test_an_answer_in_the_clients_place() -> None:
    """An ask that cannot be asked is answered for the root, and the child runs again."""
    run = with_child()
    run.feed(ask()).run()
    run.feed(PermissionAnswer(session="c", ask="q", decision="deny")).run()
    assert run.agent == [PermissionAnswer(session=S, ask="q", decision="deny")]
    assert wire(run)[-1] == "s: child c running"


@pytest.mark.parametrize(
    "stop",
    [
        None,
        CancelRequest(request=8),
        Cancel(session=S),
        Cancel(session="c"),
        CancelRequest(request=7),
        Request(request=1, method="session/close", params=None, session=S),
        Closing(),
    ],
)
def test_withdrawn(stop: Message | None) -> None:
    """A withdrawn ask is taken back in the child's session; the child runs again, unless it is being stopped."""
    run = with_child()
    run.feed(Prompt(session=S, request=7, prompt="p", content=()), ask()).run()
    if stop is not None:
        run.feed(stop).run()
    run.client.clear()
    run.feed(AskWithdrawn(session=S, ask="q")).run()
    stopped = stop not in (None, CancelRequest(request=8))
    assert wire(run) == ["c: withdrawn q", *([] if stopped else ["s: child c running"])]


@pytest.mark.parametrize(
    "answer", [TurnEnded(session=S, request=7, prompt="p"), RequestFailed(request=7, failure=FAILED)]
)
def test_prompt_that_has_its_answer(answer: Message) -> None:
    """A request that has its answer is no longer given up."""
    run = with_child()
    run.feed(Prompt(session=S, request=7, prompt="p", content=()), ask(), answer, CancelRequest(request=7)).run()
    run.feed(AskWithdrawn(session=S, ask="q")).run()
    assert wire(run)[-1] == "s: child c running"


def test_ask_of_an_unknown_child() -> None:
    """A child that nobody was told of asks in the root's session, where its call is and stays."""
    run = runner()
    run.feed(
        begins(), call("w", "Write", "L"), says("waits"), ask(), launch(), ended("w", name="Write", lane="L")
    ).run()
    lines = wire(run)
    assert lines[:2] == ["s: call w pending", "s: ask q"]
    assert lines[-2:] == ["c: text waits", "s: change w completed"]
    run.feed(PermissionReply(session=S, ask="q", option="allow")).run()
    assert run.agent == [PermissionReply(session=S, ask="q", option="allow")]


# ------------------------------------------------------------------------------------------ what the client may do


def test_cancel_of_a_child() -> None:
    """A cancel of the child's session stops its task, and reports nothing by itself; one that is over is left be."""
    run = with_child()
    run.feed(Cancel(session="c")).run()
    assert run.agent == [StopTask(session=S, task="c")]
    assert wire(run) == []
    run.feed(ends(status="stopped"), Cancel(session="c")).run()
    assert len(run.agent) == 1


def test_cancel_of_the_parent() -> None:
    """A cancel of the root passes, and ends no child by itself."""
    run = with_child()
    run.feed(Cancel(session=S)).run()
    assert run.agent == [Cancel(session=S)]
    assert wire(run) == []


def test_nothing_else_of_a_child() -> None:
    """A prompt, or any other request, for a child's session is one for a session that is not there."""
    run = with_child()
    run.feed(Prompt(session="c", request=1, prompt="p", content=())).run()
    run.feed(Request(request=2, method="session/set_mode", params=None, session="c")).run()
    refusals = [message for message in run.client if isinstance(message, RequestFailed)]
    assert refusals == [RequestFailed(request=number, failure=Failure.session_not_found("c")) for number in (1, 2)]
    assert run.agent == []


def test_lost_call() -> None:
    """A child's call that did not reach the client is the root's for whoever announces calls."""
    run = with_child()
    run.feed(ToolCallLost(session="c", tool_use="w")).run()
    assert run.agent == [ToolCallLost(session=S, tool_use="w")]


def test_validation_knows_children() -> None:
    """Behind this stage a strict `Validation` takes all of a child's life for legal."""
    run = StepRunner(Pipeline([Validation(strict=True), Subagents()]))
    run.feed(Initialized(profile=ClientProfile(capabilities=CHILDREN)), SessionOpened(session=S, cwd="/w")).run()
    run.feed(
        launch(), says("early"), begins(), call("w", "Write", "L"), ask(), ended("w", name="Write", lane="L")
    ).run()
    run.feed(PermissionReply(session="c", ask="q")).run()
    run.feed(Cancel(session="c")).run()
    assert StopTask(session=S, task="c") in run.agent
    run.feed(ends(), ended("L", text="report"), SessionClosed(session=S)).run()
    assert wire(run)[-1] == "s: SessionClosed"


# ------------------------------------------------------------------------------------------ where it works


def test_worktree() -> None:
    """A child's directory is told when it is another one than its parent's, in its announcement or behind it."""
    run = runner()
    run.feed(launch(), SubagentPlace(session=S, agent="c", cwd="/tree"), begins()).run()
    assert wire(run)[1] == "s: child c The work general-purpose /tree running"
    run = with_child()
    places = ["/repo", "/tree", "/tree", "/repo", "/other"]
    run.feed(*(SubagentPlace(session=S, agent="c", cwd=cwd) for cwd in places)).run()
    assert wire(run) == ["s: child c /tree", "s: child c null", "s: child c /other"]


def test_back_from_a_worktree_on_the_wire() -> None:
    """A child that is where its parent is again has no directory of its own: null, and no path."""
    run = with_child()
    run.feed(*(SubagentPlace(session=S, agent="c", cwd=cwd) for cwd in ("/tree", "/repo"))).run()
    assert acp.unstructure(told_in(run)[-1], acp.SessionUpdate) == {
        "sessionUpdate": "subagent_update",
        "sessionId": "c",
        "cwd": None,
    }


# ------------------------------------------------------------------------------------------ what it works with


def configured(run: StepRunner) -> list[list[tuple[str, str, str]]]:
    """The child's configurations that were told: option, value, what that is called."""
    updates = [message for message in run.client if isinstance(message, Update) and message.session == "c"]
    told = [message.update for message in updates]
    return [
        [(option.id, option.current_value, option.options[0].name) for option in _selects(update)]
        for update in told
        if isinstance(update, acp.ConfigOptionUpdate)
    ]


def _selects(update: acp.ConfigOptionUpdate) -> list[Any]:
    assert all(isinstance(option, acp.SessionConfigSelect) for option in update.config_options)
    return list(update.config_options)


def answers(model: str, lane: str = "L") -> SubagentModel:
    return SubagentModel(session=S, parent=lane, model=model)


def test_model_of_a_child() -> None:
    """The model that answers is told in the child's session, as the parent's option calls it, when it is another."""
    run = runner()
    haiku = acp.SessionConfigSelectOption(value="haiku", name="Haiku 5.5")
    run.feed(ModelNames(session=S, entries={"claude-haiku-5-5": haiku}))
    with_child(run)
    run.feed(*(answers(model) for model in ("claude-haiku-5-5", "claude-haiku-5-5", "strange"))).run()
    assert configured(run) == [[("model", "haiku", "Haiku 5.5")], [("model", "strange", "strange")]]
    update = next(message.update for message in run.client if isinstance(message, Update))
    assert acp.unstructure(update, acp.SessionUpdate)["configOptions"] == [
        {
            "type": "select",
            "id": "model",
            "name": "Model",
            "category": "model",
            "currentValue": "haiku",
            "options": [{"value": "haiku", "name": "Haiku 5.5"}],
        }
    ]


def test_what_hooks_say_of_a_child() -> None:
    """Mode, effort and agent are added where a hook says them, in the order of the parent's options and its names."""
    run = runner()
    mode = acp.SessionConfigSelect(
        id="mode",
        name="Mode",
        current_value="plan",
        options=[acp.SessionConfigSelectOption(value="plan", name="Plan Mode")],
    )
    run.feed(Update(session=S, update=acp.ConfigOptionUpdate(config_options=[mode]))).run()
    run.client.clear()
    with_child(run)
    hook = SubagentSettings(session=S, agent="c", mode="plan", effort="extra_high", kind="Explore")
    run.feed(answers("m"), hook, hook, SubagentSettings(session=S, agent="c"), SubagentSettings(session=S, agent="z"))
    run.run()
    names = [("mode", "plan", "Plan Mode"), ("model", "m", "m")]
    effort = [("effort", "extra_high", "Extra high"), ("agent", "Explore", "Explore")]
    assert configured(run) == [[names[1]], [*names, *effort]]


def test_configuration_follows_the_announcement() -> None:
    """What is known of a child that cannot be announced yet is told behind its announcement, and before its work."""
    run = runner()
    run.feed(begins(), answers("m"), says("early"), launch()).run()
    told = [message.update if isinstance(message, Update) else message for message in run.client]
    kinds = [acp.SubagentUpdate, acp.SessionMessage, acp.SessionMessage, acp.ConfigOptionUpdate, Text]
    assert [type(message) for message in told if type(message) in kinds] == kinds


def test_no_configuration_of_a_child_without_a_session() -> None:
    """A client without child sessions is told nothing of it, and neither is anybody of a child that is not known."""
    run = runner({})
    run.feed(launch(), begins(), answers("m"), SubagentSettings(session=S, agent="c", mode="plan")).run()
    assert not any(isinstance(message, Update) for message in run.client)
    run = with_child()
    run.feed(answers("m", "nobody")).run()
    assert wire(run) == []


def test_names_of_the_answered_options() -> None:
    """The names are those of the options that the client was answered when it opened the session."""
    run = runner()
    option = acp.SessionConfigSelectOption(value="default", name="Always ask")
    mode = acp.SessionConfigSelect(id="mode", name="Mode", current_value="default", options=[option])
    params = acp.NewSessionRequest(cwd="/", mcp_servers=[])
    run.feed(Request(request=1, method="session/new", params=params))
    run.feed(Response(request=1, result=acp.NewSessionResponse(session_id=S, config_options=[mode]))).run()
    run.client.clear()
    with_child(run)
    run.feed(SubagentSettings(session=S, agent="c", mode="default")).run()
    assert configured(run) == [[("mode", "default", "Always ask")]]


# ------------------------------------------------------------------------------------------ from before


HISTORY = SubagentHistory(
    session=S,
    subagents=(
        PastSubagent(task="a", title="Top", description="kind"),
        PastSubagent(task="b", parent="a", title="Middle", cwd="/tree"),
        PastSubagent(task="c", parent="b", title="Low"),
    ),
)


def test_back_from_before() -> None:
    """A child from before is resumed in its session: those above it are told of first, without a state, then it runs,
    is told the message, and works."""
    run = runner()
    run.feed(HISTORY, send(), says("early", "M"), begins(tool_use="M")).run()
    assert wire(run) == [
        "a: SessionOpened",
        "s: child a Top kind",
        "b: SessionOpened",
        "a: child b Middle /tree",
        "c: SessionOpened",
        "b: child c Low running",
        "s: s to c: go on",
        "c: s to c: go on",
        "c: text early",
    ]


def test_what_waited_for_those_above() -> None:
    """When a child is back from before, what waited for one above it is told, too."""
    run = runner()
    above = PastSubagent(task="a", call="A", title="Top")
    history = SubagentHistory(session=S, subagents=(above, PastSubagent(task="c", parent="a", title="Low")))
    run.feed(history, says("hers", "A"), send(), begins(tool_use="M")).run()
    assert wire(run)[-1] == "a: text hers"


def test_back_from_before_and_told() -> None:
    """A child that a replay has told of is not announced again: it runs, and what names its first call is its own."""
    run = runner()
    known = PastSubagent(task="c", call="first", title="Low", told=True)
    run.feed(SubagentHistory(session=S, subagents=(known,)), send(), begins(tool_use="M")).run()
    run.feed(says("again", "M"), says("hers", "first")).run()
    assert wire(run) == [
        "c: SessionOpened",
        "s: child c running",
        "s: s to c: go on",
        "c: s to c: go on",
        "c: text again",
        "c: text hers",
    ]


PAST = (
    PastSubagent(task="c", call="L", title="Top", told=True, status="failed", error="it broke", model="m"),
    PastSubagent(task="d", parent="c", call="M", title="Low", cwd="/gone", told=True, homeless=True),
    PastSubagent(task="e", parent="c", call="N", title="Not told"),
)


def load(run: StepRunner, *past: PastSubagent, method: str = "session/load") -> StepRunner:
    """The session is loaded: its past was told, and the request is answered."""
    params: Any = acp.LoadSessionRequest(cwd="/repo", session_id=S, mcp_servers=[])
    run.feed(Request(request=1, method=method, params=params, session=S))
    run.feed(SubagentHistory(session=S, subagents=past), Response(request=1, result=acp.LoadSessionResponse())).run()
    return run


def test_where_children_stand_after_a_load() -> None:
    """Behind the answer each child that a replay has told of is told to be at rest, as it ended; one whose directory
    is gone is where its parent is. None of them can be stopped, or asked anything."""
    run = load(runner(), *PAST)
    assert wire(run) == [
        "c: SessionOpened",
        "d: SessionOpened",
        "s: child c idle error {'code': -32603, 'message': 'it broke'}",
        "c: child d null idle",
    ]
    assert all(told.capabilities is None for told in told_in(run))
    answered = next(index for index, message in enumerate(run.client) if isinstance(message, Response))
    assert all(index > answered for index, message in enumerate(run.client) if isinstance(message, Update))
    run.agent.clear()
    run.feed(Cancel(session="c"), Prompt(session="d", request=2, prompt="p", content=())).run()
    assert run.agent == []
    assert run.client[-1] == RequestFailed(request=2, failure=Failure.session_not_found("d"))


def test_a_live_child_after_a_load() -> None:
    """A child that still works is told as it is, and that it can be stopped, whatever the replay made of it."""
    run = with_child()
    run.feed(ask()).run()
    run.client.clear()
    load(run, *PAST[:1])
    assert wire(run) == ["s: child c requires_action"]
    assert told_in(run)[0].capabilities == acp.SubagentSessionCapabilities(cancel=acp.SessionCancelCapabilities())


def test_nothing_is_told_after_a_resume() -> None:
    """A session that is taken up without its past has told of nobody."""
    run = with_child()
    load(run, method="session/resume")
    assert wire(run) == []


def test_resumed_after_a_load() -> None:
    """A child that a replay told of runs again in its session, below its parent; its model is told if it is another."""
    run = load(runner(), *PAST)
    run.client.clear()
    run.feed(send("X", to="d"), begins("d", "X"), says("again", "X"), answers("m", "L"), answers("n", "L")).run()
    assert wire(run) == ["c: child d running", "s: s to d: go on", "d: s to d: go on", "d: text again"]
    assert configured(run) == [[("model", "n", "n")]]
    run.client.clear()
    run.feed(send("Y", to="e"), begins("e", "Y")).run()
    assert wire(run)[:2] == ["e: SessionOpened", "c: child e Not told running"]


# ------------------------------------------------------------------------------------------ replayed


def replaying() -> StepRunner:
    run = StepRunner(Pipeline([Subagents(replay=True)]))
    run.feed(Initialized(profile=ClientProfile(capabilities=CHILDREN)), SessionOpened(session=S, cwd="/repo")).run()
    run.client.clear()
    return run


def arrives(seen_by: Any, sender: str | None = S, recipient: str = "c") -> SubagentMessage:
    return SubagentMessage(session=S, message="M", text="go on", sender=sender, recipient=recipient, seen_by=seen_by)


def test_past_children_cannot_be_stopped() -> None:
    """In a replay a child is announced without a way to stop it."""
    run = replaying()
    with_child(run)
    run.feed(launch("N"), begins("d", "N")).run()
    assert told_in(run)[0].capabilities is None


def test_message_of_the_past() -> None:
    """A message stands in each of the two transcripts at its own place, once; of an unknown sender in one only."""
    run = with_child(replaying())
    run.feed(arrives("recipient"), arrives("recipient"), says("more"), arrives("sender")).run()
    assert wire(run) == ["c: s to c: go on", "c: text more", "s: s to c: go on"]
    run = with_child(replaying())
    run.feed(arrives("recipient", None), arrives("sender", None), arrives("recipient", S, "nobody")).run()
    assert wire(run) == ["c: None to c: go on"]
    assert told_in(run)[0].sender_message_id is None


def test_call_of_the_past_that_sent_nothing() -> None:
    """In a replay a call that sends is shown: had the message arrived, it would not be told as a call."""
    run = with_child(replaying())
    run.feed(send(), ended("M", name="SendMessage", toolResponse={"success": True})).run()
    assert wire(run) == ["s: call M completed"]


def test_launch_of_the_past_without_a_child() -> None:
    """In a replay a launch in the background has had its child, or has none that is known."""
    run = replaying()
    run.feed(launch(run_in_background=True), ended("L", text="Async agent launched")).run()
    assert wire(run) == ["s: call L completed"]


def test_nothing_of_the_past_in_the_flat_form() -> None:
    """A client without child sessions is told neither who lived before, nor of messages."""
    run = runner({})
    load(run, *PAST)
    run.feed(arrives("recipient"), arrives("sender")).run()
    assert wire(run) == []


def test_unknown_from_before() -> None:
    """An agent that the history does not know stays unexposed: its parent would be guessed."""
    run = runner()
    run.feed(send(), begins("z", "M"), says("lost", "M"), ended("M", name="SendMessage")).run()
    assert wire(run) == ["s: call M completed"]


@pytest.mark.parametrize("parents", [{"c": "b", "b": "c"}, {"c": "c"}, {"c": "gone"}])
def test_no_line_from_before(parents: dict[str, str]) -> None:
    """Nobody stands above himself, and a parent that is not known is not guessed: the agent stays unexposed."""
    run = runner()
    subagents = tuple(PastSubagent(task=task, parent=parent) for task, parent in parents.items())
    run.feed(SubagentHistory(session=S, subagents=subagents), begins(tool_use="M")).run()
    assert wire(run) == []


# ------------------------------------------------------------------------------------------ bounds


def test_waiting_is_bounded() -> None:
    """What waits for children is bounded: for one, in all, and in the number of those that anything waits for."""
    run = runner()
    run.feed(*(says(str(number)) for number in range(waiting.OF_ONE + 5)), launch(), begins()).run()
    assert len([line for line in wire(run) if line.startswith("c: text")]) == waiting.OF_ONE
    held = waiting.Waiting()
    for number in range(waiting.CALLS + 5):
        held.put(str(number), says("x"))
    assert sum(len(held.take(str(number))) for number in range(waiting.CALLS + 5)) == waiting.CALLS
    for number in range(waiting.IN_ALL + 5):
        held.put(str(number % 20), says("x"))
    assert sum(len(held.take(str(number))) for number in range(20)) == waiting.IN_ALL


def test_children_are_bounded() -> None:
    """Of too many children an ended one is forgotten first."""
    known = family.Family(root=S)
    for number in range(family.CHILDREN):
        known.add(family.Child(session=str(number), state="idle" if number == 3 else "running"))
    known.add(family.Child(session="new"))
    assert len(known.children) == family.CHILDREN
    assert "3" not in known.children
    known.add(family.Child(session="newer"))
    assert "0" not in known.children


def test_back_from_before_among_too_many() -> None:
    """A child from before comes back although those above it are forgotten at once."""
    run = runner()
    run.feed(*(begins(str(number), None) for number in range(family.CHILDREN)))
    run.feed(HISTORY, send(), begins(tool_use="M")).run()
    assert "b: child c Low running" in wire(run)


def test_calls_are_bounded() -> None:
    """Of too many calls the oldest are forgotten."""
    known = family.Family(root=S)
    for number in range(family.CALLS + 1):
        known.own(str(number), "c")
    assert len(known.owners) == family.CALLS
    assert "0" not in known.owners


@pytest.mark.parametrize("capabilities", [{}, CHILDREN])
def test_conformance(capabilities: dict[str, Any]) -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    profile = Initialized(profile=ClientProfile(capabilities=capabilities))
    opened = SessionOpened(session=S, cwd="/")
    check_stage(Subagents, [profile, opened, launch(), begins(), says("x"), ask(), ends(), ended("L", text="r")])
