"""The subagents of a session as child sessions (the subagents RFD): what is known of them, and how it is worded.

State and functions on it; which message goes where is decided in the stage `Subagents`. Rules: reference 7.2 and 7.3.

| module | what |
|---|---|
| `family` | a session and its subagents: the state |
| `routing` | which session a message belongs to |
| `lives` | a child's life as its parent is told it |
| `configuration` | what a child works with, as config options |
| `calls`, `hidden` | the calls that a child session replaces |
| `waiting` | what came of children that nobody was told about yet |
| `words` | what a client is told: `subagent_update`, `session_message`, `config_option_update` |
"""
