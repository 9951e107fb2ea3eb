"""A real MCP server for tests, over stdio, or HTTP: `python tests/mcp_server.py NAME [sse|streamable-http PORT]`.

Tools `echo`, `slow`, `fails`, `asks` (a form), `opens` (a URL) and `needs` (a URL, by an error), and the prompt
`greet`. How it asks is the protocol's choice: up to 2025-11-25 by a request of its own, since 2026-07-28 by the result
`input_required`, after which the call is made again with the answer. What waits, waits for a gate of the test: a TCP
port that answers by closing the connection, so that nobody sleeps.

    MCP_TEST_FAIL=1         the server ends before it has said anything
    MCP_TEST_START=PORT     it says nothing before the gate at this port opens
    MCP_TEST_GATE=PORT      the gate at which `slow` waits
"""

from __future__ import annotations

import os
import socket
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least
from pydantic import BaseModel

WHO = "Who are you?"


class Answer(BaseModel):
    """What `asks` wants to know."""

    name: str


def build(name: str) -> MCPServer:
    """The server, ready to run."""
    server = MCPServer(name)
    visited: list[str] = []

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return f"echo: {text}"

    @server.tool()
    async def slow() -> str:
        """Come back when the gate opens."""
        await anyio.to_thread.run_sync(wait_at, int(os.environ["MCP_TEST_GATE"]), abandon_on_cancel=True)
        return "slow is through"

    @server.tool()
    def fails() -> str:
        """Fail."""
        raise ToolError("fails as it should")

    @server.tool()
    async def asks(context: Context) -> str | InputRequiredResult:
        """Ask the person for a name."""
        if _asks_by_result(context):
            form = ElicitRequestFormParams(message=WHO, requested_schema=Answer.model_json_schema())
            return _asked(context, form)
        answer = await context.elicit(WHO, Answer)
        return f"{answer.action}: {answer.data.name}" if answer.action == "accept" else answer.action

    @server.tool()
    async def opens(context: Context) -> str | InputRequiredResult:
        """Send the person to a page, and say that it is done."""
        if _asks_by_result(context):
            return _asked(
                context, ElicitRequestURLParams(message="Please sign in.", url="https://example.test/sign-in")
            )
        answer = await context.elicit_url("Please sign in.", "https://example.test/sign-in", "elicitation-1")
        if answer.action == "accept":
            await context.session.send_elicit_complete("elicitation-1")
        return answer.action

    @server.tool()
    async def needs(context: Context) -> str:
        """Refuse to run before the person was at a page; run when it is called again."""
        if not visited:
            visited.append("https://example.test/needed")
            page = ElicitRequestURLParams(message="Please pay.", url=visited[0], elicitation_id="elicitation-2")
            raise UrlElicitationRequiredError([page])
        return "paid"

    @server.prompt()
    def greet(who: str) -> str:
        """Greet somebody."""
        return f"Please greet {who}."

    return server


def _asks_by_result(context: Context) -> bool:
    return is_version_at_least(context.request_context.protocol_version, "2026-07-28")


def _asked(context: Context, question: ElicitRequestFormParams | ElicitRequestURLParams) -> str | InputRequiredResult:
    """The answer, in the words of the older protocol, or the question."""
    answer = (context.input_responses or {}).get("the question")
    if not isinstance(answer, ElicitResult):
        return InputRequiredResult(input_requests={"the question": ElicitRequest(params=question)})
    return f"{answer.action}: {answer.content['name']}" if answer.content else answer.action


def wait_at(port: int) -> None:
    """Return when whoever listens at this port closes the connection."""
    with socket.create_connection(("127.0.0.1", port)) as gate:
        gate.recv(1)


def main() -> None:
    if os.environ.get("MCP_TEST_FAIL"):
        sys.exit("fails at its start, as it should")
    if "MCP_TEST_START" in os.environ:
        wait_at(int(os.environ["MCP_TEST_START"]))
    server = build(sys.argv[1] if len(sys.argv) > 1 else "test")
    match sys.argv[2:]:
        case ["sse", port]:
            server.run("sse", port=int(port))
        case ["streamable-http", port]:
            server.run("streamable-http", port=int(port))
        case _:
            server.run("stdio")


if __name__ == "__main__":
    main()
