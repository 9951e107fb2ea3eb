"""A new Claude Code takes over between two turns: which one is given which prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from acpbridge.claude.flow_control import FlowControl
from acpbridge.claude.options import SessionOptions
from acpbridge.claude.session import ClaudeSession
from middleware import Message, acp
from middleware.messages import AgentGone, Interrupt, Interrupted, Prompt
from tests.claude.fake_claude import FakeClaude, run
from tests.claude.test_successor import Unwatched


class Scene:
    """A session whose Claude Code was started, and a rest that comes when the test says so."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        FakeClaude.take(patch)
        self.fed: list[Message] = []
        self.rest = asyncio.Event()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.session = ClaudeSession(
            name="s",
            cwd="/",
            options=SessionOptions(ClaudeAgentOptions(), {}),
            feed=lambda *messages: self.fed.extend(messages),
            flow=FlowControl(lambda: True),
            spawn=self._spawn,
            watcher=Unwatched(),  # type: ignore[arg-type]
            again=self._again,
        )

    async def begin(self) -> FakeClaude:
        await self.session.start()
        return FakeClaude.made

    def renew(self, stays: Callable[[], bool] = lambda: False) -> asyncio.Task[bool]:
        task: asyncio.Task[bool] = asyncio.ensure_future(self.session.renew(self._rests, stays))
        self.tasks.add(task)
        return task

    async def end(self) -> None:
        await self.session.close()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _rests(self) -> None:
        await self.rest.wait()

    async def _again(self) -> SessionOptions:
        return SessionOptions(ClaudeAgentOptions(), {"title": "again"})

    def _spawn(self, work: Any, name: str) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self.tasks.add(task)
        return task


def prompt(number: int) -> Prompt:
    return Prompt(session="s", request=number, prompt=f"p{number}", content=(acp.TextContent(text="x"),))


def prompts_of(claude: FakeClaude) -> list[str]:
    return [frame["uuid"] for frame in claude.written if frame["type"] == "user"]


def test_prompts_wait_for_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the old one has taken it ends; what it never took, and what comes while its end is waited for, is the new
    one's, in order."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        old = await scene.begin()
        scene.session.prompt(prompt(1))
        await old.wrote(lambda frame: frame["type"] == "user")
        old.say({"type": "command_lifecycle", "command_uuid": "p1", "state": "started"})
        scene.session.prompt(prompt(2))
        await old.wrote(lambda frame: frame.get("uuid") == "p2")
        assert scene.session.has_prompts
        renewal = scene.renew()
        await asyncio.sleep(0)
        scene.session.prompt(prompt(3))
        scene.rest.set()
        assert await renewal
        new = FakeClaude.made
        await new.wrote(lambda frame: frame.get("uuid") == "p3")
        assert new is not old
        assert prompts_of(old) == ["p1", "p2"]
        assert prompts_of(new) == ["p2", "p3"]
        assert not [message for message in scene.fed if isinstance(message, AgentGone) and message.prompts != ()]
        await scene.end()

    run(play())


def test_the_old_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it must stay after all, it is given what waited."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        old = await scene.begin()
        renewal = scene.renew(stays=lambda: True)
        await asyncio.sleep(0)
        scene.session.prompt(prompt(1))
        scene.rest.set()
        assert not await renewal
        await old.wrote(lambda frame: frame.get("uuid") == "p1")
        assert FakeClaude.made is old
        await scene.end()

    run(play())


def test_a_prompt_that_waits_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel drops what waits for the new one, which nobody has been given; the old one is not asked for it."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        old = await scene.begin()
        renewal = scene.renew()
        await asyncio.sleep(0)
        scene.session.prompt(prompt(1))
        scene.session.prompt(prompt(2))
        scene.session.interrupt(Interrupt(session="s", drop=("p1",)))
        old.answer(await old.asked("interrupt"), {"still_queued": []})
        scene.rest.set()
        assert await renewal
        await FakeClaude.made.wrote(lambda frame: frame.get("uuid") == "p2")
        assert prompts_of(FakeClaude.made) == ["p2"]
        assert "cancel_async_message" not in old.subjects
        assert [message.dropped for message in scene.fed if isinstance(message, Interrupted)] == [("p1",)]
        await scene.end()

    run(play())


def test_a_renewal_during_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second renewal, asked for while the first one starts, starts another one: what it is to be started with may be
    other than what the first one was told."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        old = await scene.begin()
        scene.rest.set()
        first, second = scene.renew(), scene.renew()
        assert await first
        between = FakeClaude.made
        assert await second
        assert len({id(claude) for claude in (old, between, FakeClaude.made)}) == 3
        await scene.end()

    run(play())


def test_a_request_that_meets_the_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control request that the old one has not answered when it goes is asked of the new one: nothing has died."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        old = await scene.begin()
        request = asyncio.ensure_future(scene.session.request("set_permission_mode", mode="plan"))
        await old.asked("set_permission_mode")
        scene.rest.set()
        assert await scene.renew()
        new = FakeClaude.made
        assert new is not old
        number = (await new.asked("set_permission_mode"))["request_id"]
        answer = {"subtype": "success", "request_id": number, "response": {"mode": "plan"}}
        new.say({"type": "control_response", "response": answer})
        assert await request == {"mode": "plan"}
        await scene.end()

    run(play())


def test_a_close_during_the_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that is closed while another Claude Code is to come is over when the close returns: nothing follows."""

    async def play() -> None:
        scene = Scene(monkeypatch)
        await scene.begin()
        scene.rest.set()
        renewal = scene.renew()
        while scene.session.process_id is not None:
            await asyncio.sleep(0)
        await scene.session.close()
        told = len(scene.fed)
        assert await renewal
        await asyncio.gather(*scene.tasks, return_exceptions=True)
        assert len(scene.fed) == told

    run(play())
