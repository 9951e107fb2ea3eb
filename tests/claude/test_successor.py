"""A Claude Code takes another one's place to carry out a plan: what is written to which, and what is fed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from claude_agent_sdk import ClaudeAgentOptions

from acpbridge.claude import successor
from acpbridge.claude.flow_control import FlowControl
from acpbridge.claude.options import SessionOptions
from acpbridge.claude.session import ClaudeSession
from acpbridge.claude.successor import Carried
from middleware import Message, acp
from middleware.messages import (
    AgentGone,
    AgentReply,
    Interrupt,
    Interrupted,
    PermissionAnswer,
    PermissionAsk,
    Prompt,
    RestartSession,
    Result,
    SessionRestarted,
    Text,
    TokenCount,
)
from tests.claude.fake_claude import FakeClaude, run

M = TypeVar("M", bound=Message)


class Unwatched:
    """No process of the fake ones must be ended if we are killed."""

    def add(self, number: int) -> None:
        return

    remove = add


class Scene:
    """A session whose Claude Code runs the prompt p1 and asks for the plan, its ask being `a1`."""

    def __init__(self) -> None:
        self.fed: list[Message] = []
        self.modes: list[str] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.fails: Exception | None = None
        self._came = asyncio.Condition()
        self.session = ClaudeSession(
            name="s",
            cwd="/",
            options=SessionOptions(ClaudeAgentOptions(), {}),
            feed=self._feed,
            flow=FlowControl(lambda: True),
            spawn=self._spawn,
            watcher=Unwatched(),  # type: ignore[arg-type]
            afresh=self._afresh,
            settle=self._settle,
            sleep=self._no_sleep,
        )

    async def begin(self) -> FakeClaude:
        await self.session.start()
        old = FakeClaude.made
        self.session.prompt(prompt(1))
        old.say(state(1, "started"), ask("a1", "t1"), ask("a2", "t2"))
        await self.heard(lambda: len(self.all(PermissionAsk)) == 2)
        return old

    def restart(self) -> None:
        self.session.restart(RestartSession(session="s", call="c", plan="do it", mode="auto", tool_use="t1"))

    async def close(self) -> None:
        """End it, and leave nothing running."""
        await self.session.close()
        while self.tasks:
            await self.tasks.pop()

    async def heard(self, condition: Callable[[], Any]) -> None:
        async with self._came:
            await self._came.wait_for(condition)

    def all(self, kind: type[M]) -> list[M]:
        return [message for message in self.fed if isinstance(message, kind)]

    def _feed(self, *messages: Message) -> None:
        self.fed += messages
        self._spawn(self._notify(), "notify")

    async def _notify(self) -> None:
        async with self._came:
            self._came.notify_all()

    def _spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.tasks.add(task)
        return task

    async def _afresh(self, mode: str) -> SessionOptions:
        self.modes.append(f"start {mode}")
        if self.fails is not None:
            raise self.fails
        return SessionOptions(ClaudeAgentOptions(session_id="new"), {})

    async def _settle(self, mode: str) -> None:
        self.modes.append(f"settle {mode}")

    async def _no_sleep(self, seconds: float) -> None:
        return


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClaude.take(monkeypatch)


def prompt(number: int) -> Prompt:
    return Prompt(session="s", request=number, prompt=f"p{number}", content=(acp.TextContent(text=f"text {number}"),))


def state(number: int, word: str) -> dict[str, Any]:
    return {"type": "command_lifecycle", "command_uuid": f"p{number}", "state": word}


def ask(name: str, tool_use: str) -> dict[str, Any]:
    request = {"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "tool_use_id": tool_use, "input": {}}
    return {"type": "control_request", "request_id": name, "request": request}


def denial(name: str = "a1", tool_use: str = "t1") -> PermissionAnswer:
    return PermissionAnswer(session="s", ask=name, tool_use=tool_use, decision="deny", message="no", interrupt=True)


def result(number: int = 1, **members: Any) -> dict[str, Any]:
    figures = {"opus": {"inputTokens": members.pop("total", 0), "contextWindow": 200}}
    usage = {"input_tokens": members.pop("tokens", 0)}
    return {"type": "result", "user_message_uuid": f"p{number}", "usage": usage, "modelUsage": figures, **members}


def said(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}


def texts(claude: FakeClaude) -> list[str]:
    """What it was prompted with, each with its uuid."""
    users = [frame for frame in claude.written if frame["type"] == "user"]
    return [f"{frame['uuid']}: {frame['message']['content'][0]['text']}" for frame in users]


def answers(claude: FakeClaude) -> list[str]:
    """The asks that were answered."""
    return [frame["response"]["request_id"] for frame in claude.written if frame["type"] == "control_response"]


def test_the_steps() -> None:
    """Nothing of the old one is fed, and only the plan's answer is written to it; when its turn has ended it is closed,
    and a new one, in the mode that was chosen, is given the plan under the running prompt's uuid."""

    async def scenario() -> None:
        scene = Scene()
        old = await scene.begin()
        scene.restart()
        assert scene.fed[-1] == SessionRestarted(session="s")
        old.say(said("leftover"), ask("a3", "t3"))
        scene.session.answer(denial("a2", "t2"))
        scene.session.answer(denial())
        await old.wrote(lambda frame: frame["type"] == "control_response")
        assert (scene.modes, FakeClaude.made is old) == ([], True)
        old.say(result(tokens=10))
        await scene.heard(lambda: scene.all(AgentReply))
        new = FakeClaude.made
        await new.wrote(lambda frame: frame["type"] == "user")
        assert answers(old) == ["a1"]
        assert old.process.returncode is not None
        assert (new.options.session_id, scene.modes) == ("new", ["start auto", "settle auto"])
        assert texts(new) == ["p1: Implement the following plan:\n\ndo it"]
        new.say(state(1, "started"), said("new"), result(tokens=5))
        await scene.heard(lambda: scene.all(Result))
        assert scene.all(Result)[0].usage.input == 15
        assert [text.text for text in scene.all(Text)] == ["new"]
        assert (len(scene.all(PermissionAsk)), len(scene.all(Result)), scene.all(AgentGone)) == (2, 1, [])
        await scene.close()

    run(scenario())


def test_what_waits() -> None:
    """What the old one has in its queue, and what comes meanwhile, is the new one's, behind the plan."""

    async def scenario() -> None:
        scene = Scene()
        old = await scene.begin()
        for number in (2, 3):
            scene.session.prompt(prompt(number))
        old.say(state(2, "queued"))
        scene.session.interrupt(Interrupt(session="s", drop=("p3",)))
        scene.restart()
        scene.session.prompt(prompt(4))
        scene.session.answer(denial())
        old.say(result())
        await scene.heard(lambda: scene.all(AgentReply))
        new = FakeClaude.made
        await new.wrote(lambda frame: frame.get("uuid") == "p4")
        assert [text.partition(":")[0] for text in texts(new)] == ["p1", "p2", "p4"]
        await scene.close()

    run(scenario())


@pytest.mark.parametrize("before", [True, False], ids=["before", "meanwhile"])
def test_a_cancel(before: bool) -> None:
    """A cancelled prompt is answered at once, and the plan is not carried out; the new one serves what follows."""

    async def scenario() -> None:
        scene = Scene()
        old = await scene.begin()
        stop = Interrupt(session="s", drop=("p1",))
        if before:
            scene.session.interrupt(stop)
        scene.restart()
        if not before:
            scene.session.interrupt(stop)
        assert scene.fed[-1] == Interrupted(session="s", dropped=("p1",))
        scene.session.answer(denial())
        old.say(result())
        scene.session.prompt(prompt(2))
        await scene.heard(lambda: scene.all(AgentReply))
        await FakeClaude.made.wrote(lambda frame: frame["type"] == "user")
        assert texts(FakeClaude.made) == ["p2: text 2"]
        await scene.close()

    run(scenario())


def test_one_that_does_not_start() -> None:
    """Where no new one starts the prompt is answered with why, and so is what waits."""

    async def scenario() -> None:
        scene = Scene()
        old = await scene.begin()
        scene.fails = OSError("no room")
        scene.restart()
        scene.session.prompt(prompt(2))
        scene.session.answer(denial())
        old.say(result())
        await scene.heard(lambda: scene.all(AgentGone))
        (reply,), (gone,) = scene.all(AgentReply), scene.all(AgentGone)
        assert (reply.call, gone.prompts, gone.failure) == ("c", ("p1", "p2"), reply.failure)
        assert gone.failure is not None
        assert gone.failure.message.endswith("the plan was not carried out: no room")
        await scene.close()

    run(scenario())


def test_one_that_does_not_end_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old one's turn is waited for a bounded time only; one that dies is not waited for."""

    async def scenario(dies: bool) -> None:
        scene = Scene()
        old = await scene.begin()
        scene.restart()
        scene.session.answer(denial())
        if dies:
            old.end(code=1)
        await scene.heard(lambda: scene.all(AgentReply))
        assert (scene.all(AgentReply)[0].failure, scene.all(AgentGone)) == (None, [])
        await scene.close()

    run(scenario(dies=True))
    monkeypatch.setattr(successor, "ENDS_WITHIN", 0.0)
    run(scenario(dies=False))


def test_without_a_claude_code() -> None:
    """When the old one is dead already there is nothing to take over: the call fails, and nothing else is said."""

    async def scenario() -> None:
        scene = Scene()
        old = await scene.begin()
        old.end(code=1)
        await scene.heard(lambda: scene.all(AgentGone))
        before = len(scene.fed)
        scene.restart()
        (reply,) = scene.fed[before:]
        assert isinstance(reply, AgentReply)
        assert reply.failure is not None
        await scene.close()

    run(scenario())


def test_usage_goes_on() -> None:
    """The old turn's usage is part of its prompt's, once; the session's totals and cost go on, and so they do after a
    second change."""
    first = Result(
        session="s",
        prompts=("p1",),
        usage=TokenCount(input=10),
        cost=1.0,
        model_usage={"opus": {"inputTokens": 10, "contextWindow": 200}, "haiku": {"inputTokens": 3}},
    )
    carried = Carried().after(first, ["p0", "p1"])
    fresh = Result(
        session="s", prompts=("p1",), usage=TokenCount(input=5), cost=0.5, model_usage={"opus": {"inputTokens": 5}}
    )
    other, again, text = fresh, fresh, Text(session="s", text="x")
    (passed,) = carried.messages((text,))
    assert passed is text
    other = carried.add(Result(session="s", prompts=("p9",), usage=TokenCount(input=5)))
    assert (other.usage.input, other.cost) == (5, None)
    added = carried.add(fresh)
    assert (added.usage.input, added.cost) == (15, 1.5)
    assert added.model_usage == {"opus": {"inputTokens": 15, "contextWindow": 200}, "haiku": {"inputTokens": 3}}
    again = carried.add(fresh)
    assert (again.usage.input, again.cost) == (5, 1.5)
    second = carried.after(None, ["p1"]).add(fresh)
    assert (second.usage.input, second.cost, second.model_usage["opus"]["inputTokens"]) == (5, 2.0, 20)


def test_a_renewed_claude_code() -> None:
    """A Claude Code that another one takes over from is gone, with all that it did in the background; the prompts are
    the other's."""

    async def scenario() -> None:
        made = Scene()

        async def again() -> SessionOptions:
            return SessionOptions(ClaudeAgentOptions(), {})

        made.session.again = again
        await made.session.start()
        old = FakeClaude.made

        async def rest() -> None:
            return

        assert await made.session.renew(rest)
        assert FakeClaude.made is not old
        assert made.all(AgentGone) == [AgentGone(session="s", prompts=())]
        await made.close()

    run(scenario())
