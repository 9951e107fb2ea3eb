"""Whose output is this: the main thread's, or a subagent's?

First version: a subagent's text and thinking stay out of the parent's answer, and its tool calls keep their parent.
Child sessions for clients that have them come with a later issue.
"""

from __future__ import annotations

import attrs

from middleware.messages import Initialized, Text
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on


@attrs.define(eq=False)
class Subagents(Stage):
    """Keep a subagent's words out of its parent's answer, unless the client asked for them (reference S5)."""

    _profile: ClientProfile = attrs.field(factory=ClientProfile, init=False)

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        self._profile = message.profile
        return message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if message.parent is not None and not self._profile.subagent_transcript:
            return None
        return message
