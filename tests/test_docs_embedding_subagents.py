"""docs/_embedding_subagents.md: every code block runs, each section from a clean start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "_embedding_subagents.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## (.*?)$.*?```python\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_block(title: str, code: str) -> None:
    """The example of this section runs, and its own assertions hold."""
    exec(compile(code, f"_embedding_subagents.md: {title}", "exec"), {"__name__": "__embedding__"})


def test_both_sections() -> None:
    """There is a bridge with each of the two stages alone."""
    assert [title for title, _ in BLOCKS] == ["Subagents alone", "McpCommands alone"]
