"""Questions on both wires: Claude Code's control requests, and the client's `elicitation/create`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpbridge.claude import control, events
from acpbridge.claude.calls import CALLS
from acpbridge.client_end import ClientEnd, Line, Written
from middleware import Message, Pipeline, StepRunner, acp
from middleware.errors import INVALID_PARAMS
from middleware.messages import (
    AskWithdrawn,
    ClaudeStarted,
    Closing,
    Commands,
    Dialog,
    DialogAnswer,
    Elicitation,
    ElicitationAnswer,
    ElicitationCompleted,
    ElicitationReply,
    PermissionAnswer,
    Question,
    RefusalAsk,
    Task,
    ToolResult,
)
from tests.acp.judge import Judge

S = "s"
OPTIONS = (acp.PermissionOption(option_id="choice-0", name="A", kind="allow_once"),)
FORM = Elicitation(session=S, ask="q", message="who?", schema={"type": "object", "properties": {}})
URL = Elicitation(session=S, ask="q", message="go", mode="url", url="https://x.test", elicitation="e")
CHOICE = Question(session=S, ask="q", tool_use="x", message="Which?", options=OPTIONS)


class Client:
    """A client end, and what it wrote, each line judged."""

    def __init__(self) -> None:
        self.run = StepRunner(Pipeline([ClientEnd()]))
        self.judge = Judge()

    def feed(self, *messages: Message) -> list[dict[str, Any]]:
        self.run.client.clear()
        self.run.feed(*messages).run()
        lines = [json.loads(message.data) for message in self.run.client if isinstance(message, Written)]
        for line in lines:
            self.judge.from_agent(line)
        return lines

    def say(self, **members: Any) -> list[Message]:
        """What follows toward the agent from a message of the client."""
        self.run.agent.clear()
        self.run.feed(Line(data=json.dumps({"jsonrpc": "2.0", **members}).encode())).run()
        return self.run.agent


@pytest.mark.parametrize(
    ("message", "method", "params"),
    [
        (
            FORM,
            "elicitation/create",
            {
                "mode": "form",
                "sessionId": S,
                "message": "who?",
                "requestedSchema": {"type": "object", "properties": {}},
            },
        ),
        (
            URL,
            "elicitation/create",
            {"mode": "url", "sessionId": S, "message": "go", "url": "https://x.test", "elicitationId": "e"},
        ),
        (
            CHOICE,
            "session/request_permission",
            {
                "sessionId": S,
                "toolCall": {"toolCallId": "x", "title": "Which?"},
                "options": [{"optionId": "choice-0", "name": "A", "kind": "allow_once"}],
            },
        ),
    ],
)
def test_asked(message: Message, method: str, params: dict[str, Any]) -> None:
    """A form, a URL and a choice are asked each in its own way, and are legal ACP."""
    [line] = Client().feed(message)
    assert (line["method"], line["params"]) == (method, params)


def test_a_questions_call() -> None:
    """A form about a call names it."""
    [line] = Client().feed(Question(session=S, ask="q", tool_use="x", message="?", schema=FORM.schema))
    assert line["params"]["toolCallId"] == "x"


@pytest.mark.parametrize(
    ("asked", "result", "action", "content", "option"),
    [
        (FORM, {"action": "accept", "content": {"a": 1, "b": ["c"]}}, "accept", {"a": 1, "b": ["c"]}, None),
        (FORM, {"action": "accept"}, "accept", None, None),
        (FORM, {"action": "decline"}, "decline", None, None),
        (FORM, {"action": "cancel"}, "cancel", None, None),
        (CHOICE, {"outcome": {"outcome": "selected", "optionId": "choice-0"}}, "accept", None, "choice-0"),
        (CHOICE, {"outcome": {"outcome": "cancelled"}}, "cancel", None, None),
    ],
)
def test_answered(asked: Message, result: Any, action: Any, content: Any, option: str | None) -> None:
    """What the client answers, in one word."""
    client = Client()
    [line] = client.feed(asked)
    reply = ElicitationReply(session=S, ask="q", action=action, content=content, option=option)
    assert client.say(id=line["id"], result=result) == [reply]


@pytest.mark.parametrize(
    ("asked", "answer", "code"),
    [
        (FORM, {"result": {"action": 3}}, INVALID_PARAMS),
        (FORM, {"result": None}, INVALID_PARAMS),
        (CHOICE, {"result": {"action": "accept"}}, INVALID_PARAMS),
        (FORM, {"error": {"code": -32601, "message": "no"}}, -32601),
    ],
)
def test_no_answer(asked: Message, answer: dict[str, Any], code: int) -> None:
    """An answer that is none, and an error, are failures: whoever asked is told."""
    client = Client()
    [line] = client.feed(asked)
    [reply] = client.say(id=line["id"], **answer)
    assert isinstance(reply, ElicitationReply)
    assert reply.failure is not None
    assert reply.failure.code == code


def test_taken_back() -> None:
    """A withdrawn question is cancelled at the client by its id, and its late answer is nobody's."""
    client = Client()
    [line] = client.feed(FORM)
    [cancel] = client.feed(AskWithdrawn(session=S, ask="q"))
    assert (cancel["method"], cancel["params"]) == ("$/cancel_request", {"requestId": line["id"]})
    assert client.say(id=line["id"], result={"action": "accept"}) == []


def test_completed() -> None:
    """The end of what a URL asked for is a notification."""
    [line] = Client().feed(ElicitationCompleted(session=S, elicitation="e"))
    assert (line["method"], line["params"]) == ("elicitation/complete", {"elicitationId": "e"})


def test_nobody_to_ask() -> None:
    """A client that is gone is asked nothing: the answer is a cancel."""
    client = Client()
    client.feed(Closing())
    client.run.agent.clear()
    assert client.feed(FORM) == []
    assert client.run.agent == [ElicitationReply(session=S, ask="q")]


def request(**members: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "q", "request": {"subtype": "elicitation", **members}}


def test_a_server_asks() -> None:
    """Claude Code's `elicitation` is an ask in the same words; one with a URL and no address is cancelled at once."""
    form = request(mcp_server_name="srv", message="who?", mode="form", requested_schema={"type": "object"})
    assert control.ask_of(S, form) == Elicitation(
        session=S, ask="q", message="who?", schema={"type": "object"}, server="srv"
    )
    url = request(message="go", mode="url", url="https://x.test", elicitation_id="e")
    assert control.ask_of(S, url) == URL
    refused = control.ask_of(S, request(mode="url", message="go"))
    assert not isinstance(refused, Message)
    assert refused["response"]["response"] == {"action": "cancel"}


PAYLOAD = {"originalModel": "Fable 5", "fallbackModel": "Opus 4.8", "apiRefusalCategory": "cyber", "guidanceText": "G"}


def dialog(kind: str = "refusal_fallback_prompt", **payload: Any) -> dict[str, Any]:
    members = {"subtype": "request_user_dialog", "dialog_kind": kind, "payload": payload}
    return {"type": "control_request", "request_id": "q", "request": members}


def test_a_dialog() -> None:
    """Claude Code's dialog about a declined request is an ask in its words; what it leaves out is not there."""
    asked = RefusalAsk(session=S, ask="q", original_model="Fable 5", fallback_model="Opus 4.8")
    assert (
        control.ask_of(S, dialog(originalModel="Fable 5", fallbackModel="Opus 4.8", apiRefusalCategory=None)) == asked
    )
    whole = control.ask_of(S, dialog(**PAYLOAD))
    assert isinstance(whole, RefusalAsk)
    assert (whole.category, whole.guidance) == ("cyber", "G")


@pytest.mark.parametrize(
    "request_",
    [
        dialog("something_new", **PAYLOAD),
        dialog(originalModel="a"),
        dialog(originalModel="a", fallbackModel=3),
        {"request_id": "q", "request": {"subtype": "request_user_dialog"}},
    ],
)
def test_no_dialog(request_: dict[str, Any]) -> None:
    """A dialog of another kind, or one without its models, is cancelled at once: Claude Code goes on without it."""
    refused = control.ask_of(S, request_)
    assert not isinstance(refused, Message)
    assert refused["response"]["response"] == {"behavior": "cancelled"}


def test_a_dialog_is_answered() -> None:
    """What was chosen is a result; without anybody who chose, the dialog is cancelled."""
    chosen = control.response_to(DialogAnswer(session=S, ask="q", result="retry_fallback"))["response"]
    assert chosen["response"] == {"behavior": "completed", "result": "retry_fallback"}
    for ask in (
        Dialog(session=S, ask="q", message="?"),
        RefusalAsk(session=S, ask="q", original_model="", fallback_model=""),
    ):
        assert control.response_to(ask.denied("no"))["response"]["response"] == {"behavior": "cancelled"}


def test_a_server_is_answered() -> None:
    """The answer has an object where there is one; a question that is denied is a tool that does not run."""
    accept = ElicitationAnswer(session=S, ask="q", action="accept", content={"a": 1})
    assert control.response_to(accept)["response"] == {
        "subtype": "success",
        "request_id": "q",
        "response": {"action": "accept", "content": {"a": 1}},
    }
    assert control.response_to(FORM.denied("no"))["response"]["response"] == {"action": "cancel"}
    assert CHOICE.denied("no") == PermissionAnswer(session=S, ask="q", decision="deny", message="no")


def test_frames() -> None:
    """What Claude Code says of itself, its commands, its tasks, and of questions that are done."""
    started = {
        "type": "system",
        "subtype": "init",
        "mcp_servers": [{"name": "a", "status": "failed"}, 3],
        "terminal_slash_commands": ["color"],
        "capabilities": ["x"],
    }
    assert events.messages_of(S, started) == (
        ClaudeStarted(session=S, mcp_servers=(("a", "failed"),), terminal_commands=("color",), capabilities=("x",)),
    )
    commands = {"type": "system", "subtype": "commands_changed", "commands": [{"name": "a"}, "b"]}
    assert events.messages_of(S, commands) == (Commands(session=S, commands=({"name": "a"},)),)
    done = {"type": "system", "subtype": "elicitation_complete", "elicitation_id": "e"}
    assert events.messages_of(S, done) == (ElicitationCompleted(session=S, elicitation="e"),)
    assert events.messages_of(S, {**done, "elicitation_id": None}) == ()
    task = {
        "type": "system",
        "subtype": "task_started",
        "task_id": "t",
        "subagent_type": "Explore",
        "description": "D",
        "prompt": "P",
        "task_type": "local_agent",
        "run_id": "r",
    }
    assert events.messages_of(S, task) == (
        Task(
            session=S,
            task="t",
            state="running",
            subagent=True,
            run="r",
            kind="local_agent",
            subagent_type="Explore",
            description="D",
            prompt="P",
        ),
    )
    failed = {"type": "system", "subtype": "task_updated", "task_id": "t", "patch": {"status": "failed", "error": "E"}}
    [ended] = events.messages_of(S, failed)
    assert isinstance(ended, Task)
    assert (ended.state, ended.error) == ("ended", "E")


def test_a_forks_placeholder() -> None:
    """In a subagent's messages a result of the very call that began it is no result (reference S6)."""
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("L", "w")]
    frame = {"type": "user", "parent_tool_use_id": "L", "message": {"content": results}}
    assert [message.tool_use for message in events.messages_of(S, frame) if isinstance(message, ToolResult)] == ["w"]


def test_calls() -> None:
    """What a stage may ask of Claude Code is listed, with the arguments that are passed on."""
    assert CALLS == {
        "mcp_status": (),
        "mcp_reconnect": ("serverName",),
        "mcp_toggle": ("serverName", "enabled"),
        "mcp_authenticate": ("serverName",),
        "get_settings": (),
        "get_usage": (),
    }
