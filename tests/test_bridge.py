"""One connection in this process, from its first line to its exit code: two pipes, all the threads, no Claude Code."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acpbridge import bridge as module
from acpbridge import flow
from acpbridge.agent_end import AgentEnd
from acpbridge.bridge import Bridge
from acpbridge.client_end import ClientEnd
from middleware import Message, Pipeline
from middleware.messages import Request, Text
from tests.acp.judge import Judge
from tests.core import logged

SECONDS = 20.0
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'


class Client:
    """An editor at the other end of two pipes."""

    def __init__(self, **arguments: Any) -> None:
        stdin, write = os.pipe()
        read, self._stdout = os.pipe()
        self._stdin = open(stdin, "rb", buffering=1 << 16)  # noqa: SIM115
        self._write = open(write, "wb", buffering=0)  # noqa: SIM115
        self.lines = open(read, "rb")  # noqa: SIM115
        self.bridge = Bridge(self._stdin, self._stdout, **arguments)
        self.judge = Judge()
        self.codes: list[int] = []
        self._thread = threading.Thread(target=lambda: self.codes.append(self.bridge.run()), name="program")

    def start(self) -> Client:
        self._thread.start()
        return self

    def says(self, line: bytes) -> None:
        self._write.write(line + b"\n")

    def hears(self) -> Any:
        message = json.loads(self.lines.readline())
        self.judge.from_agent(message)
        return message

    def initialize(self) -> Any:
        self.judge.from_client(json.loads(INITIALIZE))
        self.says(INITIALIZE)
        return self.hears()

    def asks(self, number: int, method: str, params: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.judge.from_client(message)
        self.says(json.dumps(message).encode())

    def leaves(self) -> int:
        """Close the program's stdin and wait for its end; the exit code."""
        self._write.close()
        return self.code()

    def code(self) -> int:
        self._thread.join(SECONDS)
        [code] = self.codes
        return code

    def rest(self) -> list[Any]:
        """What the program has written; it has ended."""
        os.close(self._stdout)
        self._stdout = -1
        return [json.loads(line) for line in self.lines]

    def close(self) -> None:
        """Go away for good, however far the test has come: no thread may be left."""
        self._write.close()
        self.lines.close()
        if self._thread.ident is not None:
            self._thread.join(SECONDS)
            self.bridge._reader.join(SECONDS)
            self.bridge._writer.close(SECONDS)
        self._stdin.close()
        if self._stdout >= 0:
            os.close(self._stdout)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(SECONDS)
    assert [thread.name for thread in left if thread.is_alive()] == []


Connect = Callable[..., Client]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients, and sees to it that they go."""
    clients: list[Client] = []

    def make(**arguments: Any) -> Client:
        clients.append(Client(**arguments))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client of a program that runs."""
    return connect().start()


def test_a_connection(client: Client) -> None:
    """A client is answered until it closes its end; then the program ends with 0, having answered everything."""
    assert client.initialize()["result"]["protocolVersion"] == 1
    client.asks(1, "session/prompt", {"sessionId": "nobody", "prompt": []})
    assert client.hears()["error"]["code"] == -32002
    client.asks(2, "session/close", {"sessionId": "nobody"})
    assert client.leaves() == 0
    [last] = client.rest()
    assert last["id"] == 2


def test_an_initialize_that_was_answered(connect: Connect) -> None:
    """A first line that has its answer already is taken and not answered again."""
    client = connect(answered=INITIALIZE).start()
    client.says(INITIALIZE)
    client.says(b'{"jsonrpc":"2.0","id":1,"method":"session/close","params":{"sessionId":"s"}}')
    assert json.loads(client.lines.readline()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert client.leaves() == 0


def test_an_end_that_was_asked_for(connect: Connect) -> None:
    """The end may be asked for before the start, more than once, and while the client is still there."""
    client = connect()
    client.bridge.end()
    client.bridge.end()
    assert client.start().code() == 0
    client.bridge.end()


def test_a_client_that_no_longer_reads(client: Client) -> None:
    """When nobody reads its stdout any more the program ends by itself, without an error."""
    client.initialize()
    client.lines.close()
    client.says(b'{"jsonrpc":"2.0","id":1,"method":"session/close","params":{"sessionId":"s"}}')
    assert client.code() == 0


def test_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    """A client that never takes what is written is given up after a bound, and the exit code says so."""
    monkeypatch.setattr(module, "FLUSHED_WITHIN", 0.2)
    monkeypatch.setattr(flow, "pipeline", lambda answered, hide_claude_auth: Pipeline([ClientEnd()]))
    monkeypatch.setattr(flow, "LANES", (1,))
    client = connect().start()
    client.bridge._feed(*(Text(session="s", text="x" * 1000) for _ in range(1000)))
    assert client.leaves() == 1


def test_a_slow_client_holds_claude_code_back(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    """What the client has not taken counts as on its way, so that there is no room until it has."""
    monkeypatch.setattr(flow, "pipeline", lambda answered, hide_claude_auth: Pipeline([ClientEnd()]))
    monkeypatch.setattr(flow, "LANES", (1,))
    client = connect().start()
    agent = client.bridge._agent
    assert agent.has_room()
    client.bridge._feed(*(Text(session="s", text="x" * 1000) for _ in range(2000)))
    assert not agent.has_room()
    for _ in range(2000):
        assert b"x" * 1000 in client.lines.readline()
    assert client.bridge._in_flight.wait_room(SECONDS)
    assert client.bridge._in_flight.wait_idle(SECONDS)
    assert client.leaves() == 0


def test_a_failure_on_a_thread(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    """A thread that failed makes the exit code 1, and what the client is owed is written all the same."""
    accept = AgentEnd.accept

    def fails(self: AgentEnd, message: Message) -> None:
        if isinstance(message, Request):
            raise RuntimeError("cannot be taken")
        accept(self, message)

    monkeypatch.setattr(AgentEnd, "accept", fails)
    client = connect().start()
    client.initialize()
    client.asks(1, "session/list", {})
    with logged() as log:
        assert client.leaves() == 1
    assert "acp writer" not in [thread.name for thread in threading.enumerate()]  # it has written all and ended
    [answer] = client.rest()
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)
    assert any("a thread had failed before the end" in entry for entry in log)


def test_an_agent_end_that_does_not_close(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    """An agent end that hangs is given up after a bound and logged; the program ends all the same."""

    async def hangs(self: AgentEnd) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "AGENT_CLOSES_WITHIN", 0.2)
    monkeypatch.setattr(AgentEnd, "_close_all", hangs)
    client.initialize()
    with logged() as log:
        assert client.leaves() == 0
    assert any("Claude Code was not closed within" in entry for entry in log)
