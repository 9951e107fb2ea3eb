"""docs/scripted-model.md: its example runs."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "docs" / "scripted-model.md").read_text(encoding="utf-8")


def test_example() -> None:
    """The example runs, and its own assertion holds."""
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(code, "scripted-model.md", "exec"), {"__name__": "__docs__"})
