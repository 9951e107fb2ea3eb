"""What a client declared at `initialize`, in the form in which stages ask for it.

It travels once, as `Initialized`, through all stages; each keeps what it needs. There is no global.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class ClientProfile:
    """The client of one connection.

    `capabilities` is the raw `clientCapabilities` object of the wire: which of its members mean something is known
    here and nowhere else, and members from `_meta` (reference 01.3) are asked for like the official ones.
    """

    protocol_version: int = 1
    capabilities: Mapping[str, Any] = attrs.field(factory=dict)
    name: str = ""

    def has(self, *path: str) -> bool:
        """Whether the capability at this path is there: `true`, or an object (ACP's marker); null and false are not."""
        value: Any = self.capabilities
        for key in path:
            if not isinstance(value, Mapping):
                return False
            value = value.get(key)
        return value is True or isinstance(value, Mapping)

    @property
    def elicitation_form(self) -> bool:
        return self.has("elicitation", "form")

    @property
    def elicitation_url(self) -> bool:
        return self.has("elicitation", "url")

    @property
    def subagents(self) -> bool:
        """Child sessions are understood (the subagents RFD). JetBrains AIR keeps an earlier draft and is left out."""
        return self.has("subagents") and not self.air

    @property
    def subagent_transcript(self) -> bool:
        return self.has("_meta", "subagent-transcript")

    @property
    def air(self) -> bool:
        """The client is JetBrains AIR (reference 00)."""
        return self.has("_meta", "jetbrains", "air")

    @property
    def terminal_output(self) -> bool:
        """Commands are shown as terminals, by `_meta.terminal_info`, `terminal_output` and `terminal_exit`."""
        return self.has("_meta", "terminal_output") or self.terminal_output_delta

    @property
    def terminal_output_delta(self) -> bool:
        return self.has("_meta", "terminal_output_delta")

    @property
    def notices(self) -> bool:
        return self.has("session", "notices")
