"""Typical messages, written out: what the objects are, and what stands on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import acp
from tests.acp.official import problems

TEXT = {"type": "text", "text": "hello"}

GOLDENS: list[tuple[str, Any, object, dict[str, Any]]] = [
    (
        "InitializeRequest",
        acp.InitializeRequest,
        acp.InitializeRequest(
            protocol_version=1,
            client_capabilities=acp.ClientCapabilities(
                fs=acp.FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=True,
                elicitation=acp.ElicitationCapabilities(form=acp.ElicitationFormCapabilities()),
                meta={"terminal-auth": True},
            ),
            client_info=acp.Implementation(name="editor", title="Editor", version="1.0"),
        ),
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
                "elicitation": {"form": {}},
                "_meta": {"terminal-auth": True},
            },
            "clientInfo": {"name": "editor", "title": "Editor", "version": "1.0"},
        },
    ),
    (
        "InitializeResponse",
        acp.InitializeResponse,
        acp.InitializeResponse(
            protocol_version=1,
            agent_capabilities=acp.AgentCapabilities(
                load_session=True,
                prompt_capabilities=acp.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=acp.McpCapabilities(http=True, sse=True),
                session_capabilities=acp.SessionCapabilities(
                    list=acp.SessionListCapabilities(), fork=acp.SessionForkCapabilities()
                ),
            ),
            auth_methods=[
                acp.AuthMethodTerminal(id="claude-login", name="Log in", args=["--cli"]),
                acp.AuthMethodAgent(id="gateway", name="Gateway"),
            ],
        ),
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {"list": {}, "fork": {}},
            },
            "authMethods": [
                {"type": "terminal", "id": "claude-login", "name": "Log in", "args": ["--cli"]},
                {"id": "gateway", "name": "Gateway"},
            ],
        },
    ),
    (
        "NewSessionRequest",
        acp.NewSessionRequest,
        acp.NewSessionRequest(
            cwd="/home/me",
            mcp_servers=[
                acp.McpServerStdio(name="a", command="run", args=[], env=[]),
                acp.McpServerHttp(name="b", url="https://b", headers=[acp.HttpHeader(name="X", value="y")]),
            ],
        ),
        {
            "cwd": "/home/me",
            "mcpServers": [
                {"name": "a", "command": "run", "args": [], "env": []},
                {"type": "http", "name": "b", "url": "https://b", "headers": [{"name": "X", "value": "y"}]},
            ],
        },
    ),
    (
        "NewSessionResponse",
        acp.NewSessionResponse,
        acp.NewSessionResponse(
            session_id="s",
            modes=acp.SessionModeState(
                current_mode_id="default", available_modes=[acp.SessionMode(id="default", name="Ask")]
            ),
            config_options=[
                acp.SessionConfigSelect(
                    id="model",
                    name="Model",
                    category="model",
                    current_value="opus",
                    options=[acp.SessionConfigSelectOption(value="opus", name="Opus")],
                ),
                acp.SessionConfigBoolean(id="fast", name="Fast", current_value=False),
            ],
        ),
        {
            "sessionId": "s",
            "modes": {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Ask"}]},
            "configOptions": [
                {
                    "type": "select",
                    "id": "model",
                    "name": "Model",
                    "category": "model",
                    "currentValue": "opus",
                    "options": [{"value": "opus", "name": "Opus"}],
                },
                {"type": "boolean", "id": "fast", "name": "Fast", "currentValue": False},
            ],
        },
    ),
    (
        "PromptRequest",
        acp.PromptRequest,
        acp.PromptRequest(
            session_id="s",
            prompt=[
                acp.TextContent(text="hello", annotations=acp.Annotations(audience=["assistant"])),
                acp.ImageContent(data="AA==", mime_type="image/png"),
                acp.AudioContent(data="AA==", mime_type="audio/wav"),
                acp.ResourceLink(name="x.py", uri="file:///x.py", size=3),
                acp.EmbeddedResource(
                    resource=acp.TextResourceContents(text="t", uri="file:///t", mime_type="text/plain")
                ),
                acp.EmbeddedResource(resource=acp.BlobResourceContents(blob="AA==", uri="file:///b")),
            ],
        ),
        {
            "sessionId": "s",
            "prompt": [
                {"type": "text", "text": "hello", "annotations": {"audience": ["assistant"]}},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
                {"type": "resource_link", "name": "x.py", "uri": "file:///x.py", "size": 3},
                {"type": "resource", "resource": {"text": "t", "uri": "file:///t", "mimeType": "text/plain"}},
                {"type": "resource", "resource": {"blob": "AA==", "uri": "file:///b"}},
            ],
        },
    ),
    (
        "PromptResponse",
        acp.PromptResponse,
        acp.PromptResponse(
            stop_reason="end_turn",
            usage=acp.Usage(total_tokens=3, input_tokens=2, output_tokens=1, cached_read_tokens=0),
        ),
        {
            "stopReason": "end_turn",
            "usage": {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1, "cachedReadTokens": 0},
        },
    ),
    (
        "RequestPermissionRequest",
        acp.RequestPermissionRequest,
        acp.RequestPermissionRequest(
            session_id="s",
            tool_call=acp.ToolCallUpdate(tool_call_id="t", title="rm x", kind="execute", raw_input={"command": "rm x"}),
            options=[
                acp.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
                acp.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
            ],
        ),
        {
            "sessionId": "s",
            "toolCall": {"toolCallId": "t", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm x"}},
            "options": [
                {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            ],
        },
    ),
    (
        "RequestPermissionResponse",
        acp.RequestPermissionResponse,
        acp.RequestPermissionResponse(outcome=acp.SelectedPermissionOutcome(option_id="allow")),
        {"outcome": {"outcome": "selected", "optionId": "allow"}},
    ),
    (
        "RequestPermissionResponse",
        acp.RequestPermissionResponse,
        acp.RequestPermissionResponse(outcome=acp.CancelledPermissionOutcome()),
        {"outcome": {"outcome": "cancelled"}},
    ),
    (
        "SessionNotification",
        acp.SessionNotification,
        acp.SessionNotification(
            session_id="s",
            update=acp.ToolCall(
                tool_call_id="t",
                title="Edit x.py",
                kind="edit",
                status="pending",
                content=[acp.Diff(path="/x.py", old_text="a", new_text="b"), acp.Diff(path="/y.py", new_text="c")],
                locations=[acp.ToolCallLocation(path="/x.py", line=0)],
                raw_input={"file_path": "/x.py"},
                meta={"claudeCode": {"toolName": "Edit"}},
            ),
        ),
        {
            "sessionId": "s",
            "update": {
                "sessionUpdate": "tool_call",
                "toolCallId": "t",
                "title": "Edit x.py",
                "kind": "edit",
                "status": "pending",
                "content": [
                    {"type": "diff", "path": "/x.py", "oldText": "a", "newText": "b"},
                    {"type": "diff", "path": "/y.py", "newText": "c"},
                ],
                "locations": [{"path": "/x.py", "line": 0}],
                "rawInput": {"file_path": "/x.py"},
                "_meta": {"claudeCode": {"toolName": "Edit"}},
            },
        },
    ),
    (
        "SessionNotification",
        acp.SessionNotification,
        acp.SessionNotification(
            session_id="s",
            update=acp.ToolCallUpdate(
                tool_call_id="t", status="completed", content=[acp.Content(content=acp.TextContent(text="hello"))]
            ),
        ),
        {
            "sessionId": "s",
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t",
                "status": "completed",
                "content": [{"type": "content", "content": TEXT}],
            },
        },
    ),
    (
        "SessionUpdate",
        acp.SessionUpdate,
        acp.UsageUpdate(used=10, size=200000, cost=acp.Cost(amount=0.25, currency="USD")),
        {
            "sessionUpdate": "usage_update",
            "used": 10,
            "size": 200000,
            "cost": {"amount": 0.25, "currency": "USD"},
        },
    ),
    (
        "SessionUpdate",
        acp.SessionUpdate,
        acp.AgentMessageChunk(content=acp.TextContent(text="hello"), message_id="m1"),
        {"sessionUpdate": "agent_message_chunk", "content": TEXT, "messageId": "m1"},
    ),
    (
        "SessionUpdate",
        acp.SessionUpdate,
        acp.AvailableCommandsUpdate(
            available_commands=[
                acp.AvailableCommand(
                    name="review", description="Review", input=acp.UnstructuredCommandInput(hint="what")
                )
            ]
        ),
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "review", "description": "Review", "input": {"hint": "what"}}],
        },
    ),
    (
        "SetSessionConfigOptionRequest",
        acp.SetSessionConfigOptionRequest,
        acp.SetSessionConfigOptionBoolean(session_id="s", config_id="fast", value=True),
        {"type": "boolean", "sessionId": "s", "configId": "fast", "value": True},
    ),
    (
        "SetSessionConfigOptionRequest",
        acp.SetSessionConfigOptionRequest,
        acp.SetSessionConfigOptionValueId(session_id="s", config_id="model", value="opus"),
        {"sessionId": "s", "configId": "model", "value": "opus"},
    ),
]


@pytest.mark.parametrize(("name", "declared", "value", "wire"), GOLDENS)
def test_golden(name: str, declared: Any, value: object, wire: dict[str, Any]) -> None:
    """The object is written as exactly this, which the schema accepts, and this is read as the object."""
    assert acp.unstructure(value, declared) == wire
    assert not problems(name, wire)
    assert acp.structure(wire, declared) == value
