"""docs/threading.md is true where it shows code: it is run from the top to the bottom, and its test is one."""

from __future__ import annotations

import re
import types
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "threading.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [
    (TEXT[: match.start("code")].count("\n"), match["code"])
    for match in re.finditer(r"^```python\n(?P<code>.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
]


def test_every_block_runs() -> None:
    """Every code block of the page runs, what it asserts holds, and the test that it shows passes."""
    assert len(BLOCKS) == TEXT.count("```") / 2 == 4
    module = types.ModuleType("threading_page")
    for line, code in BLOCKS:
        exec(compile("\n" * line + code, str(PAGE), "exec", dont_inherit=True), vars(module))
    vars(module)["test_an_ask_without_its_tool_use_is_shown_after_two_seconds"]()
