"""docs/embedding.md: every code block runs, each from a clean start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "embedding.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.*?)$(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
BLOCKS = [
    (f"{title} {number}" if number else title, code)
    for title, section in SECTIONS
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE))
]


def test_all_blocks_are_found() -> None:
    """Nothing that is shown as Python is left out, and the stages on tools are each shown alone."""
    assert len(BLOCKS) == TEXT.count("```python\n")
    alone = {"Tool calls alone", "Permissions alone", "Subagents alone", "McpCommands alone"}
    assert alone <= {title for title, _ in BLOCKS}


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_block(title: str, code: str) -> None:
    """The example of this section runs, and its own assertions hold."""
    exec(compile(code, f"embedding.md: {title}", "exec"), {"__name__": "__embedding__"})
