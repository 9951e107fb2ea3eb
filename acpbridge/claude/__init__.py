"""The agent end: everything that knows claude-agent-sdk and the wire of Claude Code."""
