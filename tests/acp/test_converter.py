"""The converter's rules, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger

from middleware import acp
from middleware.acp import shapes


@pytest.fixture
def dropped() -> Iterator[list[str]]:
    """The debug lines logged while the test runs."""
    lines: list[str] = []
    sink = logger.add(lambda text: lines.append(str(text)), level="DEBUG", format="{level} {message}")
    yield lines
    logger.remove(sink)


def wrong(value: object, declared: object) -> list[str]:
    """The problems that reading a value finds."""
    with pytest.raises(acp.InvalidAcp) as caught:
        acp.structure(value, declared)
    return [str(problem) for problem in caught.value.problems]


# What JSON says it is


@pytest.mark.parametrize(
    ("value", "declared", "problem"),
    [
        ({"sessionId": 3}, acp.CancelNotification, "sessionId: expected a string, got a number"),
        ({"sessionId": None}, acp.CancelNotification, "sessionId: expected a string, got null"),
        ({"used": True, "size": 1}, acp.UsageUpdate, "used: expected an integer, got a boolean"),
        ({"used": "3", "size": 1}, acp.UsageUpdate, "used: expected an integer, got a string"),
        ({"used": 1.5, "size": 1}, acp.UsageUpdate, "used: expected an integer, got a fraction"),
        ({"used": -1, "size": 1}, acp.UsageUpdate, "used: must be at least 0"),
        ({"protocolVersion": 65536}, acp.InitializeRequest, "protocolVersion: must be at most 65535"),
        ({"amount": "1", "currency": "EUR"}, acp.Cost, "amount: expected a number, got a string"),
        ({"amount": False, "currency": "EUR"}, acp.Cost, "amount: expected a number, got a boolean"),
        ({"currentValue": 1}, acp.SessionConfigBoolean, "currentValue: expected a boolean, got a number"),
        ({"severity": "info", "title": ""}, acp.Notice, "title: must have at least 1 character"),
        ({"sessionId": "s", "prompt": "text"}, acp.PromptRequest, "prompt: expected a list, got a string"),
        ({"sessionId": "s", "prompt": {}}, acp.PromptRequest, "prompt: expected a list, got an object"),
        ("foo", acp.LogoutRequest, "expected an object, got a string"),
        ([], acp.LogoutRequest, "expected an object, got a list"),
        ({"stopReason": "done"}, acp.PromptResponse, "stopReason: expected one of"),
    ],
)
def test_values_are_what_json_says(value: object, declared: object, problem: str) -> None:
    """Nothing is converted: not a number to a string, not True to 1, not a string to a list."""
    assert any(found.startswith(problem) for found in wrong(value, declared))


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    """JSON has one kind of number: 1.0 is an integer, and 1 is good where a fraction may stand."""
    usage = acp.structure({"used": 1.0, "size": 2}, acp.UsageUpdate)
    assert (usage.used, type(usage.used)) == (1, int)
    assert acp.structure({"amount": 1, "currency": "EUR"}, acp.Cost).amount == 1


def test_unknown_properties_are_ignored() -> None:
    """A newer peer may send more than we know."""
    assert acp.structure({"sessionId": "s", "new": {"x": 1}}, acp.CancelNotification) == acp.CancelNotification(
        session_id="s"
    )


# Leniency


def test_a_lenient_field_falls_back_to_its_default(dropped: list[str]) -> None:
    """x-deserialize-default-on-error: a value that does not fit counts as absent, is logged, and the value is not."""
    read = acp.structure(
        {"protocolVersion": 1, "clientCapabilities": {"terminal": "secret", "fs": 5}, "clientInfo": {"name": "x"}},
        acp.InitializeRequest,
    )
    assert read == acp.InitializeRequest(protocol_version=1)
    assert [line.split(",")[0] for line in dropped] == [
        "DEBUG ACP: dropped ClientCapabilities.fs",
        "DEBUG ACP: dropped ClientCapabilities.terminal",
        "DEBUG ACP: dropped InitializeRequest.clientInfo",
    ]
    assert "secret" not in "".join(dropped)


def test_an_unknown_member_of_a_lenient_enum_counts_as_absent() -> None:
    """A tool kind of a later version does not lose the tool call."""
    assert acp.structure({"toolCallId": "t", "title": "x", "kind": "dance"}, acp.ToolCall).kind is None


def test_null_is_forgiven_only_where_the_schema_says_so() -> None:
    """x-deserialize-default-on-null: mcpServers may be null, but not wrong, and not absent."""
    assert acp.structure({"cwd": "/", "mcpServers": None}, acp.NewSessionRequest).mcp_servers == []
    assert wrong({"cwd": "/", "mcpServers": {}}, acp.NewSessionRequest) == [
        "mcpServers: expected a list, got an object"
    ]
    assert wrong({"cwd": "/"}, acp.NewSessionRequest) == ["mcpServers: required"]
    assert wrong({"sessionId": "s", "prompt": None}, acp.PromptRequest) == ["prompt: expected a list, got null"]


def test_invalid_items_are_left_out_of_a_lenient_list(dropped: list[str]) -> None:
    """x-deserialize-skip-invalid-items: the good ones stay, in order; a value that is no list counts as absent."""
    entry = {"content": "a", "priority": "high", "status": "pending"}
    plan = acp.structure({"entries": [entry, {"content": "b"}, 7, entry | {"content": "c"}]}, acp.Plan)
    assert [one.content for one in plan.entries] == ["a", "c"]
    assert ["Plan.entries[1]" in dropped[0], "Plan.entries[2]" in dropped[1], len(dropped)] == [True, True, 2]
    assert acp.structure({"entries": "none"}, acp.Plan).entries == []
    assert wrong({}, acp.Plan) == ["entries: required"]


def test_null_and_empty_stay_different_in_a_nullable_lenient_list() -> None:
    """A tool call update without content leaves it alone, an empty list clears it."""
    base = {"toolCallId": "t"}
    assert acp.structure(base | {"content": None}, acp.ToolCallUpdate).content is None
    assert acp.structure(base | {"content": []}, acp.ToolCallUpdate).content == []
    assert acp.unstructure(acp.ToolCallUpdate(tool_call_id="t", content=[])) == {"toolCallId": "t", "content": []}


def test_items_of_a_strict_list_are_strict() -> None:
    """One bad block spoils the prompt, one bad server the session."""
    assert wrong({"sessionId": "s", "prompt": [{"type": "text"}]}, acp.PromptRequest) == ["prompt[0].text: required"]
    assert wrong({"cwd": "/", "mcpServers": [{"type": "http", "name": "x", "url": "u"}]}, acp.NewSessionRequest) == [
        "mcpServers[0].headers: required"
    ]


def test_a_drop_is_logged_once_when_the_rest_is_invalid(dropped: list[str]) -> None:
    """The second reading, which finds the paths, does not log the same drop again."""
    wrong({"sessionId": "s", "prompt": [{"type": "text", "text": "x", "annotations": 1}, {}]}, acp.PromptRequest)
    assert len(dropped) == 1


# Unions


def test_an_unknown_tag_of_a_closed_union_is_an_error() -> None:
    """Protocol version 1 has these content blocks and no others."""
    (problem,) = wrong({"type": "video", "uri": "u"}, acp.ContentBlock)
    assert problem.startswith('type: expected one of "text", "image"')
    assert problem.endswith("got another string")
    assert wrong({}, acp.ContentBlock) == ["type: required"]
    assert wrong(None, acp.ContentBlock) == ["expected an object, got null"]
    assert wrong({"type": ["text"]}, acp.ContentBlock)[0].endswith("got a list")


def test_an_unknown_tag_of_an_open_union_is_kept_raw() -> None:
    """An action of a later version reaches whoever can say what to do about it, as the same object."""
    raw = {"action": "_later", "x": [1]}
    assert acp.structure(raw, acp.CreateElicitationResponse) is raw
    assert acp.unstructure(raw, acp.CreateElicitationResponse) is raw
    assert wrong({"x": 1}, acp.CreateElicitationResponse) == ["action: required"]


@pytest.mark.parametrize(
    ("value", "declared", "path"),
    [
        ({"action": "accept", "content": {"a": {}}}, acp.CreateElicitationResponse, "content.a"),
        ({"state": "idle", "stopReason": "error", "error": 5}, acp.StateUpdate, None),  # lenient
        ({"type": "string", "minLength": -1}, acp.ElicitationPropertySchema, "minLength"),
        ({"type": "text", "text": None}, acp.ContentBlock, "text"),
        ({"type": "http", "name": "n", "command": "c", "args": [], "env": []}, acp.McpServer, "url"),
        ({"outcome": "selected"}, acp.RequestPermissionOutcome, "optionId"),
    ],
)
def test_a_malformed_payload_of_a_known_tag_is_rejected(value: object, declared: object, path: str | None) -> None:
    """It is not demoted to unknown, nor to the untagged member, even if it would fit there."""
    if path is None:
        assert acp.structure(value, declared) == acp.IdleStateUpdate(stop_reason="error")
    else:
        assert wrong(value, declared)[0].startswith(f"{path}: ")


def test_the_member_without_a_tag_is_the_one_that_has_none() -> None:
    """An MCP server without a type is a stdio server, and is written without one."""
    wire = {"name": "n", "command": "c", "args": ["-x"], "env": [{"name": "A", "value": "b"}]}
    server = acp.structure(wire, acp.McpServer)
    assert server == acp.McpServerStdio(name="n", command="c", args=["-x"], env=[acp.EnvVariable(name="A", value="b")])
    assert acp.unstructure(server, acp.McpServer) == wire
    assert wrong({"type": "ws", "name": "n", "url": "u"}, acp.McpServer) == [
        'type: expected one of "http", "sse", "acp" or none, got another string'
    ]
    assert wrong({"name": "n"}, acp.McpServer) == ["command: required", "args: required", "env: required"]


def test_the_declared_type_decides_about_the_tag() -> None:
    """One class serves an update and a permission request: only the first has a tag."""
    update = acp.ToolCallUpdate(tool_call_id="t", status="completed")
    assert acp.unstructure(update) == {"toolCallId": "t", "status": "completed"}
    assert acp.unstructure(update, acp.SessionUpdate) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
    }
    ask = acp.RequestPermissionRequest(session_id="s", tool_call=update, options=[])
    assert acp.unstructure(ask)["toolCall"] == {"toolCallId": "t", "status": "completed"}


def test_one_structure_under_several_tags_has_a_class_for_each() -> None:
    """A chunk's class says whose it is."""
    for tag, cls in (
        ("user_message_chunk", acp.UserMessageChunk),
        ("agent_message_chunk", acp.AgentMessageChunk),
        ("agent_thought_chunk", acp.AgentThoughtChunk),
    ):
        wire = {"sessionUpdate": tag, "content": {"type": "text", "text": "x"}}
        chunk = acp.structure(wire, acp.SessionUpdate)
        assert chunk == cls(content=acp.TextContent(text="x"))
        assert acp.unstructure(chunk, acp.SessionUpdate) == wire


def test_what_is_no_member_is_not_written() -> None:
    """A chunk of nobody has no tag: a programming error, not a message."""
    with pytest.raises(TypeError, match="ContentChunk is no SessionUpdate"):
        acp.unstructure(acp.ContentChunk(content=acp.TextContent(text="x")), acp.SessionUpdate)


def test_members_that_look_different_need_no_tag() -> None:
    """A resource is text or blob, a list of options is flat or grouped, a value is what it is."""
    assert acp.structure({"uri": "u", "blob": "AA=="}, acp.EmbeddedResourceResource) == acp.BlobResourceContents(
        uri="u", blob="AA=="
    )
    grouped = [{"group": "g", "name": "G", "options": [{"value": "v", "name": "V"}]}]
    options = acp.structure(grouped, acp.SessionConfigSelectOptions)
    assert options[0].options == [acp.SessionConfigSelectOption(value="v", name="V")]
    assert acp.unstructure(options, acp.SessionConfigSelectOptions) == grouped
    values = {"a": "x", "b": 1, "c": 1.5, "d": True, "e": ["y"]}
    assert acp.structure({"content": values}, acp.ElicitationAcceptAction).content == values
    assert wrong({"content": {"a": None}}, acp.ElicitationAcceptAction) == [
        "content.a: expected a string or an integer or a number or a boolean or a list, got null"
    ]
    assert wrong({"uri": "u", "blob": 1}, acp.EmbeddedResourceResource) == ["blob: expected a string, got a number"]


def test_a_flattened_object_stands_beside_the_others() -> None:
    """An elicitation's scope is one field here and spread on the wire; a request id of null is written."""
    request = acp.ElicitationUrlMode(
        message="m", elicitation_id="e", url="u", scope=acp.ElicitationRequestScope(request_id=None)
    )
    wire = {"mode": "url", "message": "m", "elicitationId": "e", "url": "u", "requestId": None}
    assert acp.unstructure(request, acp.CreateElicitationRequest) == wire
    assert acp.structure(wire, acp.CreateElicitationRequest) == request
    del wire["requestId"]
    assert wrong(wire, acp.CreateElicitationRequest) == ["sessionId: required"]
    assert wrong(wire | {"sessionId": 1}, acp.CreateElicitationRequest) == [
        "sessionId: expected a string, got a number"
    ]


# What is passed on


class Untouchable(dict[str, Any]):
    """A dict that may be handed on and not looked into."""

    def _refuse(self, *_: object) -> Any:
        raise AssertionError("raw JSON was walked")

    __iter__ = __getitem__ = __contains__ = keys = values = items = get = copy = _refuse


def test_meta_is_the_same_object_both_ways() -> None:
    """`_meta` belongs to others: it is neither copied nor changed."""
    meta = {"claudeCode": {"x": [1, None]}, "snake_case": None}
    read = acp.structure({"sessionId": "s", "_meta": meta}, acp.CancelNotification)
    assert read.meta is meta
    assert acp.unstructure(read)["_meta"] is meta
    assert acp.structure({"sessionId": "s", "_meta": [1]}, acp.CancelNotification).meta is None


def test_raw_json_is_not_walked() -> None:
    """A tool's input and output may be megabytes: writing hands them on."""
    raw = Untouchable(big="x")
    call = acp.ToolCall(tool_call_id="t", title="T", raw_input=raw, raw_output=raw, meta=raw)
    wire = acp.unstructure(call, acp.SessionUpdate)
    assert wire["rawInput"] is wire["rawOutput"] is wire["_meta"] is raw
    read = acp.structure({"toolCallId": "t", "title": "T", "rawInput": raw}, acp.ToolCall)
    assert read.raw_input is raw


def test_a_required_value_of_any_kind_may_be_null() -> None:
    """`result` of mcp/message is any JSON, and stays."""
    read = acp.structure({"result": None}, acp.MessageMcpResponse)
    assert acp.unstructure(read, acp.MessageMcpResponse) == {"result": None}


# What is left out


def test_absent_instead_of_null() -> None:
    """None is not written, and null is read as None."""
    assert acp.unstructure(acp.Diff(path="/p", new_text="n", old_text=None)) == {"path": "/p", "newText": "n"}
    written = {"path": "/p", "newText": "n", "oldText": None}
    assert acp.structure(written, acp.Diff) == acp.Diff(path="/p", new_text="n")
    assert acp.unstructure(acp.CancelRequestNotification(request_id=None)) == {"requestId": None}, "required"


@pytest.mark.parametrize(
    ("cls", "field", "value", "written"),
    [
        (acp.SessionInfoUpdate, "title", "t", "t"),
        (acp.SubagentUpdate, "cwd", "/tree", "/tree"),
        (acp.SubagentUpdate, "state", acp.RunningStateUpdate(), {"state": "running"}),
        (acp.SubagentUpdate, "capabilities", acp.SubagentSessionCapabilities(), {}),
        (acp.SubagentUpdate, "additional_directories", ["/a"], ["/a"]),
    ],
)
def test_null_takes_a_value_away(cls: Any, field: str, value: Any, written: Any) -> None:
    """In an object that says what changed a value, null and nothing are three things, in both directions."""
    needed = {"session_id": "c"} if cls is acp.SubagentUpdate else {}
    name = shapes.wire_name(field)
    for given, said in (({field: value}, {name: written}), ({field: acp.NULL}, {name: None}), ({}, {})):
        wire = {**({"sessionId": "c"} if needed else {}), **said}
        made = cls(**needed, **given)
        assert acp.unstructure(made) == wire
        assert acp.structure(wire, cls) == made


def test_defaults_are_left_out_but_for_strings() -> None:
    """`false` and empty lists mean the same as nothing; `type: "object"` is written for clients that fill in none."""
    assert acp.unstructure(acp.InitializeResponse(protocol_version=1)) == {"protocolVersion": 1}
    capabilities = acp.AgentCapabilities(prompt_capabilities=acp.PromptCapabilities(image=True))
    assert acp.unstructure(capabilities) == {"promptCapabilities": {"image": True}}
    assert acp.unstructure(acp.ElicitationSchema()) == {"type": "object"}


def test_a_tuple_is_written_as_a_list() -> None:
    """A stage may keep its lists as tuples."""
    request = acp.PromptRequest(session_id="s", prompt=(acp.TextContent(text="x"),))
    assert acp.unstructure(request)["prompt"] == [{"type": "text", "text": "x"}]
    assert acp.unstructure(acp.AuthMethodTerminal(id="i", name="n", args=("-x",)))["args"] == ["-x"]


# Errors


def test_an_error_names_every_problem_with_its_path() -> None:
    """The text of -32602 says where and what, and never contains a part of the value."""
    value = {
        "sessionId": 1,
        "prompt": [{"type": "text", "text": "x"}, {"type": "text", "text": 5}, {"type": "secret"}, "secret"],
    }
    with pytest.raises(acp.InvalidAcp) as caught:
        acp.structure(value, acp.PromptRequest)
    assert caught.value.path == "sessionId"
    assert [problem.path for problem in caught.value.problems] == [
        "sessionId",
        "prompt[1].text",
        "prompt[2].type",
        "prompt[3]",
    ]
    text = str(caught.value)
    assert text.startswith(
        "sessionId: expected a string, got a number; prompt[1].text: expected a string, got a number"
    )
    assert "secret" not in text


def test_many_problems_make_a_short_text() -> None:
    """A list of a thousand wrong blocks does not make a message of a thousand lines."""
    with pytest.raises(acp.InvalidAcp, match=r"prompt\[4\].type: required; and 995 more$") as caught:
        acp.structure({"sessionId": "s", "prompt": [{}] * 1000}, acp.PromptRequest)
    assert len(caught.value.problems) == 1000


# The objects and the tables


def test_objects_are_values() -> None:
    """Equal by content and class, hashable when their content is, frozen; the repr leaves defaults out."""
    text = acp.TextContent(text="x")
    assert text == acp.TextContent(text="x")
    assert hash(text) == hash(acp.TextContent(text="x"))
    assert text != acp.TextContent(text="y")
    assert acp.AgentMessageChunk(content=text) != acp.UserMessageChunk(content=text)
    assert repr(acp.AgentMessageChunk(content=text)) == "AgentMessageChunk(content=TextContent(text='x'))"
    with pytest.raises(AttributeError):
        text.text = "y"  # type: ignore[misc]


def test_the_methods_say_what_they_carry() -> None:
    """A row per (method, kind): its types, and the end that handles it."""
    prompt = acp.METHODS["session/prompt", "request"]
    assert (prompt.params, prompt.result, prompt.side) == (acp.PromptRequest, acp.PromptResponse, "agent")
    assert acp.METHODS["session/update", "notification"].side == "client"
    assert acp.METHODS["$/cancel_request", "notification"].side == "both"
    assert acp.METHODS["session/set_config_option", "request"].params == acp.SetSessionConfigOptionRequest
    assert ("session/prompt", "notification") not in acp.METHODS
