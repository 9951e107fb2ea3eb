"""What the tap assumes of the SDK and of the real Claude Code. A new release of either shows here what it changed."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError, CLINotFoundError, ProcessError, ResultError
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from acpbridge.claude import control
from acpbridge.claude.tap import ControlError
from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from middleware.messages import PermissionAnswer
from tests.claude.fake_claude import run
from tests.claude.real_claude import RealClaude, is_request, is_result, is_text
from tests.stdio.agent_process import wait_for_file

SERVER = """\
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "a", "version": "1"}}
    tool = {"name": "look", "description": "d", "inputSchema": {"type": "object", "properties": {}}}
    said = {"content": [{"type": "text", "text": "TOKEN is " + os.environ["TOKEN"]}]}
    result = {"initialize": info, "tools/list": {"tools": [tool]}, "tools/call": said}.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
SECRET = "s3cr3t-t0k3n"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def test_the_private_surface() -> None:
    """The SDK's transport is made of a prompt and options, and has its process in `_process`, None before it runs."""
    assert list(inspect.signature(SubprocessCLITransport).parameters) == ["prompt", "options"]
    assert SubprocessCLITransport("", ClaudeAgentOptions())._process is None
    source = inspect.getsource(SubprocessCLITransport.connect)
    assert "self._process = await anyio.open_process(" in source


def test_the_handshake(model: ScriptedModel, tmp_path: Path) -> None:
    """The handshake gives commands and models, our hooks are taken, and the process is there."""

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            assert claude.handshake["hooks_applied"] is True
            assert claude.handshake["commands"]
            assert claude.handshake["models"]
            assert claude.handshake["pid"] == claude.os_process.pid
            left = claude.os_process
        assert psutil.wait_procs([left], timeout=10)[1] == []

    run(scenario())


def test_a_long_system_prompt(model: ScriptedModel, tmp_path: Path) -> None:
    """A system prompt of 300 KB, which no command line takes, reaches the model; so does a line of 3 MB from it."""
    marker, answer = "the-end-of-the-system-prompt", "y" * 3_000_000
    model.on("long", [[Say(answer, each=len(answer))]])

    async def scenario() -> None:
        initialize = {"appendSystemPrompt": "x " * 150_000 + marker}
        async with RealClaude(model, tmp_path, initialize=initialize) as claude:
            result = await claude.ask("long")
            assert result["result"] == answer
            deltas = [frame["event"]["delta"]["text"] for frame in claude.seen if is_text(frame)]
            assert "".join(deltas) == answer
            assert (await claude.ask("go on"))["result"] == "echo: go on"
        asked = model.wait_for_request(lambda request: request.kind == "main")
        assert marker in json.dumps(asked.body["system"])

    run(scenario())


def test_the_order_of_frames_and_asks(model: ScriptedModel, tmp_path: Path) -> None:
    """Streamed frames, the hook, the permission and what follows come in the order in which they were written: a tool
    use before its ask, the ask before its result, the prompt's states around it all."""
    model.on("write", [[Say("I write."), UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("done")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path, allows=True) as claude:
            name = claude.say("write")
            await claude.wait(is_result)
            await claude.wait(lambda frame: frame.get("state") == "completed")
            assert (claude.cwd / "a").read_text() == "A"
            [gate] = [f for f in claude.seen if f.get("request", {}).get("callback_id") == control.GATE]
            [ask] = [frame for frame in claude.seen if is_request("can_use_tool")(frame)]
            [told] = [f for f in claude.seen if f.get("request", {}).get("callback_id") == control.RESPONSE]
            starts = [f for f in claude.seen if f.get("event", {}).get("content_block", {}).get("type") == "tool_use"]
            results = [
                frame
                for frame in claude.seen
                if frame["type"] == "user" and frame["message"]["content"][0].get("type") == "tool_result"
            ]
            order = [starts[0], gate, ask, told, results[0], await claude.wait(is_result)]
            places = [claude.seen.index(frame) for frame in order]
            assert places == sorted(places)
            use = starts[0]["event"]["content_block"]["id"]
            assert gate["request"]["tool_use_id"] == ask["request"]["tool_use_id"] == use
            assert gate["request"]["input"]["tool_input"]["content"] == "A"
            states = [frame["state"] for frame in claude.seen if frame["type"] == "command_lifecycle"]
            assert states == ["queued", "started", "completed"]
            assert {f["command_uuid"] for f in claude.seen if f["type"] == "command_lifecycle"} == {name}
            assert (await claude.wait(is_result))["user_message_uuid"] == name
            [echo] = [frame for frame in claude.seen if frame.get("isReplay") and frame.get("uuid") == name]
            assert claude.seen.index(echo) < claude.seen.index(starts[0])

    run(scenario())


def test_a_gate_that_denies(model: ScriptedModel, tmp_path: Path) -> None:
    """A tool that needs no permission does not run when our hook denies it, and the model is given the reason."""
    model.on("write", [[UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("done")]])

    async def scenario() -> None:
        claude = RealClaude(
            model,
            tmp_path,
            mode="bypassPermissions",
            permission_mode="bypassPermissions",
            extra_args={"replay-user-messages": None, "allow-dangerously-skip-permissions": None},
        )
        async with claude:
            await claude.ask("write")
            assert not (claude.cwd / "a").exists()

    denial = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "The user cancelled this prompt.",
        }
    }
    answer = RealClaude.answer

    def deny(self: RealClaude, request: dict[str, Any], response: dict[str, Any]) -> None:
        answer(self, request, denial if request["request"].get("callback_id") == control.GATE else response)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RealClaude, "answer", deny)
        run(scenario())
    second = model.wait_for_request(lambda request: request.kind == "main" and request.round == 1)
    assert "The user cancelled this prompt." in json.dumps(second.body["messages"])


def test_control_requests(model: ScriptedModel, tmp_path: Path) -> None:
    """Requests of ours are answered while nothing runs; one that Claude Code does not know is refused in words."""

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            assert (await claude.process.request("mcp_status"))["mcpServers"] == []
            assert "effective" in await claude.process.request("get_settings")
            with pytest.raises(ControlError, match="bogus_subtype"):
                await claude.process.request("bogus_subtype")
            assert (await claude.process.request("interrupt", cancel_queued=True))["still_queued"] == []
            assert "control_response" not in claude.kinds

    run(scenario())


def test_an_interrupt_in_the_middle_of_a_text(model: ScriptedModel, tmp_path: Path) -> None:
    """The receipt comes before the result; the prompt that was written behind it is not touched, and runs."""
    model.on("story", [[Say("Once"), Wait(model.gate()), Say("never")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            first = claude.say("story")
            await claude.wait(is_text)
            receipt = claude.process.request("interrupt", cancel_queued=True)
            second = claude.say("next")
            answered: list[bool] = []
            receipt.add_done_callback(lambda _: answered.append(any(map(is_result, claude.seen))))
            stopped, ran = await claude.wait(is_result, 1), await claude.wait(is_result, 2)
            assert (await receipt)["still_queued"] == []
            assert answered == [False]
            assert (stopped["user_message_uuid"], stopped["terminal_reason"]) == (first, "aborted_streaming")
            assert (ran["user_message_uuid"], ran["result"]) == (second, "echo: next")

    run(scenario())


def test_a_queued_prompt_is_dropped(model: ScriptedModel, tmp_path: Path) -> None:
    """A queued prompt is dropped by its uuid, or with the interrupt, says so, and has no result."""
    model.on("story", [[Say("Once"), Wait(model.gate()), Say("never")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            claude.say("story")
            await claude.wait(is_text)
            dropped, with_it = claude.say("dropped"), claude.say("with it")
            answer = await claude.process.request("cancel_async_message", message_uuid=dropped)
            assert answer["cancelled"] is True
            receipt = await claude.process.request("interrupt", cancel_queued=True)
            assert receipt["cancelled"] == [with_it]
            await claude.wait(is_result)
            assert (await claude.ask("next"))["result"] == "echo: next"
            states = {f["command_uuid"]: f["state"] for f in claude.seen if f["type"] == "command_lifecycle"}
            assert states[dropped] == states[with_it] == "cancelled"
            assert sum(map(is_result, claude.seen)) == 2
        assert {request.prompt for request in model.requests if request.kind == "main"} == {"story", "next"}

    run(scenario())


def test_a_cancel_right_behind_its_prompt(model: ScriptedModel, tmp_path: Path) -> None:
    """Dropping the prompt and then interrupting, all written at once, stops it every time: no prompt runs to its
    end."""
    model.on("quick", [[Say("answered")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            for _ in range(10):
                name = claude.say("quick")
                drop = claude.process.request("cancel_async_message", message_uuid=name)
                stop = claude.process.request("interrupt", cancel_queued=True)
                await asyncio.gather(drop, stop)
                await claude.wait(lambda frame: frame.get("command_uuid") == name and _ended(frame))  # noqa: B023
            assert "answered" not in [frame.get("result") for frame in claude.seen]
            assert (await claude.ask("next"))["result"] == "echo: next"

    run(scenario())


def _ended(frame: dict[str, Any]) -> bool:
    return frame["state"] in ("completed", "cancelled")


def test_a_withdrawn_ask(model: ScriptedModel, tmp_path: Path) -> None:
    """An interrupt withdraws the permission that is asked for, before its receipt; a late answer does no harm."""
    model.on("write", [[UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("done")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            claude.say("write")
            ask = await claude.wait(is_request("can_use_tool"))
            withdrawn: list[bool] = []
            receipt = claude.process.request("interrupt", cancel_queued=True)
            receipt.add_done_callback(lambda _: withdrawn.append("control_cancel_request" in claude.kinds))
            await receipt
            assert withdrawn == [True]
            cancel = await claude.wait(lambda frame: frame["type"] == "control_cancel_request")
            assert cancel["request_id"] == ask["request_id"]
            claude.answer(ask, {"behavior": "allow", "updatedInput": ask["request"]["input"]})
            assert (await claude.wait(is_result))["terminal_reason"] == "aborted_tools"
            assert (await claude.ask("next"))["result"] == "echo: next"
            assert not (claude.cwd / "a").exists()

    run(scenario())


def test_an_abort_in_its_words(model: ScriptedModel, tmp_path: Path) -> None:
    """A permission that is answered with an error ends the tool with the words that clients know, and the turn goes
    on."""
    model.on("write", [[UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("went on")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            claude.say("write")
            ask = await claude.wait(is_request("can_use_tool"))
            aborted = PermissionAnswer(session="s", ask=ask["request_id"], decision="abort", message="Tool use aborted")
            claude.process.send(control.response_to(aborted))
            assert (await claude.wait(is_result))["result"] == "went on"
            assert "Tool permission request failed: Error: Tool use aborted" in json.dumps(claude.seen)

    run(scenario())


def test_a_classified_answer(model: ScriptedModel, tmp_path: Path) -> None:
    """Claude Code reads the members that its typed SDK cannot send: who decided, and about which tool use."""
    model.on("write", [[UseTool("Write", {"file_path": "$CWD/a", "content": "A"})], [Say("done")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            claude.say("write")
            ask = await claude.wait(is_request("can_use_tool"))
            denied = PermissionAnswer(
                session="s",
                ask=ask["request_id"],
                decision="deny",
                message="User refused permission to run tool",
                classification="user_reject",
                tool_use=ask["request"]["tool_use_id"],
            )
            claude.process.send(control.response_to(denied))
            await claude.wait(is_result)
            assert '"source": "user_reject"' in json.dumps(claude.seen)

    run(scenario())


@pytest.mark.parametrize("gently", [True, False], ids=["exit 0", "killed"])
def test_requests_that_are_open_at_its_end(gently: bool, model: ScriptedModel, tmp_path: Path) -> None:
    """When Claude Code ends, killed or with exit code 0, what is open fails, and the last frame says so."""
    model.on("story", [[Say("Once"), Wait(model.gate()), Say("never")]])

    async def scenario() -> None:
        async with RealClaude(model, tmp_path) as claude:
            if gently:
                await claude.process.tap.end_input()
            else:
                claude.say("story")
                await claude.wait(is_text)
                claude.process.tap.kill()
            # It was told to end before, so nothing can have answered this.
            _, answer = claude.process.tap.open_request({"subtype": "mcp_status"})
            with pytest.raises(CLIConnectionError if gently else ProcessError):
                await answer
            assert claude.kinds[-1] == "__closed__"
            assert (claude.process.tap.exit_code == 0) is gently

    run(scenario())


def test_a_start_that_fails(model: ScriptedModel, tmp_path: Path) -> None:
    """A start that cannot be is a typed error in words: no such session, no such program, no such directory."""

    async def start(**options: Any) -> Exception:
        claude = RealClaude(model, tmp_path, **options)
        try:
            await claude.process.start()
        except Exception as error:
            return error
        finally:
            await claude.process.close()
        raise AssertionError("it started")

    async def scenario() -> None:
        unknown = "00000000-0000-4000-8000-000000000000"
        session, program, place = await asyncio.gather(
            start(resume=unknown), start(cli_path=str(tmp_path / "none")), start(cwd=str(tmp_path / "nowhere"))
        )
        assert isinstance(session, ResultError)
        assert session.data["errors"] == [f"No conversation found with session ID: {unknown}"]
        assert isinstance(program, CLINotFoundError)
        assert isinstance(place, CLIConnectionError)
        assert "nowhere" in str(place)

    run(scenario())


def test_mcp_servers_and_settings_from_private_files(model: ScriptedModel, tmp_path: Path) -> None:
    """MCP servers and settings that were read from files work: after the files are gone, after a reconnect and after
    a change of settings; none of it stands on the command line."""
    (tmp_path / "server.py").write_text(SERVER)
    model.on("look", [[UseTool("mcp__a__look", {})], [Say("seen")]])
    model.on("shell", [[UseTool("Bash", {"command": "touch from-$SETTING"})], [Say("made")]])
    server = {"type": "stdio", "command": sys.executable, "args": [str(tmp_path / "server.py")]}
    servers = {"a": {**server, "env": {"TOKEN": SECRET}}}
    setting = json.dumps({"env": {"SETTING": SECRET}})

    async def scenario() -> None:
        async with RealClaude(model, tmp_path, allows=True, mcp_servers=servers, settings=setting) as claude:
            command_line = claude.os_process.cmdline()
            assert SECRET not in " ".join(command_line)
            files = [Path(command_line[command_line.index(flag) + 1]) for flag in ("--mcp-config", "--settings")]
            assert [file.exists() for file in files] == [False, False]
            await claude.ask("look")
            assert f"TOKEN is {SECRET}" in json.dumps(claude.seen)
            await claude.process.request("mcp_reconnect", serverName="a")
            await claude.process.request("apply_flag_settings", settings={"effortLevel": "low"})
            claude.seen.clear()
            await claude.ask("look")
            assert f"TOKEN is {SECRET}" in json.dumps(claude.seen)
            await claude.ask("shell")
            assert (claude.cwd / f"from-{SECRET}").exists()
            settings = await claude.process.request("get_settings")
            assert settings["effective"]["env"]["SETTING"] == SECRET

    run(scenario())


def test_a_close_in_the_middle_of_a_turn(model: ScriptedModel, tmp_path: Path) -> None:
    """An interrupt that is written just before the close is read first, so that Claude Code ends by itself."""
    model.on("story", [[Say("Once"), Wait(model.gate()), Say("never")]])

    async def scenario() -> None:
        claude = RealClaude(model, tmp_path)
        async with claude:
            claude.say("story")
            await claude.wait(is_text)
            process = claude.os_process
            stop = claude.process.request("interrupt", cancel_queued=True)
            stop.add_done_callback(lambda answer: answer.exception())
        assert psutil.wait_procs([process], timeout=10)[1] == []
        assert claude.kinds[-1] == "__closed__"

    run(scenario())


def test_a_frozen_one_leaves_nothing_running(model: ScriptedModel, tmp_path: Path) -> None:
    """A Claude Code that must be killed takes along the command that it runs."""
    model.on("run it", [[UseTool("Bash", {"command": "touch up && tail -f /dev/null"})], [Say("no")]])

    async def scenario() -> None:
        claude = RealClaude(model, tmp_path, allows=True)
        async with claude:
            claude.say("run it")
            await asyncio.to_thread(wait_for_file, claude.cwd / "up")
            process = claude.os_process
            family = [process, *process.children(recursive=True)]
            assert len(family) > 1
            process.suspend()
        assert psutil.wait_procs(family, timeout=10)[1] == []

    run(scenario())
