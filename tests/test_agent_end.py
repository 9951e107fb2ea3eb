"""The agent end with sessions of cardboard: who gets what, that each request has its answer, and how all of it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acpbridge import sessions
from acpbridge.agent_end import AgentEnd
from acpbridge.claude.client_options import WrongOption
from acpbridge.claude.flow_control import FlowControl
from acpbridge.claude.loop import SdkLoop
from acpbridge.sessions.failures import RequestRefused
from middleware import Message, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentCall,
    AgentReply,
    Closing,
    Initialized,
    Interrupt,
    PermissionAnswer,
    Prompt,
    Request,
    RequestFailed,
    Response,
    RestartSession,
    SessionClosed,
)
from middleware.profile import ClientProfile
from tests.core import Up, logged

SECONDS = 20.0


class Cardboard:
    """A session that notes what it is given."""

    def __init__(self, room: Callable[[], bool] = lambda: True) -> None:
        self.given: list[Any] = []
        self.flow = FlowControl(room)
        self.closing: Callable[[], Any] | None = None

    def prompt(self, message: Message) -> None:
        self.given.append(message)

    interrupt = answer = restart = prompt

    async def close(self) -> None:
        self.given.append("close")
        if self.closing is not None:
            await self.closing()


class Ended:
    """An agent end on its loop, and what it fed."""

    def __init__(self) -> None:
        self.loop = SdkLoop()
        self.fed: list[Message] = []
        self._came = threading.Condition()
        self.room = True
        self.end = AgentEnd(self.loop, feed=self._feed, has_room=lambda: self.room)
        self.loop.start()

    def _feed(self, *messages: Message) -> None:
        with self._came:
            self.fed += messages
            self._came.notify_all()

    def wait(self, count: int) -> list[Message]:
        """The first messages that were fed, once there are so many."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.fed) >= count, SECONDS), f"only {self.fed} came"
        return self.fed[:count]

    def settle(self) -> None:
        """Wait until what was handed in has run."""
        done = threading.Event()
        self.loop.call(done.set)
        assert done.wait(SECONDS)

    def accept(self, *messages: Message) -> None:
        for message in messages:
            self.end.accept(message)
        self.settle()

    def session(self, name: str, **arguments: Any) -> Cardboard:
        self.end.sessions[name] = session = Cardboard(**arguments)  # type: ignore[assignment]
        return session


@pytest.fixture
def agent() -> Iterator[Ended]:
    ended = Ended()
    yield ended
    ended.loop.stop()


def served(monkeypatch: pytest.MonkeyPatch, serve: Any, method: str = "session/list") -> None:
    monkeypatch.setattr(sessions, "METHODS", {method: serve})


def request(number: int = 1, method: str = "session/list", session: str | None = None) -> Request:
    return Request(request=number, method=method, params=acp.ListSessionsRequest(), session=session)


def prompt(session: str, number: int = 1) -> Prompt:
    return Prompt(session=session, request=number, prompt=f"u{number}", content=())


def test_what_is_for_a_session(agent: Ended) -> None:
    """Prompts, interrupts, restarts and answers reach their own session, in their order."""
    one, other = agent.session("one"), agent.session("other")
    said = [
        prompt("one"),
        Interrupt(session="one", drop=("u1",)),
        RestartSession(session="one", call="c", plan="do it", mode="auto"),
        PermissionAnswer(session="one", ask="a", decision="allow"),
        prompt("one", 2),
    ]
    agent.accept(said[0], prompt("other", 3), *said[1:])
    assert one.given == said
    assert other.given == [prompt("other", 3)]
    assert agent.fed == []


def test_a_session_that_is_not_there(agent: Ended) -> None:
    """A prompt for an unknown session is -32002 and names it; what needs no answer is dropped."""
    gone = Interrupt(session="nobody")
    agent.accept(gone, PermissionAnswer(session="nobody", ask="a", decision="allow"), prompt("nobody", 7))
    assert agent.fed == [RequestFailed(request=7, failure=Failure.session_not_found("nobody"))]


def test_a_prompt_that_cannot_be_written(agent: Ended) -> None:
    """A prompt that no frame can be made of is answered, and what is said behind it is given all the same."""
    session = agent.session("one")
    give = session.prompt

    def fails(message: Message) -> None:
        if message == prompt("one", 1):
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        give(message)

    session.prompt = fails  # type: ignore[method-assign]
    agent.accept(prompt("one", 1), prompt("one", 2))
    [failed] = agent.fed
    assert isinstance(failed, RequestFailed)
    assert (failed.request, failed.failure.code) == (1, -32603)
    assert session.given == [prompt("one", 2)]


def test_a_request_is_answered(agent: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a method returns is the answer of its request, and slow ones do not hold others up."""
    slow = asyncio.Event()

    async def serve(end: AgentEnd, request: Request) -> str:
        if request.request == 1:
            await slow.wait()
        else:
            slow.set()
        return f"result {request.request}"

    served(monkeypatch, serve)
    agent.accept(request(1), request(2))
    assert sorted(agent.wait(2), key=lambda message: message.request) == [  # type: ignore[attr-defined]
        Response(request=1, result="result 1"),
        Response(request=2, result="result 2"),
    ]
    assert agent.fed[0] == Response(request=2, result="result 2")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RequestRefused(Failure.auth_required("log in")), Failure.auth_required("log in")),
        (WrongOption("`model` must be a text"), Failure.invalid_params("`model` must be a text")),
    ],
)
def test_a_request_that_is_refused(
    error: Exception, failure: Failure, agent: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the client got wrong is its answer; the log has no more of it than the method."""

    async def serve(end: AgentEnd, request: Request) -> None:
        raise error

    served(monkeypatch, serve)
    with logged() as log:
        agent.accept(request(5))
        assert agent.wait(1) == [RequestFailed(request=5, failure=failure)]
    assert log == ["DEBUG session/list\n"]


def test_a_request_on_which_we_fail(agent: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is -32603, and in the log in full."""

    async def serve(end: AgentEnd, request: Request) -> None:
        raise RuntimeError("unforeseen")

    served(monkeypatch, serve)
    with logged() as log:
        agent.accept(request(5))
        [failed] = agent.wait(1)
    assert isinstance(failed, RequestFailed)
    assert failed.failure.code == -32603
    assert "RuntimeError: unforeseen" in "".join(log)


def test_a_method_that_nobody_serves(agent: Ended) -> None:
    """A method of ACP that this agent does not have is -32601."""
    agent.accept(request(5, "session/nope"))
    [failed] = agent.wait(1)
    assert isinstance(failed, RequestFailed)
    assert failed.failure == Failure.method_not_found("session/nope")


def test_a_call_that_nobody_serves(agent: Ended) -> None:
    """A stage that asks for what is not there gets an answer all the same."""
    agent.accept(AgentCall(session="one", call="c", name="nope"))
    assert agent.wait(1) == [AgentReply(session="one", call="c", failure=Failure.method_not_found("nope"))]


def test_who_the_client_is(agent: Ended) -> None:
    """The client's profile is kept for those who open sessions."""
    profile = ClientProfile(capabilities={"terminal": True}, name="editor")
    agent.accept(Initialized(profile=profile))
    assert agent.end.profile == profile


def test_what_has_no_meaning_here(agent: Ended) -> None:
    """A message that nobody expects is dropped, by its name in the log, and nothing breaks."""
    with logged() as log:
        agent.accept(Up(number=3))
        agent.accept(prompt("nobody"))
    assert len(agent.wait(1)) == 1
    assert any("no use for Up" in entry for entry in log)


def test_room_again(agent: Ended) -> None:
    """When the pipeline has room again every session's reader looks once more."""
    agent.room = False
    readers: list[asyncio.Future[None]] = []
    both = [agent.session(name, room=lambda: agent.room) for name in ("one", "other")]

    def hold() -> None:
        for session in both:
            room = session.flow.wait()
            assert room is not None
            readers.append(asyncio.ensure_future(room))

    agent.loop.call(hold)
    agent.settle()
    agent.room = True
    gone_on = threading.Event()
    agent.loop.call(lambda: asyncio.gather(*readers).add_done_callback(lambda _: gone_on.set()))
    agent.end.room_changed()
    assert gone_on.wait(SECONDS)


def test_closing(agent: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end every session is closed, all at once, one that fails too, each is said to be over, and only then the
    end is reached; a second `Closing` changes nothing; later requests are refused."""
    started: list[str] = []
    together = asyncio.Event()

    def closes(name: str, fails: bool = False) -> Callable[[], Any]:
        async def close() -> None:
            started.append(name)
            if len(started) == 3:
                together.set()
            await together.wait()
            assert not agent.end.closed.is_set()
            if fails:
                raise RuntimeError("will not end")

        return close

    for name in ("a", "b", "c"):
        agent.session(name).closing = closes(name, fails=name == "b")

    async def serve(end: AgentEnd, request: Request) -> None:
        raise AssertionError("served after the end began")

    served(monkeypatch, serve)
    with logged() as log:
        agent.accept(Closing(), Closing())
        assert agent.end.closed.wait(SECONDS)
    closed = sorted(message.session for message in agent.fed if isinstance(message, SessionClosed))
    assert closed == ["a", "b", "c"]
    assert sum("did not end as it should" in entry for entry in log) == 1
    assert agent.end.sessions == {}
    agent.accept(request(9), prompt("a", 8))
    answers = {message.request: message for message in agent.wait(5)[3:] if isinstance(message, RequestFailed)}
    assert answers[9].failure == Failure.internal("The agent is closing.")
    assert answers[8].failure == Failure.session_not_found("a")


def test_closing_while_a_session_opens(agent: Ended) -> None:
    """A session that is registered while the others close, since its request was under way, is closed too."""
    late: list[Cardboard] = []

    async def opens() -> None:
        late.append(agent.session("late"))

    agent.session("one").closing = opens
    agent.accept(Closing())
    assert agent.end.closed.wait(SECONDS)
    assert late[0].given == ["close"]
    assert agent.fed == [SessionClosed(session="one"), SessionClosed(session="late")]


def test_closing_without_sessions(agent: Ended) -> None:
    """With nothing open the end is reached at once."""
    agent.accept(Closing())
    assert agent.end.closed.wait(SECONDS)
    assert agent.fed == []


def test_a_session_is_closed_once(agent: Ended) -> None:
    """A session that is closed twice, or was never open, is closed all the same, and said to be over once."""
    session = agent.session("one")
    done = threading.Event()

    async def twice() -> None:
        await agent.end.close_session("one")
        await agent.end.close_session("one")
        await agent.end.close_session("nobody")
        done.set()

    agent.loop.call(lambda: agent.loop.spawn(twice(), "twice"))
    assert done.wait(SECONDS)
    assert session.given == ["close"]
    assert agent.fed == [SessionClosed(session="one")]


def test_the_sdk_is_imported_elsewhere(agent: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is imported on a thread of its own, and a failure of that is logged, not raised."""
    import importlib

    names: list[str] = []
    imported = threading.Event()

    def fails(name: str) -> None:
        names.append(threading.current_thread().name)
        imported.set()
        raise ImportError("no such SDK")

    monkeypatch.setattr(importlib, "import_module", fails)
    with logged() as log:
        agent.end.start()
        assert imported.wait(SECONDS)
        for thread in threading.enumerate():
            if thread.name == "sdk import":
                thread.join(SECONDS)
    assert names == ["sdk import"]
    assert any("claude-agent-sdk cannot be imported" in entry for entry in log)
