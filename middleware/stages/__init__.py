"""The stages, in the order of the program's pipeline from the client to the agent. Each can be used alone.

| stage | owns |
|---|---|
| `Validation` | what is legal ACP at this point: initialised, known session, one answer, announced calls |
| `Notices` | how a notice is shown |
| `AvailableCommands` | the slash commands that a client may offer |
| `Compactions` | how a compaction is shown |
| `Subagents` | whose output this is, and in which session it is shown |
| `IdleCompaction` | long conversations that are idle: compacted before the cache forgets them |
| `BackgroundTasks` | how work ended that outlived its call |
| `ToolCalls` | the tool calls that the client has: announced first, refined, closed once |
| `Plans` | todo lists and approved plans, which are plans and no tool calls |
| `StreamedText` | what of a message was streamed, so that each text is shown once |
| `CancelDrop` | the cancel window: what of stopped work may still be shown, and what is denied |
| `Permissions` | how an ask is worded, and what an answer means |
| `Questions` | what Claude Code or an MCP server asks the person |
| `ContextWindow` | how full the context is and what the session costs |
| `Turns` | which prompt the work belongs to, and its one answer |
| `McpServers` | the client's MCP servers: told when missing, signed in to |
| `McpCommands` | `/mcp` prompts, which it answers in Claude Code's place |
| `UsageCommand` | `/usage` prompts, whose text it replaces by a report |
"""

from __future__ import annotations

from .available_commands import AvailableCommands
from .background_tasks import BackgroundTasks
from .cancel_drop import CancelDrop
from .compactions import Compactions
from .context_window import ContextWindow
from .idle_compaction import IdleCompaction
from .mcp_commands import McpCommands
from .mcp_servers import McpServers
from .notices import Notices
from .permissions import Permissions
from .plans import Plans
from .questions import Questions
from .streamed_text import StreamedText
from .subagents import Subagents
from .tool_calls import ToolCalls
from .turns import Turns
from .usage_command import UsageCommand
from .validation import Validation

__all__ = [
    "AvailableCommands",
    "BackgroundTasks",
    "CancelDrop",
    "Compactions",
    "ContextWindow",
    "IdleCompaction",
    "McpCommands",
    "McpServers",
    "Notices",
    "Permissions",
    "Plans",
    "Questions",
    "StreamedText",
    "Subagents",
    "ToolCalls",
    "Turns",
    "UsageCommand",
    "Validation",
]
