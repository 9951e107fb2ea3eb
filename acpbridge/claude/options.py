"""The SDK's options for a session, from what the client asked for (reference 9.1).

Layers, later ones win: our defaults, `_meta.claudeCode.options` of the client (`client_options`), what the bridge needs
to work. What the SDK's options cannot carry goes into the `initialize` request instead (the second half of
`SessionOptions`), above all a system prompt, which may be longer than an argument of a command line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import attrs
from claude_agent_sdk import ClaudeAgentOptions
from loguru import logger

from middleware import acp

from . import client_options
from .control import REFUSAL

_ENVIRONMENT = {
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    "CLAUDE_CODE_STARTUP_FAILURE_RESULTS": "1",
}

MCP_HOLDS_FOR = 5.0
"""Seconds after its start for which Claude Code lets servers that still connect hold the first prompt.

Without this variable it is the time that a server has to start (`MCP_TIMEOUT`, 30 s). Those are two things: a server
that is late goes on connecting, its tools come with a later prompt, and the stage `McpServers` names it meanwhile. Five
seconds are enough for a server that a package runner starts from its cache, and a prompt is not yet taken for lost.
"""

_HOLD = "CLAUDE_CODE_MCP_STARTUP_WAIT_MS"


@attrs.frozen
class SessionOptions:
    """What a Claude Code is started with."""

    # Both may hold keys, and a repr gets into logs sooner or later.
    sdk: ClaudeAgentOptions = attrs.field(repr=False)
    initialize: Mapping[str, Any] = attrs.field(repr=False)

    @property
    def unrecorded(self) -> SessionOptions:
        """The same with a system prompt that is made anew for each request.

        Claude Code records it with the first one and sends that ever after, which spares the model's cache; but then
        an agent that is chosen later is answered for by the old prompt.
        """
        return attrs.evolve(self, initialize={**self.initialize, "systemPromptSnapshot": False})


def session_options(
    request: acp.NewSessionRequest, session: str, *, stops_subagents: bool = False, forms: bool = False
) -> SessionOptions:
    """The options of a new session with this id.

    Args:
        request: what the client asked for.
        session: the id.
        stops_subagents: the client can stop one subagent, so that a cancel of the whole spares those in the background
            (reference 7.3, X2). Of any other client a cancel is the only way to stop them.
        forms: the client can be shown a form.

    Raises:
        WrongOption: the client asked for something that no session can be started with.
    """
    wished, meta = wished_options(request.meta), request.meta or {}
    known = client_options.sdk_options(wished)
    additional = request.additional_directories or _texts(meta, "additionalRoots")
    known["add_dirs"] = [*known.get("add_dirs", ()), *additional]
    known.setdefault("setting_sources", ["user", "project", "local"])
    if not {"thinking", "max_thinking_tokens"} & set(known) and (thinking := _thinking()) is not None:
        known["thinking"] = thinking
    preset = {"type": "preset", "preset": "claude_code"}
    known.setdefault("tools", [] if meta.get("disableBuiltInTools") is True else preset)
    options = ClaudeAgentOptions(
        **known,
        cwd=request.cwd,
        session_id=session,
        system_prompt={"type": "preset", "preset": "claude_code"},
        include_partial_messages=True,
        forward_subagent_text=True,  # who is shown it is decided in the stage `Subagents`
        mcp_servers={**client_options.mcp_servers(wished), **mcp_servers(request.mcp_servers)},
        settings=client_options.settings(wished),
        env={**_mcp_hold(), **client_options.environment(wished), **_ENVIRONMENT},
        extra_args={**client_options.extra_arguments(wished), "replay-user-messages": None},
        cli_path=os.environ.get("CLAUDE_CODE_EXECUTABLE") or None,
    )
    initialize: dict[str, Any] = {"perTaskStopAffordance": True} if stops_subagents else {}
    initialize |= client_options.initialize_members(wished)
    initialize |= _system_prompt(request, wished)
    if forms:
        initialize["supportedDialogKinds"] = [REFUSAL]
    return SessionOptions(options, initialize)


def wished_options(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """`_meta.claudeCode.options`, as the client wrote it; empty when it is not there or no object."""
    return _mapping(_mapping(meta or {}, "claudeCode"), "options")


def _mcp_hold() -> dict[str, str]:
    """How long servers may hold the first prompt, unless the user has said so."""
    return {} if _HOLD in os.environ else {_HOLD: str(round(MCP_HOLDS_FOR * 1000))}


def _thinking() -> dict[str, Any] | None:
    """What the environment says of thinking; None leaves it to Claude Code (reference 12)."""
    tokens, display = os.environ.get("MAX_THINKING_TOKENS", ""), os.environ.get("CLAUDE_CODE_THINKING_DISPLAY", "")
    if tokens and not (tokens.isascii() and tokens.isdecimal()):
        logger.warning("MAX_THINKING_TOKENS is no whole number, and is ignored")
        tokens = ""
    if display not in ("", "summarized", "omitted"):
        logger.warning("CLAUDE_CODE_THINKING_DISPLAY is neither summarized nor omitted, and is ignored")
        display = ""
    if tokens and int(tokens[:9]) == 0:
        return {"type": "disabled"}
    shown = {"display": display} if display else {}
    if tokens:
        return {"type": "enabled", "budget_tokens": int(tokens[:9]), **shown}
    return {"type": "adaptive", **shown} if shown else None


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


def _system_prompt(request: acp.NewSessionRequest, wished: Mapping[str, Any]) -> dict[str, Any]:
    """The client's option, else ACP's `systemPrompt`, else `_meta.systemPrompt`; a text replaces Claude Code's own
    prompt, `{append}` adds to it. It never stands on a command line, which is public and may be too short for it."""
    asked: Any = (request.meta or {}).get("systemPrompt")
    if request.system_prompt is not None:
        asked = _acp_system_prompt(request.system_prompt)
    if wished.get("systemPrompt") is not None:
        asked = wished["systemPrompt"]
    if isinstance(asked, str | list):
        parts = [part for part in ([asked] if isinstance(asked, str) else asked) if isinstance(part, str) and part]
        return {"systemPrompt": parts} if parts else {}
    members: dict[str, Any] = {}
    if isinstance(asked, dict):
        if isinstance(asked.get("append"), str) and asked["append"]:
            members["appendSystemPrompt"] = asked["append"]
        if isinstance(asked.get("excludeDynamicSections"), bool):
            members["excludeDynamicSections"] = asked["excludeDynamicSections"]
    return members


def _acp_system_prompt(prompt: acp.SystemPrompt) -> str | dict[str, str]:
    texts = []
    for block in prompt.content:
        if not isinstance(block, acp.TextContent):
            kind = acp.unstructure(block, acp.ContentBlock)["type"]
            raise client_options.WrongOption(f"systemPrompt content must be text, but received a {kind} block")
        texts.append(block.text)
    text = "\n\n".join(texts)
    if prompt.mode == "override":
        return text
    if prompt.mode == "append":
        return {"append": text}
    raise client_options.WrongOption(f"Unsupported systemPrompt mode: {prompt.mode}")


def _texts(source: Mapping[str, Any], key: str) -> list[str]:
    value = source.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _mapping(source: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = source.get(key)
    return value if isinstance(value, dict) else {}
