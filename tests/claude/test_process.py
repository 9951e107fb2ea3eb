"""One Claude Code from its start to its end, in memory: what is written in which order, and who ends it when."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError, ProcessError, ResultError

from acpbridge.claude import process as module
from acpbridge.claude.process import ClaudeProcess
from tests.claude.fake_claude import FakeClaude, FakeProcess, Frame, run
from tests.core import logged


class FakeWatcher:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def add(self, number: int) -> None:
        self.told.append(f"+{number}")

    def remove(self, number: int) -> None:
        self.told.append(f"-{number}")


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClaude.take(monkeypatch)


def made(options: ClaudeAgentOptions | None = None, **arguments: Any) -> tuple[ClaudeProcess, FakeClaude, list[Frame]]:
    shown: list[Frame] = []
    process = ClaudeProcess(options or ClaudeAgentOptions(), initialize={}, on_frame=shown.append, **arguments)
    return process, FakeClaude.made, shown


def user(number: int) -> Frame:
    return {"type": "user", "number": number}


def test_the_handshake() -> None:
    """A start makes the handshake and gives Claude Code's answer; frames that come before it are not lost."""

    async def scenario() -> None:
        process, claude, shown = made()
        claude.say({"type": "system", "subtype": "session_state_changed"})
        assert await process.start() == {"commands": [{"name": "help"}]}
        assert claude.subjects == ["initialize"]
        assert [frame["type"] for frame in shown] == ["system"]
        await process.close()

    run(scenario())


def test_one_line_may_be_long() -> None:
    """The SDK's limit of 1 MiB a line, which would end the connection, is lifted."""
    _, claude, _ = made()
    limit = claude.options.max_buffer_size
    assert limit is not None
    assert limit > 1 << 40


def test_what_is_said_is_written_in_that_order() -> None:
    """Prompts, requests and answers share one queue: a cancel stands behind its prompt and before the next one."""

    async def scenario() -> None:
        process, claude, _ = made()
        await process.start()
        process.send(user(1))
        drop = process.request("cancel_async_message", message_uuid="u")
        stop = process.request("interrupt", cancel_queued=True)
        process.send(user(2))
        await claude.wrote(lambda frame: frame == user(2))
        assert claude.subjects == ["initialize", "user", "cancel_async_message", "interrupt", "user"]
        assert claude.written[2]["request"] == {"subtype": "cancel_async_message", "message_uuid": "u"}
        assert claude.written[3]["request"] == {"subtype": "interrupt", "cancel_queued": True}
        claude.answer(claude.written[2], {"cancelled": True})
        claude.answer(claude.written[3], {"still_queued": []})
        assert (await drop, await stop) == ({"cancelled": True}, {"still_queued": []})
        await process.close()

    run(scenario())


def test_what_cannot_be_written_holds_nothing_up() -> None:
    """A frame that is no JSON is logged without its content, and what stands behind it is written."""

    async def scenario() -> None:
        process, claude, _ = made()
        await process.start()
        process.send({"type": "user", "bad": {"a secret set"}})
        process.send(user(1))
        await claude.wrote(lambda frame: frame == user(1))
        await process.close()

    with logged() as log:
        run(scenario())
    assert any("a frame of type user cannot be written" in entry for entry in log)
    assert "a secret set" not in "".join(log)


def test_writing_to_one_that_has_ended() -> None:
    """What can no longer be written is logged; the open request fails with the end."""

    async def scenario() -> None:
        process, claude, shown = made()
        await process.start()
        claude.end()
        answer = process.request("interrupt")
        with pytest.raises(CLIConnectionError):
            await answer
        assert [frame["type"] for frame in shown] == ["__closed__"]
        await process.close()

    with logged() as log:
        run(scenario())
    assert any("was not written" in entry for entry in log)


def test_a_close_ends_it_gently() -> None:
    """One that ends when its stdin is closed gets no signal, none later either; a second close does nothing."""

    async def scenario() -> None:
        process, claude, shown = made()
        await process.start()
        loop = asyncio.get_running_loop()
        planned: list[asyncio.TimerHandle] = []
        plan = loop.call_later

        def call_later(delay: float, *arguments: Any, **keywords: Any) -> asyncio.TimerHandle:
            planned.append(plan(delay, *arguments, **keywords))
            return planned[-1]

        loop.call_later = call_later  # type: ignore[method-assign,assignment]
        started = loop.time()
        await process.close()
        await process.close()
        ladder = [handle for handle in planned if handle.when() > started + 1]
        assert [round(handle.when() - started) for handle in ladder] == [2, 4]
        assert all(handle.cancelled() for handle in ladder)
        assert claude.process.signals == []
        assert [frame["type"] for frame in shown] == ["__closed__"]

    run(scenario())


def test_two_that_close_it() -> None:
    """Whoever closes it while it is being closed waits for the same end."""

    async def scenario() -> None:
        process, claude, _ = made()
        await process.start()
        claude.stays = True
        first = asyncio.ensure_future(process.close())
        await asyncio.sleep(0)
        second = asyncio.ensure_future(process.close())
        await asyncio.sleep(0)
        assert not second.done()
        claude.end()
        await second
        assert claude.process.returncode is not None
        await first

    run(scenario())


@pytest.mark.parametrize(("ends_with", "signals"), [("terminate", ["terminate"]), ("kill", ["terminate", "kill"])])
def test_one_that_does_not_end(ends_with: str, signals: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that stays is told to terminate, and killed when it stays then, and what it runs before it."""
    monkeypatch.setattr(module, "TERMINATE_AFTER", 0.0)
    monkeypatch.setattr(module, "KILL_AFTER", 0.001)
    families: list[int] = []
    monkeypatch.setattr(module, "kill_descendants", families.append)

    async def scenario() -> None:
        process, claude, _ = made()
        await process.start()
        claude.stays, claude.process.ends_with = True, ends_with
        await process.close()
        assert claude.process.signals[: len(signals)] == signals
        assert families[:1] == [claude.process.pid] * signals.count("kill")

    run(scenario())


def test_the_watcher_knows_it_while_it_runs() -> None:
    """It is watched from its start to its end."""

    async def scenario() -> None:
        watcher = FakeWatcher()
        process, _, _ = made(watcher=watcher)
        assert watcher.told == []
        await process.start()
        assert watcher.told == [f"+{FakeProcess.pid}"]
        await process.close()
        assert watcher.told == [f"+{FakeProcess.pid}", f"-{FakeProcess.pid}"]

    run(scenario())


def test_a_close_during_the_handshake() -> None:
    """One that is closed while it starts is ended, and its start says so instead of being cancelled."""

    async def scenario() -> None:
        watcher = FakeWatcher()
        process, claude, shown = made(watcher=watcher)
        claude.answers.clear()
        starting = asyncio.ensure_future(process.start())
        await claude.asked("initialize")
        await process.close()
        assert claude.process.ended.is_set()
        assert watcher.told == [f"+{FakeProcess.pid}", f"-{FakeProcess.pid}"]
        with pytest.raises(CLIConnectionError, match="closed before it had started"):
            await starting
        assert [frame["type"] for frame in shown] == ["__closed__"]

    run(scenario())


def test_a_close_while_it_is_spawned() -> None:
    """One that is closed while its process is made is ended too."""

    async def scenario() -> None:
        reached, never = asyncio.Event(), asyncio.Event()

        async def connecting() -> None:
            reached.set()
            await never.wait()

        process, claude, _ = made()
        claude.connecting = connecting
        starting = asyncio.ensure_future(process.start())
        await reached.wait()
        await process.close()
        with pytest.raises(CLIConnectionError, match="closed before it had started"):
            await starting
        assert claude.written == []

    run(scenario())


def test_a_close_before_the_start() -> None:
    """One that was closed never starts."""

    async def scenario() -> None:
        process, claude, _ = made()
        await process.close()
        with pytest.raises(CLIConnectionError, match="closed before it had started"):
            await process.start()
        assert claude.written == []

    run(scenario())


def test_a_start_that_is_cancelled() -> None:
    """Whoever waits for a start may be cancelled: then Claude Code is ended."""

    async def scenario() -> None:
        process, claude, _ = made()
        claude.answers.clear()
        starting = asyncio.ensure_future(process.start())
        await claude.asked("initialize")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await process.close()
        assert claude.process.ended.is_set()

    run(scenario())


def test_the_tail_of_its_stderr_is_kept() -> None:
    """Of what Claude Code says on stderr the last 20 lines are kept."""
    process, claude, _ = made()
    assert claude.options.stderr is not None
    for number in range(50):
        claude.options.stderr(f"line {number}")
    assert list(process.stderr) == [f"line {number}" for number in range(30, 50)]


SERVERS: dict[str, Any] = {
    "files": {"type": "stdio", "command": "run", "args": [], "env": {"TOKEN": "secret-env"}},
    "web": {"type": "http", "url": "https://a.test", "headers": {"Authorization": "secret-header"}},
}
SETTINGS = json.dumps({"env": {"KEY": "secret-setting"}})


def private_options() -> ClaudeAgentOptions:
    return ClaudeAgentOptions(mcp_servers=SERVERS, settings=SETTINGS)


def given_files(claude: FakeClaude) -> list[Path]:
    return [Path(str(claude.options.mcp_servers)), Path(str(claude.options.settings))]


def test_secrets_are_in_files_while_it_starts() -> None:
    """MCP servers and settings are read from files, which only the user can read, and which are gone when Claude Code
    has started: its command line is public."""

    async def scenario() -> None:
        process, claude, _ = made(private_options())
        assert "secret" not in repr(claude.options)
        assert [path.exists() for path in given_files(claude)] == [False, False]
        read: list[Any] = []

        async def connecting() -> None:
            for path in given_files(claude):
                read.append(json.loads(path.read_text()))
                assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600

        claude.connecting = connecting
        await process.start()
        assert read == [{"mcpServers": SERVERS}, json.loads(SETTINGS)]
        assert [path.exists() for path in given_files(claude)] == [False, False]
        await process.close()

    run(scenario())


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_files_go_when_the_start_fails(cancelled: bool) -> None:
    """A start that fails or is given up leaves no file behind."""

    async def scenario() -> None:
        process, claude, _ = made(private_options())
        claude.answers.clear()
        starting = asyncio.ensure_future(process.start())
        asked = await claude.asked("initialize")
        assert [path.exists() for path in given_files(claude)] == [True, True]
        if cancelled:
            await process.close()
        else:
            claude.refuse(asked, "no")
        with pytest.raises(Exception, match=r"no|closed"):
            await starting
        assert [path.exists() for path in given_files(claude)] == [False, False]
        await process.close()

    run(scenario())


def test_a_file_that_is_there_already_is_not_used() -> None:
    """A path that exists is not written to: the start fails, and the file of a stranger stays as it is."""

    async def scenario() -> None:
        process, claude, _ = made(private_options())
        stranger = given_files(claude)[1]
        stranger.write_text("a stranger's")
        try:
            with pytest.raises(FileExistsError):
                await process.start()
            assert stranger.read_text() == "a stranger's"
            assert not given_files(claude)[0].exists()
        finally:
            stranger.unlink()
            await process.close()

    run(scenario())


def test_what_is_no_secret_stays_an_argument() -> None:
    """A path of settings is passed on as it is, and no servers make no file."""
    _, claude, _ = made(ClaudeAgentOptions(settings="mine.json"))
    assert claude.options.settings == "mine.json"
    assert claude.options.mcp_servers == {}


def test_a_refused_handshake_is_an_error() -> None:
    """A start that Claude Code refuses raises, and the process can be closed."""

    async def scenario() -> None:
        process, claude, _ = made()
        claude.answers.clear()
        starting = asyncio.ensure_future(process.start())
        claude.refuse(await claude.asked("initialize"), "not today")
        with pytest.raises(Exception, match="not today"):
            await starting
        await process.close()
        assert claude.process.ended.is_set()

    run(scenario())


def test_a_start_that_ends_with_an_error_result() -> None:
    """What Claude Code says of a start that failed comes out as the SDK's typed error."""

    async def scenario() -> None:
        process, claude, _ = made()
        claude.answers.clear()
        starting = asyncio.ensure_future(process.start())
        await claude.asked("initialize")
        result = {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": ["No such session"],
        }
        claude.say({**result, "startup_failure_reason": "cwd_unavailable", "session_id": "s"})
        claude.end(ProcessError("Command failed with exit code 1", exit_code=1), 1)
        with pytest.raises(ResultError, match="No such session") as caught:
            await starting
        assert caught.value.data["startup_failure_reason"] == "cwd_unavailable"
        await process.close()

    run(scenario())
