"""The tap around a Claude Code in memory: what it shows, to whom, in which order, and what it makes of an end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError, CLIJSONDecodeError, ProcessError
from hypothesis import example, given, settings

from acpbridge.claude.tap import ControlError, Tap
from tests.claude.fake_claude import FakeClaude, FakeProcess, Frame, run
from tests.claude.recorded import ALL, broken
from tests.core import logged


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClaude.take(monkeypatch)


class Watched:
    """A tap, what it showed the bridge and what it gave the SDK."""

    def __init__(
        self,
        *,
        initialize: Frame | None = None,
        on_frame: Callable[[Frame], None] | None = None,
        flow: Callable[[], Awaitable[None] | None] | None = None,
        on_started: Callable[[int], None] | None = None,
    ) -> None:
        self.shown: list[Frame] = []
        self.given: list[Frame] = []
        self.tap = Tap(
            ClaudeAgentOptions(),
            initialize=initialize or {},
            on_frame=on_frame or self.shown.append,
            flow=flow,
            on_started=on_started,
        )
        self.claude = FakeClaude.made
        self.error: Exception | None = None

    @property
    def kinds(self) -> list[str]:
        return [str(frame.get("type")) for frame in self.shown]

    async def read(self) -> None:
        """Read as the SDK does, until the end."""
        try:
            async for frame in self.tap.read_messages():
                self.given.append(frame)
        except Exception as error:
            self.error = error

    async def read_all(self, *frames: Frame) -> Watched:
        self.claude.say(*frames)
        self.claude.end()
        await self.read()
        return self


def request(subtype: str, number: str = "7", **members: Any) -> Frame:
    return {"type": "control_request", "request_id": number, "request": {"subtype": subtype, **members}}


def test_permissions_are_asked_over_the_wire() -> None:
    """Claude Code is told to ask on its stdio: with a transport of one's own the SDK does not say so."""
    assert Watched().claude.options.permission_prompt_tool_name == "stdio"


def test_initialize_is_completed_once() -> None:
    """The members are added to the SDK's own `initialize`, and to nothing else, however its text reads."""

    async def scenario() -> None:
        watched = Watched(initialize={"hooks": {"PreToolUse": []}, "title": "t"})
        before = {"type": "user", "message": {"role": "user", "content": 'say "initialize"'}}
        for frame in (before, request("initialize", hooks=None, agents={}), request("initialize", hooks=None)):
            await watched.tap.write(json.dumps(frame) + "\n")
        plain, completed, second = watched.claude.written
        assert plain == before
        assert completed["request"] == {
            "subtype": "initialize",
            "hooks": {"PreToolUse": []},
            "agents": {},
            "title": "t",
        }
        assert second["request"] == {"subtype": "initialize", "hooks": None}

    run(scenario())


def test_one_order() -> None:
    """Frames, requests and withdrawals are shown in the order in which they were written, each once."""
    said = [
        {"type": "stream_event", "event": {"type": "message_start"}},
        request("can_use_tool"),
        {"type": "assistant"},
        {"type": "control_cancel_request", "request_id": "7"},
        {"type": "result"},
        {"type": "something new"},
    ]
    watched = Watched()
    watched.tap.connected = True
    run(watched.read_all(*said))
    assert watched.shown[:-1] == said
    assert watched.given == []


def test_keep_alive_is_nobodys() -> None:
    """`keep_alive` says nothing to anybody."""
    watched = Watched()
    run(watched.read_all({"type": "keep_alive"}))
    assert (watched.kinds, watched.given) == (["__closed__"], [])


def test_what_the_sdk_answers_is_given_to_the_sdk_alone() -> None:
    """Requests for MCP servers in the SDK's process, and the answers to its own requests, are the SDK's."""
    message = request("mcp_message")
    answer = {"type": "control_response", "response": {"subtype": "success", "request_id": "req_1"}}
    watched = Watched()
    run(watched.read_all(message, answer))
    assert watched.given == [message, answer]
    assert watched.kinds == ["__closed__"]


@pytest.mark.parametrize("connected", [False, True])
def test_a_result_before_the_handshake_is_shown_to_the_sdk_too(connected: bool) -> None:
    """The SDK makes a typed error of a result that comes before the handshake is over, and needs none afterwards."""
    watched = Watched()
    watched.tap.connected = connected
    run(watched.read_all({"type": "result"}))
    assert watched.kinds == ["result", "__closed__"]
    assert watched.given == ([] if connected else [{"type": "result"}])


def test_own_requests() -> None:
    """A request of ours gets its own answer, whatever the order; neither the SDK nor the bridge sees it."""

    async def scenario() -> None:
        watched = Watched()
        first, one = watched.tap.open_request({"subtype": "mcp_status"})
        second, two = watched.tap.open_request({"subtype": "set_model", "model": "m"})
        assert second["request"] == {"subtype": "set_model", "model": "m"}
        assert first["request_id"] != second["request_id"]
        assert watched.tap.waiting
        watched.claude.answer(second, {"ok": 2})
        watched.claude.answer(first, None)
        await watched.read_all()
        assert (await one, await two) == (None, {"ok": 2})
        assert not watched.tap.waiting
        assert (watched.kinds, watched.given) == (["__closed__"], [])

    run(scenario())


def test_a_refused_request() -> None:
    """What Claude Code refuses is a `ControlError` with its words and its code."""

    async def scenario() -> None:
        watched = Watched()
        asked, answer = watched.tap.open_request({"subtype": "bogus"})
        watched.claude.refuse(asked, "Unsupported control request subtype: bogus", "unsupported")
        await watched.read_all()
        with pytest.raises(ControlError, match="bogus") as caught:
            await answer
        assert caught.value.code == "unsupported"

    run(scenario())


@pytest.mark.parametrize("error", [None, ProcessError("Command failed", exit_code=3)], ids=["exit 0", "exit 3"])
def test_an_end_fails_what_is_open(error: Exception | None) -> None:
    """When Claude Code is gone, with whatever exit code, open requests fail, later ones too, the SDK is told by an
    exception (or its own requests would wait for a minute), and the last frame, one, says why."""

    async def scenario() -> None:
        watched = Watched()
        _, answer = watched.tap.open_request({"subtype": "interrupt"})
        watched.claude.say({"type": "assistant"})
        watched.claude.end(error)
        await watched.read()
        _, late = watched.tap.open_request({"subtype": "interrupt"})
        for future in (answer, late):
            with pytest.raises(type(error) if error is not None else CLIConnectionError):
                await future
        assert watched.kinds == ["assistant", "__closed__"]
        assert watched.error is watched.shown[-1]["error"]
        assert error is None or watched.error is error
        await watched.tap.close()
        assert watched.kinds.count("__closed__") == 1

    run(scenario())


def test_a_close_fails_what_is_open() -> None:
    """A close fails open requests before Claude Code has ended, and says once that nothing follows, though the reader
    was left standing."""

    async def scenario() -> None:
        watched = Watched()
        await watched.tap.connect()
        _, answer = watched.tap.open_request({"subtype": "interrupt"})
        watched.claude.stays = True
        closing = asyncio.ensure_future(watched.tap.close())
        with pytest.raises(CLIConnectionError, match="closed"):
            await answer
        assert not closing.done()
        watched.claude.process.end(0)
        await closing
        await watched.tap.close()
        assert watched.kinds == ["__closed__"]

    run(scenario())


def test_a_broken_line_is_an_end() -> None:
    """Behind a line that is no JSON nothing can be read: Claude Code is told to end, and the line is quoted nowhere."""

    async def scenario() -> None:
        watched = Watched()
        await watched.tap.connect()
        line = '{"type":"user","secret-in-the-line'
        watched.claude.break_line(CLIJSONDecodeError(line, ValueError("secret-in-the-cause")))
        await watched.read()
        assert watched.claude.process.signals == ["terminate"]
        assert isinstance(watched.error, CLIConnectionError)
        assert str(len(line)) in str(watched.error)
        assert "secret" not in f"{watched.error!r}{watched.error.__cause__!r}"
        assert watched.kinds == ["__closed__"]

    run(scenario())


def test_a_clean_end_is_not_hurried() -> None:
    """Claude Code that ended by itself gets no signal."""

    async def scenario() -> None:
        watched = Watched()
        await watched.tap.connect()
        await watched.read_all()
        watched.tap.terminate()
        watched.tap.kill()
        assert watched.claude.process.signals == []

    run(scenario())


def test_a_frame_that_cannot_be_taken() -> None:
    """A frame on which the bridge fails is logged and dropped, one that wants an answer is refused, and reading goes
    on; what it holds is not logged."""

    def fails(frame: Frame) -> None:
        seen.append(frame["type"])
        if "bad" in frame:
            raise RuntimeError("cannot take it")

    async def scenario() -> None:
        watched = Watched(on_frame=fails)
        reading = asyncio.ensure_future(watched.read())
        watched.claude.say({"type": "user", "bad": "secret"}, {**request("can_use_tool", "9"), "bad": "secret"})
        refusal = await watched.claude.wrote(lambda frame: frame["type"] == "control_response")
        assert refusal["response"]["subtype"] == "error"
        assert refusal["response"]["request_id"] == "9"
        watched.claude.say({"type": "assistant"})
        watched.claude.end()
        await reading

    seen: list[str] = []
    with logged() as log:
        run(scenario())
    assert seen == ["user", "control_request", "assistant", "__closed__"]
    assert sum("could not be taken" in entry for entry in log) == 2
    assert "secret" not in "".join(log)


def test_the_pace_is_asked_for_before_each_frame() -> None:
    """The reader goes on at once where there is room, and takes no further frame while there is none."""

    async def scenario() -> None:
        room, asked = asyncio.Event(), asyncio.Queue[int]()

        def flow() -> Awaitable[None] | None:
            asked.put_nowait(len(watched.shown))
            return None if len(watched.shown) < 2 else _wait(room)

        watched = Watched(flow=flow)
        reading = asyncio.ensure_future(watched.read_all(*({"type": "user", "n": n} for n in range(4))))
        assert [await asked.get() for _ in range(2)] == [1, 2]
        assert len(watched.shown) == 2
        assert watched.claude.read == 2
        room.set()
        await reading
        assert watched.kinds == ["user"] * 4 + ["__closed__"]

    run(scenario())


def test_a_request_frees_a_reader_that_is_held() -> None:
    """The answer to a request of ours stands behind what was not read, so the reader goes on until it has come, and is
    held again then."""

    async def scenario() -> None:
        room, asked = asyncio.Event(), asyncio.Queue[int]()

        def flow() -> Awaitable[None] | None:
            asked.put_nowait(len(watched.shown))
            return _wait(room)

        watched = Watched(flow=flow)
        watched.claude.say(*({"type": "user", "n": n} for n in range(3)))
        reading = asyncio.ensure_future(watched.read())
        assert await asked.get() == 1
        frame, answer = watched.tap.open_request({"subtype": "set_model"})
        watched.claude.answer(frame, "done")
        watched.claude.say(*({"type": "assistant", "n": n} for n in range(3)))
        assert await answer == "done"
        assert await asked.get() == 3
        assert watched.kinds == ["user"] * 3
        room.set()
        watched.claude.end()
        await reading
        assert watched.kinds == ["user"] * 3 + ["assistant"] * 3 + ["__closed__"]

    run(scenario())


def test_the_process_is_announced_when_it_is_there() -> None:
    """Whoever watches processes is told the number as soon as Claude Code runs."""

    async def scenario() -> None:
        started: list[int] = []
        watched = Watched(on_started=started.append)
        assert watched.tap.process_id is None
        assert started == []
        await watched.tap.connect()
        assert started == [watched.tap.process_id] == [FakeProcess.pid]

    run(scenario())


@example({"type": "control_request", "request_id": "r", "request": {"subtype": []}})  # ended the stream
@given(broken())
@settings(max_examples=150, deadline=None)
def test_no_frame_breaks_the_tap(frame: Frame) -> None:
    """Whatever is missing or of a wrong type in a frame, those behind it are read."""
    watched = Watched()
    run(watched.read_all(frame, {"type": "assistant", "marker": True}))
    assert {"type": "assistant", "marker": True} in watched.shown
    assert watched.kinds[-1] == "__closed__"


def test_recorded_frames_pass_as_they_are() -> None:
    """Every recorded frame but an answer is shown, unchanged."""
    watched = Watched()
    run(watched.read_all(*ALL))
    assert watched.shown[:-1] == [frame for frame in ALL if frame["type"] != "control_response"]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
