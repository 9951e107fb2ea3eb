"""The client end alone in a pipeline: lines in, the words of the stages out, and the other way."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpbridge import handshake, wire
from acpbridge.client_end import ClientEnd, Line, LineTooLong, Written
from middleware import Message, Pipeline, StepRunner, acp
from middleware.errors import Failure
from middleware.messages import (
    Ask,
    AskWithdrawn,
    Cancel,
    CancelRequest,
    Closing,
    Initialized,
    Interrupted,
    PermissionAnswer,
    PermissionAsk,
    PermissionReply,
    PermissionRequest,
    Prompt,
    PromptState,
    Request,
    RequestFailed,
    Response,
    SessionClosed,
    SessionOpened,
    Text,
    TokenCount,
    ToolGate,
    ToolGateAnswer,
    TurnEnded,
)
from tests.acp.judge import REQUESTS as DEFINITIONS
from tests.acp.judge import RESULTS, Judge
from tests.acp.sampler import Sampler
from tests.core import logged

REQUESTS = sorted(
    name
    for (name, kind), method in acp.METHODS.items()
    if kind == "request" and method.side == "agent" and name != "initialize"
)
SECRET = "do-not-repeat-this"


class Alone:
    """A client end by itself, and a judge of all that passes."""

    def __init__(self, *, judged: bool = True, raise_failures: bool = True, **arguments: Any) -> None:
        numbers = itertools.count(1)
        self.stage = ClientEnd(new_uuid=lambda: f"uuid-{next(numbers)}", **arguments)
        self.runner = StepRunner(Pipeline([self.stage]), raise_failures=raise_failures)
        self.judge = Judge()
        self._judged = judged

    def says(self, *messages: dict[str, Any] | bytes) -> list[Message]:
        """The client writes; what of it goes toward the agent."""
        for message in messages:
            if isinstance(message, dict):
                whole = {"jsonrpc": "2.0", **message}
                if self._judged:
                    self.judge.from_client(whole)
                message = json.dumps(whole).encode()
            self.runner.feed(Line(data=message))
        self.runner.run()
        return self._take(self.runner.agent)

    def asks(self, method: str, params: Any = None, number: int | str = 1) -> list[Message]:
        """The client makes a request."""
        message: dict[str, Any] = {"id": number, "method": method}
        return self.says(message if params is None else {**message, "params": params})

    def hears(self, *messages: Message) -> list[Any]:
        """The stages say something; what the client reads, judged."""
        self.runner.feed(*messages).run()
        return self.lines()

    def lines(self) -> list[Any]:
        """What the client reads now."""
        lines = []
        for message in self._take(self.runner.client):
            assert isinstance(message, Written), f"{type(message).__name__} left toward the client"
            assert message.data.endswith(b"\n")
            assert message.data.count(b"\n") == 1
            lines.append(json.loads(message.data))
            if self._judged:
                self.judge.from_agent(lines[-1])
        return lines

    def answer(self) -> Any:
        """The one line that the client reads now."""
        [line] = self.lines()
        return line

    @staticmethod
    def _take(messages: list[Message]) -> list[Message]:
        taken = list(messages)
        messages.clear()
        return taken


def only(messages: Iterable[Message]) -> Any:
    [message] = messages
    return message


# ------------------------------------------------------------------------------------------------- requests


@pytest.mark.parametrize("method", REQUESTS)
def test_every_request_of_a_client(method: str) -> None:
    """Each method of ACP reaches the agent as one request with its own params and session, is not answered before the
    agent answers, and then once, with its own result."""
    asked, given = Sampler(method), Sampler(f"{method} result")
    client = Alone()
    for number in range(20):
        params = asked.sample(DEFINITIONS["client", method])
        message = only(client.asks(method, params, number))
        assert client.lines() == []
        if method == "session/prompt":
            assert isinstance(message, Prompt)
            assert list(message.content) == acp.structure(params, acp.PromptRequest).prompt
        else:
            assert isinstance(message, Request)
            assert message.method == method
            assert message.params == acp.structure(params, acp.METHODS[method, "request"].params)
        assert message.request == number
        assert message.session == params.get("sessionId")
        result = acp.structure(given.sample(RESULTS["agent", method]), acp.METHODS[method, "request"].result)
        [line] = client.hears(Response(request=number, result=result))
        assert (line["id"], line["result"]) == (number, acp.unstructure(result))
    assert client.judge.unanswered() == []


def test_a_prompt() -> None:
    """A prompt gets a uuid of its own, and keeps its id, its blocks in their order and its `_meta`."""
    client = Alone()
    blocks = [{"type": "text", "text": "a"}, {"type": "resource_link", "uri": "file:///b", "name": "b"}]
    params = {"sessionId": "s", "prompt": blocks, "_meta": {"k": 1}}
    first, second = only(client.asks("session/prompt", params, "x")), only(client.asks("session/prompt", params, "y"))
    assert first == Prompt(
        session="s",
        request="x",
        prompt="uuid-1",
        content=(acp.TextContent(text="a"), acp.ResourceLink(uri="file:///b", name="b")),
        meta={"k": 1},
    )
    assert second.prompt == "uuid-2"


def test_a_prompt_that_is_a_text() -> None:
    """Some clients send a bare text as the prompt: it is one text block."""
    client = Alone(judged=False)
    message = only(client.asks("session/prompt", {"sessionId": "s", "prompt": "hello"}))
    assert message.content == (acp.TextContent(text="hello"),)


def test_a_request_without_params() -> None:
    """Where all params are optional they may be missing altogether; where one is required the error says which."""
    client = Alone(judged=False)
    assert only(client.asks("session/list")).params == acp.ListSessionsRequest()
    assert client.asks("session/close", number=2) == []
    assert client.answer()["error"]["data"] == [{"path": "sessionId", "problem": "required"}]


@pytest.mark.parametrize("method", ["session/nope", "fs/read_text_file", "session/update", "_x/y", "session/cancel"])
def test_a_method_that_is_not_served(method: str) -> None:
    """A request for a method that no agent has is -32601 and names it: the client's own methods and notifications
    too."""
    client = Alone(judged=False)
    assert client.asks(method, {"sessionId": "s"}) == []
    error = client.answer()["error"]
    assert (error["code"], error["message"]) == (-32601, f'"Method not found": {method}')
    assert error["data"] == {"method": method}


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("session/new", {"cwd": "/", "mcpServers": [{"name": SECRET, "command": "x", "args": [1], "env": []}]}, None),
        ("session/new", {"mcpServers": []}, "cwd"),
        ("session/new", {"cwd": 5, "mcpServers": []}, "cwd"),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": SECRET}, {"type": "text"}]}, None),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": SECRET}]}, "prompt[0].type"),
        ("session/close", [SECRET], ""),
    ],
)
def test_params_that_are_wrong(method: str, params: Any, path: str | None) -> None:
    """Params that ACP does not allow are -32602; the data says where and what, and no value is repeated."""
    client = Alone(judged=False)
    assert client.asks(method, params) == []
    error = client.answer()["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("Invalid params")
    assert all(set(problem) == {"path", "problem"} for problem in error["data"])
    assert path is None or error["data"][0]["path"] == path
    assert SECRET not in json.dumps(error)


def test_a_path_goes_into_the_depth() -> None:
    """The path of a problem leads to the very member."""
    client = Alone(judged=False)
    client.asks("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "a"}, {"type": "text"}]})
    assert client.answer()["error"]["data"] == [{"path": "prompt[1].text", "problem": "required"}]


def test_an_answer_is_written_once() -> None:
    """A second answer to a request, and one to a request that was never made, are not written."""
    client = Alone(raise_failures=False)
    client.asks("session/close", {"sessionId": "s"}, 1)
    with logged() as log:
        client.runner.feed(Response(request=1, result=acp.CloseSessionResponse()))
        client.runner.feed(RequestFailed(request=1, failure=Failure.internal()))
        client.runner.feed(Response(request=2, result=acp.CloseSessionResponse())).run()
    assert [type(message).__name__ for message in client.runner.client].count("Written") == 1
    assert sum("stage ClientEnd failed" in entry for entry in log) == 2


def test_a_request_that_was_not_served() -> None:
    """A failure is written with its code, message and data."""
    client = Alone()
    client.asks("session/close", {"sessionId": "s"}, "a")
    [line] = client.hears(RequestFailed(request="a", failure=Failure.session_not_found("s")))
    assert line == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32002, "message": "Resource not found: s", "data": {"sessionId": "s"}},
    }


def test_the_end_of_a_turn() -> None:
    """A turn's end answers its prompt: with a stop reason, with the tokens that were used, or with an error."""
    client = Alone()
    params = {"sessionId": "s", "prompt": []}
    for number in (1, 2, 3):
        client.asks("session/prompt", params, number)

    def ended(number: int, **members: Any) -> Any:
        [line] = client.hears(TurnEnded(session="s", request=number, prompt=f"uuid-{number}", **members))
        assert line["id"] == number
        return line

    assert ended(1, stop_reason="cancelled")["result"] == {"stopReason": "cancelled"}
    count = TokenCount(input=1, output=2, cache_read=3, cache_write=4)
    result = ended(2, usage=count, model_usage=(("opus", count),))["result"]
    tokens = {
        "totalTokens": 10,
        "inputTokens": 1,
        "outputTokens": 2,
        "cachedInputTokens": 3,
        "cachedWriteTokens": 4,
        "reasoningOutputTokens": 0,
    }
    assert result == {
        "stopReason": "end_turn",
        "usage": {
            "totalTokens": 10,
            "inputTokens": 1,
            "outputTokens": 2,
            "cachedReadTokens": 3,
            "cachedWriteTokens": 4,
        },
        "_meta": {"quota": {"token_count": tokens, "model_usage": [{"model": "opus", "token_count": tokens}]}},
    }
    assert ended(3, failure=Failure.auth_required("log in"))["error"]["code"] == -32000


# ------------------------------------------------------------------------------------------------- initialize


def test_initialize() -> None:
    """`initialize` is answered here, before the stages hear who the client is, raw capabilities and all."""
    client = Alone()
    capabilities = {"fs": {"readTextFile": True}, "_meta": {"terminal_output": True}}
    info = {"name": "editor", "version": "1"}
    message = only(
        client.asks("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info})
    )
    assert client.answer()["result"] == handshake.result()
    assert isinstance(message, Initialized)
    assert message.profile.capabilities == capabilities
    assert message.profile.terminal_output
    assert message.profile.name == "editor"


@pytest.mark.parametrize("version", [1, 2, 99, 65535, "1", "2", " 1 "])
def test_versions_that_are_served(version: Any) -> None:
    """Whoever asks for version 1 or a later one gets 1; a number may come as a text."""
    client = Alone(judged=False)
    assert isinstance(only(client.asks("initialize", {"protocolVersion": version})), Initialized)
    assert client.answer()["result"]["protocolVersion"] == 1


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (0, -32022),
        ("0", -32022),
        (-1, -32602),
        (65536, -32602),
        (1.5, -32602),
        (True, -32602),
        (None, -32602),
        ("one", -32602),
        ("1" * 5000, -32602),
        ([], -32602),
    ],
)
def test_versions_that_are_not_served(version: Any, code: int) -> None:
    """Version 0 is -32022 and says what is supported, what is no version is -32602; another try may follow."""
    client = Alone(judged=False)
    assert client.asks("initialize", {"protocolVersion": version}) == []
    error = client.answer()["error"]
    assert error["code"] == code
    if code == -32022:
        assert error["data"] == {"requested": 0, "supported": [1]}
        assert error["message"].startswith("Unsupported protocol version")
    assert isinstance(only(client.asks("initialize", {"protocolVersion": 1}, 2)), Initialized)
    assert client.answer()["id"] == 2


def test_initialize_without_a_version() -> None:
    """A version must be said."""
    client = Alone(judged=False)
    client.asks("initialize", {})
    assert client.answer()["error"]["data"] == [{"path": "protocolVersion", "problem": "required"}]


def test_initialize_again() -> None:
    """A second `initialize` is answered like the first, and what the client says now holds."""
    client = Alone()
    client.asks("initialize", {"protocolVersion": 1}, 1)
    again = only(client.asks("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": True}}, 2))
    assert again.profile.capabilities == {"terminal": True}
    assert [line["result"] for line in client.lines()] == [handshake.result()] * 2


@pytest.mark.parametrize("capabilities", [None, [], "x", 5])
def test_capabilities_that_are_none(capabilities: Any) -> None:
    """Capabilities that are no object are none."""
    client = Alone(judged=False)
    message = only(client.asks("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}))
    assert message.profile.capabilities == {}


def test_an_initialize_that_was_answered() -> None:
    """A line that has its answer already is taken and not answered again; only that line, and only the first."""
    line = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
    client = Alone(answered=line)
    assert isinstance(only(client.says(line)), Initialized)
    assert client.runner.client == []
    assert isinstance(only(client.says(line)), Initialized)
    assert json.loads(client.runner.client.pop().data)["id"] == 0  # type: ignore[attr-defined]
    another = Alone(answered=line)
    another.says(line.replace(b'"id":0', b'"id":1'))
    assert len(another.runner.client) == 1
    another.says(line)
    assert len(another.runner.client) == 2


# ------------------------------------------------------------------------------------------------- broken input


@pytest.mark.parametrize(("line", "code"), [(b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'{"a":1}', -32600)])
def test_broken_lines(line: bytes, code: int) -> None:
    """What is no message is answered at once, with id null, and the connection goes on."""
    client = Alone()
    assert client.says(line, b"", b" \r") == []
    answer = client.answer()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert only(client.asks("session/close", {"sessionId": "s"})).request == 1


def test_a_line_that_is_too_long() -> None:
    """A line that was skipped for its length is -32600, names the limit, and belongs to no request."""
    client = Alone()
    client.runner.feed(LineTooLong(limit=33554432)).run()
    line = client.answer()
    assert (line["id"], line["error"]["code"]) == (None, -32600)
    assert "33554432" in line["error"]["message"]


@given(
    st.binary(max_size=40)
    | st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=6)
        | st.sampled_from(["2.0", "session/cancel", "s"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), inner)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode())
)
@settings(max_examples=200, deadline=None)
def test_no_line_breaks_it(line: bytes) -> None:
    """Whatever a line holds, it gives at most one message, and the next request is served."""
    client = Alone(judged=False)
    client.runner.feed(Line(data=line)).run()
    assert len(client.runner.sent) <= 1
    client.runner.agent.clear()
    assert only(client.asks("session/close", {"sessionId": "s"}, "the next")).request == "the next"


def test_a_request_on_which_we_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that cannot be taken for a reason of ours is -32603 all the same, without internals, and logged."""

    def fails(method: str, params: Any) -> Any:
        raise RuntimeError("an internal matter")

    monkeypatch.setattr(wire, "lenient_params", fails)
    client = Alone()
    with logged() as log:
        assert client.asks("session/close", {"sessionId": "s"}) == []
    error = client.answer()["error"]
    assert error["code"] == -32603
    assert "internal matter" not in json.dumps(error)
    assert any("an internal matter" in entry for entry in log)


def test_a_result_that_cannot_be_written() -> None:
    """A result, or an error's data, that is no JSON does not leave its request without an answer."""
    client = Alone()
    for number in (1, 2, 3):
        client.asks("session/close", {"sessionId": "s"}, number)
    with logged() as log:
        [first] = client.hears(Response(request=1, result=object()))
        [second] = client.hears(Response(request=2, result=acp.CloseSessionResponse(meta={"x": {1, 2}})))
        [third] = client.hears(RequestFailed(request=3, failure=Failure(-32000, "Log in", {"x": {1, 2}})))
    assert [line["error"]["code"] for line in (first, second, third)] == [-32603, -32603, -32000]
    assert third["error"] == {"code": -32000, "message": "Log in"}
    assert len(log) == 3


# ------------------------------------------------------------------------------------------------- notifications


def test_notifications() -> None:
    """A cancel stops a session's work, `$/cancel_request` gives up a request, by number or text."""
    client = Alone()
    assert client.says({"method": "session/cancel", "params": {"sessionId": "s"}}) == [Cancel(session="s")]
    for request in (3, "three"):
        given = client.says({"method": "$/cancel_request", "params": {"requestId": request}})
        assert given == [CancelRequest(request=request)]
    assert client.lines() == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/cancel", {"sessionId": 5, "x": SECRET}),
        ("session/cancel", None),
        ("session/cancel", [SECRET]),
        ("$/cancel_request", {"requestId": None}),
        ("$/cancel_request", {"requestId": {"x": SECRET}}),
        ("$/progress", {"x": SECRET}),
        ("session/update", {"sessionId": "s", "update": SECRET}),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": SECRET}]}),
        ("mcp/message", {"x": SECRET}),
        ("_extension\nwith a line", {"x": SECRET}),
    ],
)
def test_notifications_that_are_ignored(method: str, params: Any) -> None:
    """What is unknown, malformed, the client's own to handle, or a request without an id, has no effect and no answer;
    what it held is not logged, nor can it write lines into the log."""
    client = Alone(judged=False)
    with logged() as log:
        assert client.says({"method": method, "params": params}) == []
    assert client.lines() == []
    assert len(log) <= 1
    assert SECRET not in "".join(log)
    assert "".join(log).count("\n") <= 1


# ------------------------------------------------------------------------------------------------- permissions


def permission(ask: str = "a1", session: str = "s") -> PermissionRequest:
    return PermissionRequest(
        session=session,
        ask=ask,
        tool_use="t",
        name="Write",
        call=acp.ToolCallUpdate(tool_call_id="t", title="Write a.txt", kind="edit"),
        options=(
            acp.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            acp.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ),
        meta={"k": 1},
    )


def test_a_permission_is_asked() -> None:
    """An ask in the client's words is a request with an id of ours, counted from 0."""
    client = Alone()
    first, second = client.hears(permission("a1"), permission("a2"))
    assert (first["id"], second["id"]) == (0, 1)
    assert first["method"] == "session/request_permission"
    assert first["params"] == {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": "Write a.txt", "kind": "edit"},
        "options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ],
        "_meta": {"k": 1},
    }


def test_the_answer_to_a_permission() -> None:
    """What the client chose goes to its own ask, whatever the order; no choice is `cancelled`."""
    client = Alone()
    client.hears(permission("a1"), permission("a2"))
    second = {"outcome": {"outcome": "selected", "optionId": "no"}, "_meta": {"why": "because"}}
    assert client.says({"id": 1, "result": second}) == [
        PermissionReply(session="s", ask="a2", option="no", meta={"why": "because"})
    ]
    assert client.says({"id": 0, "result": {"outcome": {"outcome": "cancelled"}}}) == [
        PermissionReply(session="s", ask="a1")
    ]
    assert client.judge.unanswered() == []
    assert client.says(json.dumps({"jsonrpc": "2.0", "id": 0, "result": second}).encode()) == []


def test_what_else_the_answer_to_a_permission_says() -> None:
    """`_meta` may stand at the answer or at its outcome; where both say the same thing, the answer's wins."""
    client = Alone()
    client.hears(permission("a1"), permission("a2"))
    outcome = {"outcome": "selected", "optionId": "no", "_meta": {"why": "inside", "who": "me"}}
    assert client.says({"id": 0, "result": {"outcome": outcome}}) == [
        PermissionReply(session="s", ask="a1", option="no", meta={"why": "inside", "who": "me"})
    ]
    assert client.says({"id": 1, "result": {"outcome": outcome, "_meta": {"why": "outside"}}}) == [
        PermissionReply(session="s", ask="a2", option="no", meta={"why": "outside", "who": "me"})
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"outcome": "allow_once"}},
        {"result": {"outcome": {"optionId": "x", "optionKind": "y"}}},
        {"result": {"outcome": {"outcome": "selected"}}},
        {"result": {"outcome": {"outcome": "selected", "optionId": 5}}},
        {"result": {}},
        {"result": None},
        {"result": "yes"},
        {},
        {"error": {"code": -32603, "message": "broken"}},
        {"error": {"code": -32601, "message": "not found", "data": {"x": 1}}},
        {"error": "no object"},
        {"error": None},
    ],
)
def test_an_answer_that_is_none(answer: dict[str, Any]) -> None:
    """A client that fails, or answers what is no answer, gives a failure to that ask alone (clients do: clients 4)."""
    client = Alone(judged=False)
    client.hears(permission("a1"), permission("a2"))
    reply = only(client.says({"id": 0, **answer}))
    assert isinstance(reply, PermissionReply)
    assert (reply.session, reply.ask, reply.option) == ("s", "a1", None)
    assert reply.failure is not None
    given = answer.get("error")
    if isinstance(given, dict):
        assert (reply.failure.code, reply.failure.message) == (given["code"], given["message"])
    assert client.lines() == []
    good = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert only(client.says({"id": 1, "result": good})) == PermissionReply(session="s", ask="a2", option="yes")


def test_an_ask_that_is_withdrawn() -> None:
    """The client is told by `$/cancel_request` that an ask is over, once; what it still answers is nobody's."""
    client = Alone()
    client.hears(permission("a1"), permission("a2"), permission("a1", session="other"))
    [line] = client.hears(AskWithdrawn(session="s", ask="a2"))
    assert (line["method"], line["params"]) == ("$/cancel_request", {"requestId": 1})
    assert client.hears(AskWithdrawn(session="s", ask="a2")) == []
    assert client.hears(AskWithdrawn(session="nobody", ask="a1")) == []
    assert client.says({"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}) == []
    assert client.hears(AskWithdrawn(session="other", ask="a1"))[0]["params"] == {"requestId": 2}
    client.says({"id": 0, "result": {"outcome": {"outcome": "cancelled"}}})
    assert client.hears(AskWithdrawn(session="s", ask="a1")) == []


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (
            PermissionAsk(session="s", ask="a", name="Write"),
            PermissionAnswer(session="s", ask="a", decision="deny", message="The client cannot be asked."),
        ),
        (
            ToolGate(session="s", ask="a", name="Write"),
            ToolGateAnswer(session="s", ask="a", deny="The client cannot be asked."),
        ),
    ],
)
def test_an_ask_without_words(ask: Ask, answer: Message) -> None:
    """An ask that no stage has put into the client's words is denied, and the client hears nothing."""
    client = Alone()
    with logged() as log:
        assert client.hears(ask) == []
    assert client.runner.agent == [answer]
    assert len(log) == 1


# ------------------------------------------------------------------------------------------------- the rest


@pytest.mark.parametrize(
    "message",
    [
        SessionOpened(session="s", cwd="/"),
        SessionClosed(session="s"),
        Interrupted(session="s", dropped=("u",)),
        PromptState(session="s", prompt="u", state="queued"),
    ],
)
def test_what_the_stages_tell_each_other(message: Message) -> None:
    """Bookkeeping of the stages ends here."""
    client = Alone()
    assert client.hears(message) == []
    assert client.runner.agent == []


def test_updates_keep_their_order() -> None:
    """What the agent says is one notification each, in its order, between requests and answers."""
    client = Alone()
    client.asks("session/prompt", {"sessionId": "s", "prompt": []})
    lines = client.hears(
        Text(session="s", text="one"),
        permission(),
        Text(session="s", text="two"),
        TurnEnded(session="s", request=1, prompt="uuid-1"),
    )
    assert [line.get("method", "answer") for line in lines] == [
        "session/update",
        "session/request_permission",
        "session/update",
        "answer",
    ]


def test_closing() -> None:
    """Once the client is gone its lines are no messages any more, open asks are forgotten (the stages settle them),
    new ones are answered for it, and what is owed can still be written."""
    client = Alone()
    client.asks("session/close", {"sessionId": "s"}, 7)
    client.hears(permission("a1"))
    client.runner.feed(Closing()).run()
    assert client.runner.agent.pop() == Closing()
    late = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert client.says(json.dumps({"jsonrpc": "2.0", "id": 0, "result": late}).encode()) == []
    assert client.says(b'{"jsonrpc":"2.0","id":8,"method":"session/list"}', b"{") == []
    assert client.hears(AskWithdrawn(session="s", ask="a1")) == []
    assert client.hears(permission("a2")) == []
    assert client.runner.agent == [PermissionReply(session="s", ask="a2")]
    assert client.hears(Response(request=7, result=acp.CloseSessionResponse()))[0]["result"] == {}
    client.runner.close()
    assert client.lines() == []


def test_nobody_stays_without_an_answer() -> None:
    """When the pipeline ends, a request that nobody answered is an error that says why."""
    client = Alone()
    for number in (1, 2, 3):
        client.asks("session/close", {"sessionId": "s"}, number)
    client.hears(Response(request=2, result=acp.CloseSessionResponse()))
    client.runner.feed(Closing())
    client.runner.close()
    lines = client.lines()
    assert [line["id"] for line in lines] == [1, 3]
    assert all(line["error"]["code"] == -32603 and "closing" in line["error"]["message"] for line in lines)
    assert client.judge.unanswered() == []


def test_instances_share_nothing() -> None:
    """Two connections count and remember for themselves."""
    one, other = Alone(), Alone()
    make: Callable[[], Any] = permission
    assert one.hears(make())[0]["id"] == other.hears(make())[0]["id"] == 0
    assert only(one.says({"id": 0, "result": {"outcome": {"outcome": "cancelled"}}})).ask == "a1"
    assert only(other.says({"id": 0, "result": {"outcome": {"outcome": "cancelled"}}})).ask == "a1"
