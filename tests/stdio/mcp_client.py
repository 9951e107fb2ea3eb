"""What the tests with a real MCP server share: how it is named to the agent, its gates, the client's elicitations."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.stdio.agent_process import TIMEOUT, AgentProcess, Message, Seen

SERVER = Path(__file__).parents[1] / "mcp_server.py"

LEGACY = {"MCP_PROTOCOL_NEGOTIATION": "legacy"}
"""Has Claude Code speak the protocol in which a server asks by a request of its own. Left alone it speaks the newest
one with servers over stdio and HTTP, in which a call's result says what is asked (`input_required`)."""


def patient(**environment: str) -> dict[str, Any]:
    """The `_meta` of a session whose servers have a minute to start: a busy machine takes longer than a user waits."""
    minute = {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000", "MCP_TIMEOUT": "60000"}
    return {"claudeCode": {"options": {"env": {**minute, **environment}}}}


PATIENT = patient()


def server(name: str, **environment: str) -> dict[str, Any]:
    """An MCP server for `session/new`."""
    variables = [{"name": key, "value": value} for key, value in environment.items()]
    return {"name": name, "command": sys.executable, "args": [str(SERVER), name], "env": variables}


class Gate:
    """Where a server waits until the test opens it: whoever connects is let go when the connection is closed."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = str(self._listener.getsockname()[1])
        self._waiting: list[socket.socket] = []
        self.reached = threading.Event()
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    def open(self) -> None:
        self._listener.close()
        for connection in self._waiting:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._waiting.append(connection)
            self.reached.set()


def elicitation(agent: AgentProcess, count: int = 1) -> Message:
    """The `count`th `elicitation/create`."""

    def found(seen: list[Seen]) -> Message | None:
        asked = [item.message for item in seen if item.message.get("method") == "elicitation/create"]
        return asked[count - 1] if len(asked) >= count else None

    message: Message = agent.wait_for(found, f"elicitation {count}")
    return message


def answer(agent: AgentProcess, asked: Message, action: str, **content: Any) -> None:
    result = {"action": action, **({"content": content} if content else {})}
    agent.send({"id": asked["id"], "result": result})


def texts(agent: AgentProcess, session: str) -> list[str]:
    """The messages in a session's chat, each whole."""
    said: dict[Any, str] = {}
    for item in agent.seen:
        if item.update.get("sessionUpdate") == "agent_message_chunk" and item.message["params"]["sessionId"] == session:
            key = item.update.get("messageId") or str(item.update.get("_meta"))
            said[key] = said.get(key, "") + item.update["content"]["text"]
    return list(said.values())


@contextmanager
def over_http(transport: str) -> Iterator[str]:
    """A server in a process of its own that is reached over HTTP; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(SERVER), transport, transport, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + TIMEOUT
        while not _listens(port):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not listen"
            threading.Event().wait(0.02)  # another process listens, and that has no event
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    finally:
        process.kill()
        process.wait(TIMEOUT)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
