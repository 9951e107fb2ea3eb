"""What the stages share that word things for the client that is there."""

from __future__ import annotations

import attrs

from middleware.messages import Initialized
from middleware.profile import ClientProfile
from middleware.stage import Context, Outcome, Stage, on


@attrs.define(eq=False)
class ClientAware(Stage):
    """A stage that knows what the client takes: `_profile`, of one that declared nothing until it has."""

    _profile: ClientProfile = attrs.field(factory=ClientProfile, init=False)

    @on(Initialized)
    def _initialized(self, message: Initialized, context: Context) -> Outcome:
        self._profile = message.profile
        return message
