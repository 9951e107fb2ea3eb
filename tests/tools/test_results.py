"""Results in detail: what is big, what is strange, and what a client is told of a tool's own object."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from middleware import acp
from middleware.stages import ToolCalls
from middleware.tools import Given, describe_result, response_meta
from middleware.tools.agents import report
from middleware.tools.blocks import contents_of
from middleware.tools.text import REPEATED
from tests.acp.official import problems
from tests.tools.play import TERMINALS, merged, played, result, texts, use
from tests.tools.test_text import JSON


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("said\nagentId: a1 (use SendMessage to go on)", "said"),
        ("said\nagentId: a1 (use SendMessage)\n<usage>tokens: 1\ntools: 2</usage>\n", "said"),
        ("agentId: stays (in the middle)\nsaid", "agentId: stays (in the middle)\nsaid"),
        ("  note\n[Subagent hand-back] header\n  one\n    two\nthree", "one\n  two\nthree"),
        (
            "NOTE: this agent stopped at its 12-turn limit before finishing. Go on.\n\nhalf",
            "[Agent stopped at its turn",
        ),
    ],
    ids=["plain", "id", "usage", "id inside", "frame", "limit"],
)
def test_report(text: str, expected: str) -> None:
    """Of what a subagent gives back, the report is shown, and nothing of what it is wrapped in for the model."""
    assert report(text).startswith(expected) if expected.startswith("[") else report(text) == expected


@settings(deadline=None, max_examples=20)
@given(some.one_of(some.none(), some.text(max_size=20), some.lists(JSON, max_size=4), JSON), some.booleans())
def test_any_content_gives_legal_acp(content: Any, is_error: bool) -> None:
    """Whatever a tool gives, in whatever form, the update is legal, and ends the call."""
    for name in ("Bash", "Read", "Write", "Agent", "WebSearch", "ExitPlanMode", "mcp__x__y", "code_execution"):
        (_, *updates) = played(ToolCalls(), use(name), result(content, is_error=is_error))
        assert merged(updates)["status"] in ("completed", "failed")


@settings(deadline=None, max_examples=20)
@given(some.dictionaries(some.sampled_from(["type", "file", "content", "structuredPatch", "results", "stdout"]), JSON))
def test_any_object_gives_legal_acp(structured: dict[str, Any]) -> None:
    """Whatever a tool's own object is, the update is legal, and ends the call."""
    for name in ("Bash", "Read", "Write", "Edit", "Agent", "WebSearch", "ExitPlanMode"):
        input = {"file_path": "/repo/a", "content": "x"}
        (_, *updates) = played(ToolCalls(), use(name, input), result("ok", structured=structured))
        assert merged(updates)["status"] == "completed"


BLOCK_TYPES = ["image", "audio", "document", "resource", "resource_link", "tool_reference", "web_search_result", "x"]


@settings(deadline=None)
@given(some.sampled_from(BLOCK_TYPES), some.dictionaries(some.text(max_size=8), JSON, max_size=4))
def test_malformed_blocks(kind: str, members: dict[str, Any]) -> None:
    """A block that is not what its type says is shown all the same, and legally."""
    for item in contents_of([{**members, "type": kind}]):
        assert problems("ToolCallContent", acp.unstructure(item, acp.ToolCallContent)) == []


def test_large_unknown_block() -> None:
    """A block that nobody knows and that is large is named, not poured out."""
    (item,) = contents_of([{"type": "hologram", "data": "x" * (REPEATED + 1)}])
    assert texts({"content": [acp.unstructure(item, acp.ToolCallContent)]}) == [
        "[content of the type hologram: too large to be shown]"
    ]


def test_surrogates_and_separators() -> None:
    """A lone surrogate or a line separator in a result reaches no client."""
    (_, update) = played(ToolCalls(), use("Bash", {"command": "x\ud800"}), result("a\ud800b\u2028c"))
    assert texts(update) == ["```console\na\ufffdb\nc\n```"]
    assert update["rawOutput"]["output"] == "a\ufffdb\nc"


@pytest.mark.parametrize("name", ["Bash", "Read", "mcp__x__y", "Agent"])
def test_ten_megabytes(name: str) -> None:
    """A large result is shown once: raw members do not repeat it, and the update is not much longer than the result."""
    text = "0123456789abcde\n" * (10 * 65536)
    (_, update) = played(ToolCalls(), use(name), result(text, structured={"stdout": text, "type": "text"}))
    assert sum(map(len, texts(update))) >= len(text) - 1
    assert len(str(update)) < 1.2 * len(text)


def steps(play: Callable[[], object]) -> int:
    """How many lines of the library run in this call."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if "middleware" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        play()
    finally:
        sys.settrace(before)
    return count


LINES = "line `x` ```\u2028\n"


@pytest.mark.parametrize(
    ("name", "given_of"),
    [
        ("Bash", lambda count: Given(content=LINES * count)),
        ("Bash", lambda count: Given(structured={"stdout": LINES * count, "stderr": LINES * count})),
        ("Read", lambda count: Given(structured={"type": "text", "file": {"content": LINES * count}})),
        ("Agent", lambda count: Given(content=f"[Subagent hand-back] x\n{LINES * count}<usage>" * 2)),
        ("mcp__x__y", lambda count: Given(content=[{"type": "text", "text": LINES}] * count)),
        (
            "Edit",
            lambda count: Given(structured={"filePath": "/a", "structuredPatch": [{"lines": [f"+{LINES}"]}] * count}),
        ),
    ],
    ids=["text", "output", "file", "report", "blocks", "hunks"],
)
def test_work_is_linear_in_the_result(name: str, given_of: Callable[[int], Given]) -> None:
    """Twice the lines are at most twice the steps, not four times."""
    single = steps(lambda: describe_result(name, {}, given_of(2_000)))
    double = steps(lambda: describe_result(name, {}, given_of(4_000)))
    assert 0 < double <= 2 * single + 100


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (None, None),
        ({"stdout": "x", "n": [1, 2]}, {"stdout": "x", "n": [1, 2]}),
        ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}]),
        (
            {"type": "update", "content": "x" * REPEATED, "structuredPatch": [{"lines": ["a"]}], "userModified": False},
            {"type": "update", "userModified": False},
        ),
        ("x" * (REPEATED + 1), None),
    ],
    ids=["none", "short", "list", "long", "long text"],
)
def test_response_meta(response: Any, expected: Any) -> None:
    """A tool's own object is told whole while it is short, else by its short members: the rest is shown elsewhere."""
    assert response_meta(response) == expected


def test_images_of_a_command_on_a_terminal() -> None:
    """What a terminal cannot show stands beside it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    (_, update) = played(ToolCalls(), use("Bash"), result([image], structured={"isImage": True}), profile=TERMINALS)
    assert [item["type"] for item in update["content"]] == ["terminal", "content"]
