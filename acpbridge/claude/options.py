"""The SDK's options for a session, from what the client asked for (reference 9.1).

Layers, later ones win: our defaults, `_meta.claudeCode.options` of the client, what the bridge needs to work. What the
SDK's options cannot carry goes into the `initialize` request instead (the second half of `SessionOptions`), above all a
system prompt, which may be longer than an argument of a command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import attrs
from claude_agent_sdk import ClaudeAgentOptions
from loguru import logger

from middleware import acp

_PASSED = {
    "additionalDirectories": "add_dirs",
    "allowedTools": "allowed_tools",
    "betas": "betas",
    "disallowedTools": "disallowed_tools",
    "effort": "effort",
    "fallbackModel": "fallback_model",
    "maxBudgetUsd": "max_budget_usd",
    "maxThinkingTokens": "max_thinking_tokens",
    "maxTurns": "max_turns",
    "model": "model",
    "outputFormat": "output_format",
    "permissionMode": "permission_mode",
    "plugins": "plugins",
    "settingSources": "setting_sources",
    "skills": "skills",
    "strictMcpConfig": "strict_mcp_config",
    "thinking": "thinking",
    "tools": "tools",
}
"""Options of `_meta.claudeCode.options` that the SDK has under another spelling."""

_INITIALIZE = frozenset({"agents", "appendSubagentSystemPrompt", "planModeInstructions", "title", "toolAliases"})
"""Options that travel in `initialize`, as the client wrote them."""

_ENVIRONMENT = {
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    "CLAUDE_CODE_STARTUP_FAILURE_RESULTS": "1",
}


@attrs.frozen
class SessionOptions:
    """What a Claude Code is started with."""

    sdk: ClaudeAgentOptions
    initialize: Mapping[str, Any]


def session_options(request: acp.NewSessionRequest, session: str) -> SessionOptions:
    """The options of a new session with this id."""
    wished = wished_options(request.meta)
    known = {_PASSED[key]: value for key, value in wished.items() if key in _PASSED and value is not None}
    for key in sorted(wished.keys() - _PASSED.keys() - _INITIALIZE - {"env", "extraArgs", "mcpServers", "settings"}):
        logger.debug("the option {} of _meta.claudeCode.options is not passed on", key)
    known["add_dirs"] = [*known.get("add_dirs", ()), *request.additional_directories]
    # The questions of this tool need elicitation, which is not served yet: without it Claude would ask nobody.
    known["disallowed_tools"] = [*known.get("disallowed_tools", ()), "AskUserQuestion"]
    known.setdefault("setting_sources", ["user", "project", "local"])
    known.setdefault("tools", {"type": "preset", "preset": "claude_code"})
    options = ClaudeAgentOptions(
        **known,
        cwd=request.cwd,
        session_id=session,
        system_prompt={"type": "preset", "preset": "claude_code"},
        include_partial_messages=True,
        mcp_servers={**_mapping(wished, "mcpServers"), **mcp_servers(request.mcp_servers)},
        settings=_settings(wished.get("settings")),
        env={**_environment(wished), **_ENVIRONMENT},
        extra_args={**_extra_arguments(wished), "replay-user-messages": None},
        cli_path=os.environ.get("CLAUDE_CODE_EXECUTABLE") or None,
    )
    initialize = {key: wished[key] for key in _INITIALIZE if key in wished}
    return SessionOptions(options, {**initialize, **_system_prompt(request)})


def wished_options(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """`_meta.claudeCode.options`, as the client wrote it; empty when it is not there or no object."""
    return _mapping(_mapping(meta or {}, "claudeCode"), "options")


def mcp_servers(servers: Any) -> dict[str, Any]:
    """The client's MCP servers in Claude Code's form, by name; the last of a name wins (reference 8.1)."""
    named: dict[str, Any] = {}
    for server in servers:
        match server:
            case acp.McpServerStdio():
                named[server.name] = {
                    "type": "stdio",
                    "command": server.command,
                    "args": list(server.args),
                    "env": {variable.name: variable.value for variable in server.env},
                }
            case acp.McpServerHttp() | acp.McpServerSse():
                named[server.name] = {
                    "type": "http" if isinstance(server, acp.McpServerHttp) else "sse",
                    "url": server.url,
                    "headers": {header.name: header.value for header in server.headers},
                }
            case _:
                logger.info("an MCP server of the type {} is not served", type(server).__name__)
    return named


def _system_prompt(request: acp.NewSessionRequest) -> dict[str, Any]:
    """`systemPrompt` of ACP, else `_meta.systemPrompt`: a text replaces the prompt, `{append}` adds to it."""
    asked: Any = (request.meta or {}).get("systemPrompt")
    if request.system_prompt is not None:
        text = "\n\n".join(block.text for block in request.system_prompt.content if isinstance(block, acp.TextContent))
        asked = text if request.system_prompt.mode == "override" else {"append": text}
    if isinstance(asked, str):
        return {"systemPrompt": [asked]} if asked else {}
    if isinstance(asked, dict) and isinstance(asked.get("append"), str) and asked["append"]:
        return {"appendSystemPrompt": asked["append"]}
    return {}


def _settings(value: Any) -> str | None:
    return json.dumps(value) if isinstance(value, dict) else value if isinstance(value, str) else None


def _environment(wished: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in _mapping(wished, "env").items() if isinstance(value, str)}


def _extra_arguments(wished: Mapping[str, Any]) -> dict[str, str | None]:
    given = _mapping(wished, "extraArgs")
    return {key: value or None for key, value in given.items() if value is None or isinstance(value, str)}


def _mapping(source: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = source.get(key)
    return value if isinstance(value, dict) else {}
