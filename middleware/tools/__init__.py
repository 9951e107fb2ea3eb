"""How a tool of Claude Code looks in ACP: pure functions, no state, used by `ToolCalls` and by whoever replays.

`describe_use` says what a call is (kind, title, content, locations) and `describe_result` what came of it. The tables
are those of reference 04.3 and 04.4.
"""

from __future__ import annotations

from .results import ResultView, describe_result
from .uses import UseView, describe_use

__all__ = ["ResultView", "UseView", "describe_result", "describe_use"]
