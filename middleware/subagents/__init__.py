"""The subagents of a session as child sessions (the subagents RFD): what is known of them, and how it is worded.

State and pure functions; which message goes where is decided in the stage `Subagents`. Rules: reference 7.2 and 7.3.
"""

from __future__ import annotations

from .calls import HiddenCall, merged, name_of, parent_of
from .family import Child, Family
from .waiting import Waiting

__all__ = ["Child", "Family", "HiddenCall", "Waiting", "merged", "name_of", "parent_of"]
