"""The subagents of a session as child sessions (the subagents RFD): what is known of them, and how it is worded.

State and functions on it; which message goes where is decided in the stage `Subagents`. Rules: reference 7.2 and 7.3.

| module | what |
|---|---|
| `family` | a session and its subagents: the state |
| `lives` | a child's life as its parent is told it |
| `calls`, `hidden` | the calls that a child session replaces |
| `waiting` | what came of children that nobody was told about yet |
| `words` | `subagent_update` and `session_message` |
"""
