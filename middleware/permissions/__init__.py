"""What a permission request says, offers and does: pure functions, used by the `Permissions` stage.

| module | owns |
|---|---|
| `suggestions` | whether what Claude Code suggests may be offered at all, and the copy that will be applied |
| `labels` | what a lasting choice is called, for what can be named truly |
| `effects` | what choosing an option does, and the answer that it becomes |
| `options` | which options a tool has, in which order |
| `plan` | the options of ExitPlanMode |
| `presentation` | the heading, the reason and the tool call of the request |
"""

from __future__ import annotations

from .effects import Effect, Modes
from .options import Choice, offer
from .presentation import request
from .suggestions import normalized

__all__ = ["Choice", "Effect", "Modes", "normalized", "offer", "request"]
