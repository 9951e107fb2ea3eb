"""acpbridge.chat: a small terminal client, to try the agent by hand (`acpbridge chat`).

It starts the agent as an editor does, as a subprocess over stdio, and is an ordinary ACP client: nothing here knows the
agent's inside. `view.py` turns updates into text, `keyboard.py` has what is typed, `client.py` holds the connection,
`conversation.py` decides what happens next, `offline.py` needs no account, `program.py` has the command line.
"""

from __future__ import annotations

from acpbridge.chat.program import main

__all__ = ["main"]
