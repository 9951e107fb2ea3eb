"""What `/mcp` understands and what it says: the texts of reference 08.2."""

from __future__ import annotations

import pytest

from middleware import acp
from middleware.mcp import McpCommand, Server, done, failed, nothing_to_do, parse, servers_in, status_list, targets
from middleware.mcp.markdown import clean_error, code, escaped
from middleware.mcp.status_list import HINT, NO_SERVERS


def command(text: str) -> McpCommand | None:
    return parse([acp.TextContent(text=text)])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/mcp", McpCommand()),
        ("  /mcp \n", McpCommand()),
        ("/mcp reconnect", McpCommand(action="reconnect", everything=True)),
        ("/mcp RECONNECT all", McpCommand(action="reconnect", everything=True)),
        ("/mcp enable all", McpCommand(action="enable", everything=True)),
        ("/mcp disable my  server", McpCommand(action="disable", server="my server")),
        ("/mcp enable", McpCommand(action="enable")),
        ("/MCP", None),
        ("/mcp bogus", None),
        ("/mcp:server:prompt", None),
        ("what is /mcp", None),
        ("", None),
    ],
)
def test_parse(text: str, wanted: McpCommand | None) -> None:
    """`/mcp` exactly, then an action in any case, then a name with its blanks folded; all else is a plain prompt."""
    assert command(text) == wanted


def test_parse_other_content() -> None:
    """A prompt of several blocks, or of none, is no command."""
    block = acp.TextContent(text="/mcp")
    assert parse([block, block]) is None
    assert parse([]) is None
    assert parse([acp.ResourceLink(uri="file:///mcp", name="/mcp")]) is None


LISTED = (
    Server(name="ok", status="connected", tools=5),
    Server(name="one", status="connected", tools=1),
    Server(name="late", status="pending"),
    Server(name="shut", status="needs-auth"),
    Server(name="bad", status="failed", error="Connection closed", tools=2),
    Server(name="odd", status="strange_one"),
    Server(name="off", status="disabled"),
    Server(name="out", status="disabled"),
)


def test_status_list() -> None:
    """Counts and groups, what is wrong first; the disabled on one line; the hint where a reconnect may help."""
    assert status_list(LISTED) == (
        "**MCP servers:** 8 (1 failed, 1 needs authentication, 1 connecting, 2 connected, 1 strange\\_one, 2 disabled)"
        "\n\n**Failed**\n- `bad`: Connection closed; 2 tools"
        "\n\n**Needs authentication**\n- `shut`"
        "\n\n**Connecting**\n- `late`"
        "\n\n**Connected**\n- `ok`: 5 tools\n- `one`: 1 tool"
        "\n\n**Strange\\_one**\n- `odd`"
        "\n\n**Disabled:** `off`, `out`"
        f"\n\n{HINT}"
    )


def test_status_list_without_trouble() -> None:
    """No servers, and none that a reconnect would help: no hint."""
    assert status_list(()) == NO_SERVERS
    assert (
        status_list((Server(name="a", status="connected"),))
        == "**MCP servers:** 1 (1 connected)\n\n**Connected**\n- `a`"
    )
    several = (Server(name="a", status="needs-auth"), Server(name="b", status="needs-auth"))
    assert "(2 need authentication)" in status_list(several)


def test_servers_of_one_name() -> None:
    """Servers of one name are told apart by where they come from."""
    twice = [Server(name="a", status="connected", origin=origin) for origin in ("user", "project")]
    assert status_list(twice).endswith("- `a` (user)\n- `a` (project)")


def test_servers_in() -> None:
    """What Claude Code answers is read as far as it has the right shape; another answer is none."""
    status = {"mcpServers": [{"name": "a", "status": "failed", "error": "x", "tools": [{}], "scope": "user"}, 3, {}]}
    assert servers_in(status) == (Server(name="a", status="failed", error="x", tools=1, origin="user"),)
    assert servers_in({"mcpServers": []}) == ()
    assert servers_in(None) is None
    assert servers_in({}) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/mcp reconnect", ("late", "shut", "bad")),
        ("/mcp enable all", ("off", "out")),
        ("/mcp disable all", ("ok", "one", "late", "shut", "bad", "odd")),
        ("/mcp disable ok", ("ok",)),
        ("/mcp reconnect ok", ("ok",)),
        ("/mcp enable nosuch", ()),
        ("/mcp enable", ()),
    ],
)
def test_targets(text: str, names: tuple[str, ...]) -> None:
    """All means those that the action helps; a name means that one, whatever its state."""
    wanted = command(text)
    assert wanted is not None
    assert targets(wanted, LISTED + LISTED) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/mcp enable all", "Every MCP server is already enabled."),
        ("/mcp disable all", "Every MCP server is already disabled."),
        ("/mcp reconnect", "Every MCP server is connected or disabled. There is nothing to reconnect."),
        ("/mcp enable x", "There's no MCP server named `x`."),
        ("/mcp disable", "Name a server or `all`, for example `/mcp disable <server>`."),
    ],
)
def test_nothing_to_do(text: str, said: str) -> None:
    """Why nothing was done."""
    wanted = command(text)
    assert wanted is not None
    assert nothing_to_do(wanted) == said


def test_result_lines() -> None:
    """A line an action; a failure with what went wrong, where that is known."""
    assert [done(action, "x") for action in ("reconnect", "enable", "disable")] == [
        "- Reconnected `x`",
        "- Enabled `x`",
        "- Disabled `x`",
    ]
    assert failed("enable", "x", "it <broke>") == "- Couldn't enable `x`: it \\<broke\\>"
    assert failed("reconnect", "x", " ") == "- Couldn't reconnect `x`"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        (" a ", "`  a  `"),
        ("a\nb", "`a b`"),
        ("a``b", "```a``b```"),
        ("a\u202eb\x1b[8m", "`a<U+202E>b[8m`"),
    ],
)
def test_code(text: str, span: str) -> None:
    """The fence of a code span is longer than any run of backticks in it."""
    assert code(text) == span


def test_escaped() -> None:
    """Nothing in a text poses as Markdown, and all of it is seen."""
    assert escaped("broken\u202e\x1b[8m") == "broken\\[8m"
    assert escaped("a*b_[c]<d>|\\`\n e") == "a\\*b\\_\\[c\\]\\<d\\>\\|\\\\\\` e"


@pytest.mark.parametrize(
    ("error", "clean"),
    [
        ("Connection closed", "Connection closed"),
        ("MCP error -32000: Connection closed", "Connection closed"),
        ("Request failed: 500: it broke", "it broke"),
        ("mod::err: it broke", "it broke"),
        ("Error: 500", "Error: 500"),
        ("one. two.  three.", "one. two."),
        ("a  b\n c", "a b c"),
        ("x" * 200, "x" * 159 + "…"),
    ],
)
def test_clean_error(error: str, clean: str) -> None:
    """An error loses what it is wrapped in, and all but two sentences and 160 characters."""
    assert clean_error(error) == clean
