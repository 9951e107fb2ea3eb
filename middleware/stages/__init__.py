"""The stages, in the order of the program's pipeline from the client to the agent. Each can be used alone.

| stage | owns |
|---|---|
| `Validation` | what is legal ACP at this point: initialised, known session, one answer, announced calls |
| `ToolCalls` | the tool calls that the client has: announced first, refined, closed once |
| `StreamedText` | what of a message was streamed, so that each text is shown once |
| `CancelDrop` | the cancel window: what of stopped work may still be shown, and what is denied |
| `Permissions` | how an ask is worded, and what an answer means |
| `ContextWindow` | how full the context is and what the session costs |
| `Subagents` | whose output this is |
| `Turns` | which prompt the work belongs to, and its one answer |
"""

from __future__ import annotations

from .cancel_drop import CancelDrop
from .context_window import ContextWindow
from .permissions import Permissions
from .streamed_text import StreamedText
from .subagents import Subagents
from .tool_calls import ToolCalls
from .turns import Turns
from .validation import Validation

__all__ = [
    "CancelDrop",
    "ContextWindow",
    "Permissions",
    "StreamedText",
    "Subagents",
    "ToolCalls",
    "Turns",
    "Validation",
]
