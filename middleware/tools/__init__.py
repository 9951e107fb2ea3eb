"""How a tool of Claude Code looks in ACP: pure functions, no state, used by the stages and by whoever replays.

`describe_use` says what a call is (kind, title, content, locations) and `describe_result` what came of it. A tool is a
row of its family's table: `commands`, `files`, `search`, `agents`, `planning`; `generic` serves what no row knows. The
tables are those of reference 4.3 and 4.4.
"""

from __future__ import annotations

from . import terminals
from .describe import TOOLS, describe_change, describe_result, describe_use, raw_input, response_meta
from .views import Contents, Given, Printed, ResultView, Tool, Use, UseView

__all__ = [
    "TOOLS",
    "Contents",
    "Given",
    "Printed",
    "ResultView",
    "Tool",
    "Use",
    "UseView",
    "describe_change",
    "describe_result",
    "describe_use",
    "raw_input",
    "response_meta",
    "terminals",
]
