"""What a child works with: its mode, model, effort and agent, as config options of one choice each (reference 7.3, D2).

A child's configuration cannot be set, so each option offers what it is and nothing else. What a value is called is
taken from the parent session's options, where they have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from middleware import acp


@attrs.define
class Offer:
    """What the root session offers: its options, and the entry of its model option for each model that may answer."""

    options: Sequence[acp.SessionConfigOption] = ()
    models: Mapping[str, acp.SessionConfigSelectOption] = attrs.field(factory=dict)

    def entry(self, option: str, value: str) -> acp.SessionConfigSelectOption:
        """A value as the root's option has it, else under its own name."""
        if option == "model" and value in self.models:
            return self.models[value]
        for offered in self.options:
            if offered.id == option and isinstance(offered, acp.SessionConfigSelect):
                for entry in offered.options:
                    if isinstance(entry, acp.SessionConfigSelectOption) and entry.value == value:
                        return entry
        return acp.SessionConfigSelectOption(value=value, name=_name(option, value))


_OPTIONS: Mapping[str, tuple[str, str | None]] = {
    "mode": ("Mode", "mode"),
    "model": ("Model", "model"),
    "effort": ("Effort", "thought_level"),
    "agent": ("Agent", None),
}
"""Id, name and category of each option, in the order in which they are listed."""


@attrs.define
class Settings:
    """What is known of one child, and what the client was told of it."""

    values: dict[str, str] = attrs.field(factory=dict)
    _told: list[acp.SessionConfigOption] = attrs.field(factory=list)

    def learn(self, **values: str | None) -> None:
        """Take in values by option; None says nothing."""
        self.values |= {option: value for option, value in values.items() if value is not None}

    def news(self, offer: Offer) -> list[acp.SessionConfigOption] | None:
        """The options, all of them, for a client that was told something else; None when there is nothing new."""
        options = [self._option(option, offer) for option in _OPTIONS if option in self.values]
        if options == self._told:
            return None
        self._told = options
        return options

    def _option(self, option: str, offer: Offer) -> acp.SessionConfigOption:
        name, category = _OPTIONS[option]
        entry = offer.entry(option, self.values[option])
        return acp.SessionConfigSelect(
            id=option, name=name, category=category, current_value=entry.value, options=[entry]
        )


def _name(option: str, value: str) -> str:
    return value.replace("_", " ").capitalize() if option == "effort" else value
