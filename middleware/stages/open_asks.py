"""The asks of one session that have no answer yet: those that wait for their tool use, and those that the client has.

Books only: `CancelDrop` decides what becomes of an ask, and its timer is set there.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware.messages import Ask, AskWithdrawn, Message


@attrs.define
class _Shown:
    """An ask that the client may answer. `waited`: its wait was over, and nobody knows yet whose work it belongs to."""

    ask: Ask
    waited: bool = False


@attrs.define
class OpenAsks:
    """A session's asks by their id."""

    _parked: dict[str, Ask] = attrs.field(factory=dict)
    _shown: dict[str, _Shown] = attrs.field(factory=dict)

    @property
    def parked(self) -> list[Ask]:
        return list(self._parked.values())

    @property
    def shown(self) -> list[Ask]:
        return [shown.ask for shown in self._shown.values()]

    @property
    def known(self) -> list[Ask]:
        """What the client has been asked, but for what was shown without knowing whose it is."""
        return [shown.ask for shown in self._shown.values() if not shown.waited]

    def park(self, ask: Ask) -> None:
        self._parked[ask.ask] = ask

    def unpark(self, name: str) -> Ask | None:
        return self._parked.pop(name, None)

    def show(self, ask: Ask, *, waited: bool) -> Ask:
        self._shown[ask.ask] = _Shown(ask, waited)
        return ask

    def reach(self, tool_use: str) -> list[Ask]:
        """The stream comes to a tool use: from here on it is known whose these asks are."""
        asked = [shown for shown in self._shown.values() if shown.ask.tool_use == tool_use]
        for shown in asked:
            shown.waited = False
        return [shown.ask for shown in asked]

    def close(self, name: str) -> bool:
        """The client has answered, or need not any more; whether it had been asked."""
        return self._shown.pop(name, None) is not None

    def take_back(self, ask: Ask, reason: str) -> Iterator[Message]:
        """Withdraw an ask from the client and give the answer in its place."""
        del self._shown[ask.ask]
        yield AskWithdrawn(session=ask.session, ask=ask.ask)
        yield ask.denied(reason)
