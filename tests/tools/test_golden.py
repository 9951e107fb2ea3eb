"""Every tool and every family, against what was decided that a client is shown of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from middleware.tools import TOOLS
from tests.tools.cases import FAMILIES, GOLDEN, Case

CASES = [(family, name, case) for family, cases in FAMILIES.items() for name, case in cases.items()]


@pytest.mark.parametrize(("family", "name", "case"), CASES, ids=[f"{family}: {name}" for family, name, _ in CASES])
def test_golden(family: str, name: str, case: Case) -> None:
    """A call and its result are what the golden file says (`python -m tests.tools.cases` writes it)."""
    golden: dict[str, Any] = json.loads((GOLDEN / f"{family}.json").read_text(encoding="utf-8"))
    assert case.play() == golden[name]


def test_golden_files_have_no_more() -> None:
    """A case that was taken out leaves nothing behind in the golden files."""
    for family, cases in FAMILIES.items():
        assert json.loads((GOLDEN / f"{family}.json").read_text(encoding="utf-8")).keys() == cases.keys()


def test_every_tool_has_a_case() -> None:
    """A row of the table that no case uses is a tool that nobody looked at."""
    used = {case.tool for cases in FAMILIES.values() for case in cases.values()}
    aliases = {"KillBash", "tool_search_tool_bm25"}
    assert TOOLS.keys() - used == aliases


@pytest.mark.parametrize(("family", "name", "case"), CASES, ids=[f"{family}: {name}" for family, name, _ in CASES])
def test_every_call(family: str, name: str, case: Case) -> None:
    """Each call has a kind, a title and the tool's name, ends once, and its raw output is an object or absent."""
    announced, *updates = case.play()
    assert announced["sessionUpdate"] == "tool_call"
    assert announced["title"]
    assert announced["kind"]
    assert announced["name"] == case.tool
    assert [update["status"] for update in updates] == ["failed" if _fails(case) else "completed"]
    assert all(isinstance(update.get("rawOutput", {}), dict) for update in updates)
    assert all(update["_meta"]["claudeCode"]["toolName"] == case.tool for update in (announced, *updates))


def _fails(case: Case) -> bool:
    return case.given.get("is_error", False) or "_error" in str(case.given.get("content"))
