"""What a client is sent: every case of the golden file, and the limits of what may be said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from middleware import ClientProfile
from middleware.messages import PermissionRequest
from middleware.stages import Permissions
from tests.permissions.cases import CASES, GOLDEN, ask, play
from tests.tools.play import AIR, CWD, HOME, PLAIN, Json, runner, texts, wire


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    """A request is what the golden file says (`python -m tests.permissions.cases` writes it)."""
    assert play(name) == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


def test_golden_file_has_no_more() -> None:
    """A case that was taken out leaves nothing behind in the golden file."""
    assert json.loads(GOLDEN.read_text(encoding="utf-8")).keys() == CASES.keys()


def asked(name: str, input: Json | None = None, profile: ClientProfile = PLAIN, **members: Any) -> Json:
    made = runner(Permissions(home=HOME), profile=profile)
    (request,) = wire(made.feed(ask(name, input or {}, **members)).run().client)
    return request


def told(request: Json) -> Json:
    permission: Json = request["_meta"]["permission"]
    return permission


@pytest.mark.parametrize("name", CASES)
def test_every_request(name: str) -> None:
    """Each request has a version, a heading, a kind, and a call whose fields clients show by themselves."""
    request = play(name)
    assert told(request)["version"] == 1
    assert told(request)["title"]
    call = request["toolCall"]
    assert {"toolCallId", "name", "title", "kind", "status", "content", "rawInput"} <= call.keys()
    assert call["status"] == "pending"
    assert ("jetbrains" in request["_meta"]) == (CASES[name][1] is AIR)


def test_air_has_its_own_place() -> None:
    """AIR finds the presentation where it looks for it too; nobody else is sent that key."""
    placed = asked("Read", {"file_path": "/x"}, AIR, decision_reason="why")["_meta"]["jetbrains"]["air"]
    assert placed == {
        "version": 1,
        "permission": {"version": 1, "title": "Read /x", "description": "Reason: why"},
    }


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Needed.", "Reason: Needed."),
        (" two\nlines\ttab \x1b[31m", "Reason: two\nlines\ttab [31m"),
        ("\ud800", "Reason: \ufffd"),
        ("a\u202e\u200bb\x9b", "Reason: ab"),
        ("x" * 4000, "Reason: " + "x" * 4000),
        ("x" * 4001, None),
        (" \x00 ", None),
        ("", None),
        (None, None),
    ],
    ids=[
        "text",
        "controls",
        "surrogate",
        "what is not seen",
        "at the limit",
        "too long",
        "nothing left",
        "empty",
        "none",
    ],
)
def test_reasons(reason: str | None, expected: str | None) -> None:
    """A reason is told without control characters; one that is too long is left out, never cut."""
    assert told(asked("Read", decision_reason=reason)).get("description") == expected


@pytest.mark.parametrize(
    ("name", "input", "expected"),
    [
        ("ExitPlanMode", {"plan": "1."}, "Ready to code?"),
        ("Bash", {"command": "a  b\n\tc\x07"}, "a  b\n\tc"),
        ("Bash", {"command": "a\u202eb\rc"}, "a<U+202E>b<U+000D>c"),
        ("Bash", {"command": "x" * 5000}, "x" * 5000),
        ("PowerShell", {}, "Terminal"),
        ("AnyTool", {"query": "a\nb"}, "AnyTool: a b"),
        ("AnyTool", {"query": "a\u2066b"}, "AnyTool: a<U+2066>b"),
        ("WebFetch", {"url": "https://a.test/\u202ex"}, "Fetch https://a.test/<U+202E>x"),
        ("Grep", {"pattern": "a\u200bb", "path": "x\u200by"}, 'grep "a<U+200B>b" x<U+200B>y'),
        ("Read", {"file_path": "/x\u200by"}, "Read /x<U+200B>y"),
        ("WebSearch", {"query": "a\u200bb"}, 'Search "a<U+200B>b"'),
        ("ToolSearch", {"query": "a\u200bb"}, 'Search tools "a<U+200B>b"'),
        ("Glob", {"pattern": "*\u200b", "path": "/x\u202e"}, "Find `/x<U+202E>` `*<U+200B>`"),
        ("SendMessage", {"to": "a\u200bb"}, "SendMessage: a<U+200B>b"),
        ("Monitor", {"command": "a\u202eb"}, "Monitor: a<U+202E>b"),
        ("Agent", {"description": "a\u202eb"}, "ab"),
        ("Skill", {"skill": "a\u202eb"}, "Load skill: a<U+202E>b"),
        ("Agent", {"description": "x" * 4001}, "Use tool?"),
    ],
)
def test_headings(name: str, input: Json, expected: str) -> None:
    """The heading is the call's title, a command's verbatim, another's in one line; one too long is replaced."""
    assert told(asked(name, input))["title"] == expected


@pytest.mark.parametrize(
    ("name", "input", "expected"),
    [
        ("Bash", {"command": "ls", "description": "a\u202eb"}, "ab"),
        ("WebFetch", {"url": "https://a.test", "prompt": "a\u202eb"}, "a<U+202E>b"),
        ("Agent", {"description": "d", "prompt": "a\u202eb"}, "a<U+202E>b"),
        ("SendMessage", {"to": "x", "message": "a\u202eb"}, "a<U+202E>b"),
        ("ExitPlanMode", {"plan": "1. a\u202eb"}, "1. a<U+202E>b"),
        ("SandboxNetworkAccess", {"host": "a\u202eb"}, '```json\n{\n  "host": "a<U+202E>b"\n}\n```'),
        ("Monitor", {"command": "a\u202eb"}, "```console\na<U+202E>b\n```"),
    ],
)
def test_contents(name: str, input: Json, expected: str) -> None:
    """What a request shows beside its title is all seen: words without, and what will be acted on spelled."""
    (content,) = asked(name, input)["toolCall"]["content"]
    assert content["content"]["text"] == expected


@pytest.mark.parametrize(
    ("name", "input", "display", "expected"),
    [
        ("SandboxNetworkAccess", {"host": " a\tb "}, None, "a b"),
        ("SandboxNetworkAccess", {"host": "x" * 161}, None, "SandboxNetworkAccess"),
        ("SandboxNetworkAccess", {}, None, "SandboxNetworkAccess"),
        ("SandboxNetworkAccess", {"host": "a\u200b.test"}, None, "a<U+200B>.test"),
        ("mcp__computer-use__click", {}, "Click\x00 i\u202et", "Click it"),
        ("mcp__computer-use__click", {}, None, "mcp__computer-use__click"),
        ("mcp__tiny__echo", {}, "Echo", "mcp__tiny__echo"),
    ],
)
def test_titles(name: str, input: Json, display: str | None, expected: str) -> None:
    """A host, or the display name of a computer-use tool, is the call's title; too long a name is none."""
    assert asked(name, input, display_name=display)["toolCall"]["title"] == expected


@pytest.mark.parametrize(
    ("blocked", "expected"),
    [
        ("/etc/x", [{"path": f"{CWD}/a"}, {"path": "/etc/x"}]),
        (f"{CWD}/a", [{"path": f"{CWD}/a"}]),
        ("/etc/x\n", [{"path": f"{CWD}/a"}]),
        ("/" + "x" * 4096, [{"path": f"{CWD}/a"}]),
        (None, [{"path": f"{CWD}/a"}]),
    ],
    ids=["added", "known", "two lines", "too long", "none"],
)
def test_blocked_path(blocked: str | None, expected: list[Json]) -> None:
    """The path that was blocked is a location of the request, unless it is one already or no path."""
    request = asked("Write", {"file_path": f"{CWD}/a"}, blocked_path=blocked)
    assert request["toolCall"]["locations"] == expected


def test_empty_calls_are_shown_by_their_input() -> None:
    """Where the renderer of a sandbox or computer-use request has no content, the input is it."""
    assert texts(asked("SandboxNetworkAccess", {"host": "x"})["toolCall"]) == ['```json\n{\n  "host": "x"\n}\n```']
    assert texts(asked("mcp__tiny__echo", {"text": "x"})["toolCall"]) == []


def test_questions_are_no_permissions() -> None:
    """AskUserQuestion is never asked as a permission: it is denied, so that Claude goes on."""
    made = runner(Permissions(home=HOME)).feed(ask("AskUserQuestion", {"questions": []})).run()
    assert made.client == []
    (answer,) = made.agent
    assert (answer.decision, answer.message) == ("deny", "Could not present the question to the user.")  # type: ignore[attr-defined]


def test_request_of_another_stage_passes() -> None:
    """A request that somebody else has worded is left as it is."""
    first = runner(Permissions(home=HOME)).feed(ask("Bash", {"command": "ls"})).run().client[0]
    assert isinstance(first, PermissionRequest)
    assert runner(Permissions(home=HOME)).feed(first).run().client == [first]
