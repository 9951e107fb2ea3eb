"""`AvailableCommands` alone: which of Claude Code's commands are offered, and when that is told (reference 10.11)."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Message, Pipeline, StepRunner, acp
from middleware.errors import Failure
from middleware.messages import ClaudeStarted, Commands, Request, RequestFailed, Response, SessionClosed, Update
from middleware.stages import AvailableCommands
from middleware.stages.available_commands import HIDDEN, MCP, TERMINAL, available
from middleware.testing import check_stage

S = "s"
OPENING = Request(request=1, method="session/new", params=None)
OPENED = Response(request=1, result=acp.NewSessionResponse(session_id=S))


def names(*commands: Any, terminal: frozenset[str] = frozenset()) -> list[str]:
    """What is offered of these, without our own."""
    return [command.name for command in available(tuple(commands), terminal) if command is not MCP]


def listed(*names: str, session: str = S) -> Commands:
    return Commands(session=session, commands=tuple({"name": name, "description": name} for name in names))


def told(run: StepRunner, *messages: Message) -> list[list[str]]:
    """The lists that the client is told, as the names in them."""
    before = len(run.client)
    for message in messages:
        run.feed(message).run()
    updates = [message.update for message in run.client[before:] if isinstance(message, Update)]
    return [[c.name for c in u.available_commands] for u in updates if isinstance(u, acp.AvailableCommandsUpdate)]


@pytest.fixture
def run() -> StepRunner:
    return StepRunner(Pipeline([AvailableCommands()]))


@pytest.fixture
def opened(run: StepRunner) -> StepRunner:
    """A session that the client knows, and whose commands it was told."""
    assert told(run, OPENING, listed("review"), OPENED) == [["review", "mcp"]]
    return run


# ------------------------------------------------------------------------------------------ which


def test_a_command() -> None:
    """Name, description, and what may be typed behind it."""
    [command, _] = available(({"name": "review", "description": "Look at it", "argumentHint": "[file]"},))
    assert (command.name, command.description) == ("review", "Look at it")
    assert command.input is not None
    assert command.input.hint == "[file]"


def test_what_is_not_seen() -> None:
    """What is not seen is left out of what is read, and a name with such a character is not offered."""
    hidden = {"name": "review", "description": "d\u202e", "argumentHint": ["a\u200b", "b"]}
    [command, _] = available((hidden, {"name": "re\u200bview"}))
    assert (command.name, command.description) == ("review", "d")
    assert command.input == acp.UnstructuredCommandInput(hint="a b")


@pytest.mark.parametrize("hint", [None, "", [], 7, {}])
def test_no_arguments(hint: Any) -> None:
    """A command without a hint takes no input."""
    assert available(({"name": "review", "argumentHint": hint},))[0].input is None


def test_a_list_of_arguments() -> None:
    """A hint that is a list is joined by blanks."""
    [command, _] = available(({"name": "fix", "argumentHint": ["[issue]", "[branch]"]},))
    assert command.input is not None
    assert command.input.hint == "[issue] [branch]"


def test_hidden() -> None:
    """What is nothing for an editor is not offered, whether or not Claude Code has it."""
    assert names(*({"name": name} for name in sorted(HIDDEN)), {"name": "review"}) == ["review"]
    assert {"clear", "cost", "login", "logout", "mcp", "release-notes", "todos"} < HIDDEN


def test_for_the_terminal() -> None:
    """What only Claude Code's terminal has is not offered."""
    assert names({"name": "mine"}, {"name": "review"}, terminal=frozenset({"mine"})) == ["review"]


def test_prompts_of_servers() -> None:
    """A prompt of an MCP server is called as clients call it."""
    assert names({"name": "server:ask (MCP)"}, {"name": "server:ask"}) == ["mcp:server:ask", "server:ask"]


@pytest.mark.parametrize("name", ["two words", "a\tb", "server:two words (MCP)", "", " (MCP)", None, 7])
def test_names_that_cannot_be_typed(name: Any) -> None:
    """A name with blanks, or none, is not offered."""
    offered = names({"name": name}, {"name": "review"})
    assert offered[-1] == "review"
    assert all(offered)
    assert not any(character.isspace() for each in offered for character in each)


def test_the_same_name_twice() -> None:
    """Of two commands with a name the first is offered; one with ours comes before ours."""
    offered = available(({"name": "a", "description": "first"}, {"name": "a", "description": "second"}))
    assert [command.description for command in offered if command.name == "a"] == ["first"]
    assert [command.name for command in offered].count("mcp") == 1


def test_description() -> None:
    """A command without a description has an empty one: ACP wants one."""
    offered = available(({"name": "a"}, {"name": "b", "description": 7}))
    assert [command.description for command in offered[:2]] == ["", ""]


# ------------------------------------------------------------------------------------------ when


@pytest.mark.parametrize(
    ("method", "result", "session"),
    [
        ("session/new", acp.NewSessionResponse(session_id=S), None),
        ("session/load", acp.LoadSessionResponse(), S),
        ("session/resume", acp.ResumeSessionResponse(), S),
        ("session/fork", acp.ForkSessionResponse(session_id=S), "the original"),
    ],
)
def test_behind_the_answer(run: StepRunner, method: str, result: Any, session: str | None) -> None:
    """The client is told behind the answer by which it knows the session."""
    opening = Request(request=1, method=method, params=None, session=session)
    assert told(run, opening, listed("review")) == []
    assert told(run, Response(request=1, result=result)) == [["review", "mcp"]]
    assert isinstance(run.client[-2], Response)


def test_a_session_that_is_not_opened(run: StepRunner) -> None:
    """Where the request failed there is nobody to tell."""
    failed = RequestFailed(request=1, failure=Failure.internal())
    assert told(run, OPENING, listed("review"), failed, listed("other")) == []


def test_a_full_replacement(opened: StepRunner) -> None:
    """Another list takes the place of the one before it, whole; the same one is not told again."""
    assert told(opened, listed("review")) == []
    assert told(opened, listed("other")) == [["other", "mcp"]]
    assert told(opened, listed()) == [["mcp"]]


def test_terminal_commands_are_learned(opened: StepRunner) -> None:
    """Until Claude Code says which commands only its terminal has, they are known from before."""
    some = sorted(TERMINAL)[0]
    assert told(opened, listed("mine", some)) == [["mine", "mcp"]]
    started = ClaudeStarted(session=S, terminal_commands=("mine",))
    assert told(opened, started, started) == [[some, "mcp"]]
    assert told(opened, ClaudeStarted(session=S)) == []


def test_told_again(opened: StepRunner) -> None:
    """A client that opens the session again has forgotten, and is told again; a session that was closed is new."""
    loading = Request(request=2, method="session/load", params=None, session=S)
    assert told(opened, loading, Response(request=2, result=acp.LoadSessionResponse())) == [["review", "mcp"]]
    assert told(opened, SessionClosed(session=S), listed("review")) == []


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(AvailableCommands, [OPENING, listed("review"), OPENED, listed("other")])
