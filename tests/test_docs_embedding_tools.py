"""The sections on tools of the embedding guide: every code block runs from a clean start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "_embedding_tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## (.*?)$.*?```python\n(.*?)```\n", TEXT, re.DOTALL | re.MULTILINE)


def test_blocks_are_found() -> None:
    """Both stages are shown alone."""
    assert [title for title, _ in BLOCKS] == ["Tool calls alone", "Permissions alone"]


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_block(title: str, code: str) -> None:
    """The example of this section runs, and its own assertions hold."""
    exec(compile(code, f"_embedding_tools.md: {title}", "exec"), {"__name__": "__embedding__"})
