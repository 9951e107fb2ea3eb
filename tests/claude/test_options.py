"""What a Claude Code is started with: the layers of reference 9.1, MCP servers, system prompts, and what stays out of
the command line and the log."""

from __future__ import annotations

import json
from typing import Any

import pytest
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport
from hypothesis import given, settings
from hypothesis import strategies as st

from acpbridge.claude import options
from acpbridge.claude.client_options import WrongOption
from acpbridge.claude.options import SessionOptions, session_options
from acpbridge.claude.private_files import without_arguments
from middleware import acp
from tests.core import logged

SESSION = "0b9f2c52-3f3e-4d1c-9a53-6f0a4e1f2b11"
SECRET = "do-not-tell"


def made(wished: Any = None, meta: dict[str, Any] | None = None, **members: Any) -> SessionOptions:
    """The options for a client that wishes this in `_meta.claudeCode.options`."""
    both = {**(meta or {}), **({"claudeCode": {"options": wished}} if wished is not None else {})}
    params = {"cwd": "/project", "mcpServers": [], "_meta": both, **members}
    return session_options(acp.structure(params, acp.NewSessionRequest), SESSION)


def arguments(made: SessionOptions) -> list[str]:
    """Claude Code's command line, as the SDK builds it."""
    transport = SubprocessCLITransport("", without_arguments(made.sdk)[0])
    transport._cli_path = "claude"
    return transport._build_command()


def argument(made: SessionOptions, flag: str) -> str | None:
    given = arguments(made)
    return given[given.index(flag) + 1] if flag in given else None


# ------------------------------------------------------------------------------------------------- layers


def test_the_defaults() -> None:
    """Without a wish: all settings, all tools, Claude Code's own prompt, streamed messages and echoes."""
    given = arguments(made())
    assert f"--session-id={SESSION}" in given
    assert "--setting-sources=user,project,local" in given
    assert argument(made(), "--tools") == "default"
    assert "--include-partial-messages" in given
    assert "--replay-user-messages" in given
    assert "--system-prompt" not in given
    assert "--mcp-config" not in given
    assert made().sdk.cwd == "/project"
    assert (
        made().sdk.env.items()
        >= {
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
            "CLAUDE_CODE_STARTUP_FAILURE_RESULTS": "1",
        }.items()
    )


PASSED: list[tuple[str, Any, str, str]] = [
    ("model", "opus", "--model", "opus"),
    ("fallbackModel", "haiku", "--fallback-model", "haiku"),
    ("permissionMode", "plan", "--permission-mode", "plan"),
    ("effort", "high", "--effort", "high"),
    ("maxTurns", 3, "--max-turns", "3"),
    ("maxBudgetUsd", 1.5, "--max-budget-usd", "1.5"),
    ("maxThinkingTokens", 1024, "--max-thinking-tokens", "1024"),
    ("allowedTools", ["Read", "Bash(ls:*)"], "--allowedTools", "Read,Bash(ls:*)"),
    ("disallowedTools", ["Write"], "--disallowedTools", "Write"),
    ("tools", ["Read", "Write"], "--tools", "Read,Write"),
    ("tools", [], "--tools", ""),
    ("tools", {"type": "preset", "preset": "claude_code"}, "--tools", "default"),
    ("betas", ["one", "two"], "--betas", "one,two"),
    ("plugins", [{"type": "local", "path": "/p"}], "--plugin-dir", "/p"),
    ("thinking", {"type": "adaptive"}, "--thinking", "adaptive"),
    ("thinking", {"type": "adaptive", "display": "omitted"}, "--thinking-display", "omitted"),
    ("thinking", {"type": "disabled", "display": "omitted"}, "--thinking", "disabled"),
    ("thinking", {"type": "enabled", "budgetTokens": 2048}, "--max-thinking-tokens", "2048"),
    ("thinking", {"type": "enabled", "budget_tokens": 2048}, "--max-thinking-tokens", "2048"),
    ("thinking", {"type": "enabled"}, "--thinking", "adaptive"),
    ("outputFormat", {"type": "json_schema", "schema": {"type": "object"}}, "--json-schema", '{"type": "object"}'),
    ("skills", ["pdf"], "--allowedTools", "Skill(pdf)"),
    ("skills", "all", "--allowedTools", "Skill"),
    ("settings", "mine.json", "--settings", "mine.json"),
    ("additionalDirectories", ["/a"], "--add-dir", "/a"),
    ("extraArgs", {"debug-file": "/log"}, "--debug-file", "/log"),
    ("extraArgs", {"max-turns": 3}, "--max-turns", "3"),
]


@pytest.mark.parametrize(("option", "value", "flag", "argued"), PASSED)
def test_options_of_the_client(option: str, value: Any, flag: str, argued: str) -> None:
    """Each option of the client that Claude Code has a flag for ends up as that flag."""
    assert argument(made({option: value}), flag) == argued


def test_flags_without_a_value() -> None:
    """Flags may have none: null, or an empty text as TypeScript writes it."""
    given = arguments(made({"strictMcpConfig": True, "extraArgs": {"one": None, "two": ""}}))
    assert {"--strict-mcp-config", "--one", "--two"} <= set(given)
    assert "" not in given[given.index("--one") :]
    assert "--strict-mcp-config" not in arguments(made({"strictMcpConfig": False}))


def test_setting_sources() -> None:
    """The client says which settings are read; none at all is a choice too."""
    assert "--setting-sources=user" in arguments(made({"settingSources": ["user"]}))
    assert "--setting-sources=" in arguments(made({"settingSources": []}))


def test_what_the_bridge_needs_wins() -> None:
    """Flags that the bridge depends on cannot be taken from it, and are named in the log."""
    extra = {"permission-prompt-tool": "mine", "output-format": "text", "--input-format": "text", "session-id": "x"}
    with logged() as log:
        given = arguments(made({"extraArgs": {**extra, "replay-user-messages": "no"}}))
    assert "mine" not in given
    assert given.count("--output-format") == given.count("--input-format") == 1
    assert given[given.index("--output-format") + 1] == "stream-json"
    assert "no" not in given
    assert len(log) == len(extra)


def test_variables() -> None:
    """The client's variables reach Claude Code, and ours win; null is no variable."""
    sdk = made({"env": {"A": "1", "B": None, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "0"}}).sdk
    assert sdk.env["A"] == "1"
    assert "B" not in sdk.env
    assert sdk.env["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"] == "1"


def test_directories() -> None:
    """The client's option, then ACP's directories; the older `_meta.additionalRoots` where ACP names none."""
    wished = {"additionalDirectories": ["/a"]}
    assert made(wished, additionalDirectories=["/b"]).sdk.add_dirs == ["/a", "/b"]
    assert made(wished, {"additionalRoots": ["/c", 5]}).sdk.add_dirs == ["/a", "/c"]
    assert made(wished, {"additionalRoots": ["/c"]}, additionalDirectories=["/b"]).sdk.add_dirs == ["/a", "/b"]


def test_no_tools_of_its_own() -> None:
    """`_meta.disableBuiltInTools` takes Claude Code's own tools away, unless the client lists tools."""
    assert argument(made(meta={"disableBuiltInTools": True}), "--tools") == ""
    assert argument(made(meta={"disableBuiltInTools": "yes"}), "--tools") == "default"
    assert argument(made({"tools": ["Read"]}, {"disableBuiltInTools": True}), "--tools") == "Read"


def test_which_claude_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLAUDE_CODE_EXECUTABLE names the Claude Code to use; empty is none."""
    monkeypatch.setenv("CLAUDE_CODE_EXECUTABLE", "/opt/claude")
    assert made().sdk.cli_path == "/opt/claude"
    for nothing in ("", None):
        if nothing is None:
            monkeypatch.delenv("CLAUDE_CODE_EXECUTABLE")
        else:
            monkeypatch.setenv("CLAUDE_CODE_EXECUTABLE", nothing)
        assert made().sdk.cli_path is None


@pytest.mark.parametrize("meta", [{}, {"claudeCode": None}, {"claudeCode": []}, {"claudeCode": {"options": "x"}}])
def test_no_options_at_all(meta: dict[str, Any]) -> None:
    """`_meta` without usable options is one without wishes."""
    assert arguments(made(meta=meta)) == arguments(made())


def test_null_is_absent() -> None:
    """An option that is null is one that was not given."""
    names = [name for name, *_ in PASSED] + ["env", "extraArgs", "mcpServers", "systemPrompt", "agents", "title"]
    assert arguments(made(dict.fromkeys(names))) == arguments(made())
    assert made(dict.fromkeys(names)).initialize == made().initialize


# ------------------------------------------------------------------------------------------------- what is wrong

WRONG: list[tuple[str, Any]] = [
    ("model", 5),
    ("model", [SECRET]),
    ("allowedTools", SECRET),
    ("allowedTools", [5]),
    ("disallowedTools", {}),
    ("additionalDirectories", SECRET),
    ("settingSources", "user"),
    ("maxTurns", SECRET),
    ("maxTurns", True),
    ("strictMcpConfig", "yes"),
    ("tools", 5),
    ("skills", SECRET),
    ("plugins", [{"type": "remote", "path": SECRET}]),
    ("plugins", [{"type": "local"}]),
    ("plugins", {}),
    ("thinking", "on"),
    ("thinking", {"type": "enabled", "budgetTokens": SECRET}),
    ("thinking", {"type": SECRET}),
    ("outputFormat", "json"),
    ("settings", 5),
    ("env", [SECRET]),
    ("env", {"KEY": 5}),
    ("extraArgs", SECRET),
    ("extraArgs", {"x": [SECRET]}),
    ("extraArgs", {"x": True}),
    ("mcpServers", [SECRET]),
    ("mcpServers", {"x": SECRET}),
]


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_an_option_of_the_wrong_shape(option: str, value: Any) -> None:
    """An option that cannot be meant so is refused by its name, without its value."""
    with pytest.raises(WrongOption) as caught:
        made({option: value})
    assert f"_meta.claudeCode.options.{option}" in str(caught.value)
    assert "must be" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_options_that_nobody_knows() -> None:
    """What is not passed on is logged by its name, never with its value, and cannot write lines into the log."""
    with logged() as log:
        made({"apiKeyHelper": SECRET, "brand\nnew": {"token": SECRET}, "model": "opus"})
    assert len(log) == 2
    assert "apiKeyHelper" in log[0]
    assert all(entry.count("\n") == 1 for entry in log)
    assert SECRET not in "".join(log)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "path", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([name for name, *_ in PASSED] + ["env", "mcpServers", "systemPrompt"]), ANY))
@settings(max_examples=200, deadline=None)
def test_no_wish_breaks_it(wished: dict[str, Any]) -> None:
    """Whatever a client wishes, it gets options or is told which one is wrong."""
    try:
        told = str(made(wished).sdk.cwd)
    except WrongOption as error:
        told = str(error)
    assert told == "/project" or "_meta.claudeCode.options." in told


# ------------------------------------------------------------------------------------------------- MCP servers


@pytest.mark.parametrize(
    ("tokens", "display", "argued"),
    [
        ("", "", [None, None, None]),
        ("0", "summarized", ["disabled", None, None]),
        ("4000", "", [None, "4000", None]),
        ("4000", "omitted", [None, "4000", "omitted"]),
        ("", "summarized", ["adaptive", None, "summarized"]),
        ("-1", "loud", [None, None, None]),
        ("many", "omitted", ["adaptive", None, "omitted"]),
    ],
)
def test_thinking_of_the_environment(
    tokens: str, display: str, argued: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment says how much is thought, and how it is shown; what it says wrongly is ignored, and what the
    client says comes before it."""
    monkeypatch.setenv("MAX_THINKING_TOKENS", tokens)
    monkeypatch.setenv("CLAUDE_CODE_THINKING_DISPLAY", display)
    flags = ("--thinking", "--max-thinking-tokens", "--thinking-display")
    assert [argument(made(), flag) for flag in flags] == argued
    assert argument(made({"thinking": {"type": "disabled"}}), "--thinking") == "disabled"
    assert argument(made({"maxThinkingTokens": 7}), "--max-thinking-tokens") == "7"


def test_without_a_record_of_the_system_prompt() -> None:
    """The same options, with a system prompt that is made anew for each request."""
    wished = made({"title": "x"})
    assert "systemPromptSnapshot" not in wished.initialize
    assert wished.unrecorded.initialize == {**wished.initialize, "systemPromptSnapshot": False}
    assert wished.unrecorded.sdk is wished.sdk


def test_mcp_servers() -> None:
    """ACP's servers in Claude Code's form; the last of a name wins, and ACP's win over the client's option."""
    servers = [
        {"name": "files", "command": "old", "args": [], "env": []},
        {"name": "files", "command": "run", "args": ["-x"], "env": [{"name": "A", "value": "1"}]},
        {"type": "http", "name": "web", "url": "https://a", "headers": [{"name": "H", "value": "v"}]},
        {"type": "sse", "name": "old", "url": "https://b", "headers": []},
    ]
    wished = {"mcpServers": {"files": {"command": "wished"}, "mine": {"command": "mine"}}}
    assert made(wished, mcpServers=servers).sdk.mcp_servers == {
        "files": {"type": "stdio", "command": "run", "args": ["-x"], "env": {"A": "1"}},
        "mine": {"command": "mine"},
        "web": {"type": "http", "url": "https://a", "headers": {"H": "v"}},
        "old": {"type": "sse", "url": "https://b", "headers": {}},
    }


def test_mcp_servers_that_cannot_be_reached() -> None:
    """A server over ACP, and one in the client's own process, are left out with a log line."""
    with logged() as log:
        sdk = made(
            {"mcpServers": {"inside": {"type": "sdk", "name": "inside"}}},
            mcpServers=[{"type": "acp", "name": "over", "serverId": "1"}],
        ).sdk
    assert sdk.mcp_servers == {}
    assert len(log) == 2


# ------------------------------------------------------------------------------------------------- system prompts


def acp_prompt(mode: str, *texts: str) -> dict[str, Any]:
    return {"mode": mode, "content": [{"type": "text", "text": text} for text in texts]}


SYSTEM_PROMPTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"systemPrompt": acp_prompt("override", "a", "b")}, {"systemPrompt": ["a\n\nb"]}),
    ({"systemPrompt": acp_prompt("append", "a", "b")}, {"appendSystemPrompt": "a\n\nb"}),
    ({"systemPrompt": acp_prompt("append")}, {}),
    ({"systemPrompt": acp_prompt("override", "")}, {}),
    ({"meta": {"systemPrompt": "mine"}}, {"systemPrompt": ["mine"]}),
    ({"meta": {"systemPrompt": ""}}, {}),
    ({"meta": {"systemPrompt": {"append": "more"}}}, {"appendSystemPrompt": "more"}),
    (
        {"meta": {"systemPrompt": {"append": "more", "excludeDynamicSections": True}}},
        {"appendSystemPrompt": "more", "excludeDynamicSections": True},
    ),
    ({"meta": {"systemPrompt": {"append": 5}}}, {}),
    ({"meta": {"systemPrompt": 5}}, {}),
    (
        {"systemPrompt": acp_prompt("append", "acp"), "meta": {"systemPrompt": "meta"}},
        {"appendSystemPrompt": "acp"},
    ),
    (
        {"systemPrompt": acp_prompt("append", "acp"), "wished": {"systemPrompt": "option"}},
        {"systemPrompt": ["option"]},
    ),
    ({"wished": {"systemPrompt": ["one", "", "two"]}}, {"systemPrompt": ["one", "two"]}),
    (
        {"wished": {"systemPrompt": {"type": "preset", "preset": "claude_code", "append": "more"}}},
        {"appendSystemPrompt": "more"},
    ),
]


@pytest.mark.parametrize(("asked", "sent"), SYSTEM_PROMPTS)
def test_system_prompts(asked: dict[str, Any], sent: dict[str, Any]) -> None:
    """Whoever asks for a prompt, and in whatever form, it travels in `initialize` and never on the command line."""
    plain = made()
    with_prompt = made(**asked)
    extra = {key: value for key, value in with_prompt.initialize.items() if key not in plain.initialize}
    assert extra == sent
    assert arguments(with_prompt) == arguments(plain)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (
            {"mode": "append", "content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
            "systemPrompt content must be text, but received a image block",
        ),
        (acp_prompt("prepend", "x"), "Unsupported systemPrompt mode: prepend"),
    ],
)
def test_system_prompts_that_are_none(prompt: dict[str, Any], text: str) -> None:
    """A prompt that is no text, or that is to be used as nobody knows, is refused in words."""
    with pytest.raises(WrongOption, match=text):
        made(systemPrompt=prompt)


def test_members_of_initialize() -> None:
    """Agents and the like go into `initialize` as the client wrote them."""
    agents = {"reviewer": {"description": "d", "prompt": "p", "unknown": 1}}
    initialize = made({"agents": agents, "title": "T"}).initialize
    assert initialize["agents"] == agents
    assert initialize["title"] == "T"


# ------------------------------------------------------------------------------------------------- secrets


def test_secrets_stay_off_the_command_line() -> None:
    """Headers, variables and settings, which may hold keys, are no arguments; nor does a repr show them."""
    options = made(
        {
            "env": {"KEY": SECRET},
            "settings": {"env": {"TOKEN": SECRET}},
            "mcpServers": {"a": {"type": "http", "url": "https://a", "headers": {"Authorization": SECRET}}},
            "systemPrompt": SECRET,
            "agents": {"a": {"prompt": SECRET}},
        },
        mcpServers=[
            {"name": "b", "command": "run", "args": [], "env": [{"name": "TOKEN", "value": SECRET}]},
            {"type": "http", "name": "c", "url": "https://c", "headers": [{"name": "X", "value": SECRET}]},
        ],
    )
    assert SECRET not in " ".join(arguments(options))
    assert SECRET not in repr(options)
    sdk, files = without_arguments(options.sdk)
    assert [SECRET in file.text for file in files] == [True, True]
    assert SECRET not in repr(files)
    assert json.loads(files[0].text)["mcpServers"].keys() == {"a", "b", "c"}
    assert sdk.mcp_servers == files[0].path


def test_options_have_no_state() -> None:
    """The same request gives the same options."""
    wished = {"allowedTools": ["Read"], "extraArgs": {"a": "b"}, "env": {"A": "1"}}
    assert made(wished).sdk == made(wished).sdk
    assert wished == {"allowedTools": ["Read"], "extraArgs": {"a": "b"}, "env": {"A": "1"}}
    assert options.wished_options(None) == {}
