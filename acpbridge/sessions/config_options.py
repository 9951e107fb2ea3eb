"""The config options of a session as ACP lists them: mode, model, effort, fast, ultracode, agent (reference 06).

Pure functions of what Claude Code said; `choices` holds that and changes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from middleware import acp
from middleware.errors import Failure

from . import models, modes
from .failures import RequestRefused

BUILT_IN_AGENTS = frozenset({"claude", "default", "Explore", "general-purpose", "Plan", "statusline-setup"})

FAST_REASONS: Mapping[str, str] = {
    "free": "not available on the free plan",
    "extra_usage_disabled": "requires extra usage to be enabled for this account",
    "model_not_allowed": "not available for the selected model",
    "not_first_party": "not available on this API provider",
    "disabled_by_env": "disabled by environment configuration",
    "network_error": "eligibility could not be verified (network error)",
}


@attrs.frozen(kw_only=True)
class Chosen:
    """What is set in a session at this moment, and what there is to choose from."""

    mode: str = modes.DEFAULT
    modes: tuple[str, ...] = (modes.DEFAULT,)
    model: str = "default"
    rows: tuple[models.Row, ...] = ()
    effort: str | None = None
    fast: bool = False
    fast_reason: str | None = None
    ultracode: bool = False
    ultracode_offered: bool = False
    agent: str | None = None
    agents: tuple[str, ...] = ()

    @property
    def row(self) -> models.Row | None:
        """The model that is set."""
        return models.row_of(self.rows, self.model)

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of effort that the model has."""
        row = self.row
        levels = row.get("supportedEffortLevels") if row is not None and row.get("supportsEffort") is True else None
        return tuple(level for level in levels if isinstance(level, str)) if isinstance(levels, list) else ()


def custom_agents(info: Mapping[str, Any]) -> tuple[str, ...]:
    """The agents that somebody defined, by name, in Claude Code's answer to the handshake."""
    agents = info.get("agents")
    names = (agent.get("name") for agent in agents if isinstance(agent, dict)) if isinstance(agents, list) else ()
    return tuple(name for name in names if isinstance(name, str) and name and name not in BUILT_IN_AGENTS)


def options(chosen: Chosen, *, booleans: bool) -> list[acp.SessionConfigOption]:
    """The list for the client.

    Args:
        chosen: what is set, and what there is.
        booleans: the client takes options that are on or off; without it they are a choice of two.
    """
    listed: list[acp.SessionConfigOption] = [_mode(chosen)]
    if chosen.rows:
        listed.append(_model(chosen))
    if chosen.efforts:
        listed.append(_effort(chosen))
    if chosen.row is not None and chosen.row.get("supportsFastMode") is True:
        reason = FAST_REASONS.get(chosen.fast_reason or "") if not chosen.fast else None
        text = "Faster responses on supported models" + (f" — {reason}" if reason else "")
        listed.append(_switch("fast", "Fast mode", text, chosen.fast, booleans))
    if chosen.ultracode_offered:
        text = "Dynamic workflows on every task, at any effort level"
        listed.append(_switch("ultracode", "Ultracode", text, chosen.ultracode, booleans))
    if chosen.agents:
        listed.append(_agent(chosen))
    return listed


def _mode(chosen: Chosen) -> acp.SessionConfigSelect:
    state = modes.mode_state(chosen.mode, chosen.modes)
    return acp.SessionConfigSelect(
        id="mode",
        name="Mode",
        description="Session permission mode",
        category="mode",
        current_value=chosen.mode,
        options=[_option(mode.id, mode.name, mode.description) for mode in state.available_modes],
    )


def _model(chosen: Chosen) -> acp.SessionConfigSelect:
    named = models.names(chosen.rows)
    listed = [_option(row["value"], named[row["value"]], models.description(row, chosen.rows)) for row in chosen.rows]
    if chosen.model not in named:
        listed.append(_option(chosen.model, chosen.model))
    return acp.SessionConfigSelect(
        id="model",
        name="Model",
        description="AI model to use",
        category="model",
        current_value=chosen.model,
        options=listed,
    )


def model_entries(chosen: Chosen) -> dict[str, acp.SessionConfigSelectOption]:
    """The entry of the model option for each model that may answer, by that model's id."""
    listed = _model(chosen).options
    entries = {entry.value: entry for entry in listed if isinstance(entry, acp.SessionConfigSelectOption)}
    answering = {str(row.get("resolvedModel") or row["value"]) for row in chosen.rows}
    rows = {model: models.row_answering(chosen.rows, model) for model in answering}
    return {model: entries[row["value"]] for model, row in rows.items() if row is not None}


def _effort(chosen: Chosen) -> acp.SessionConfigSelect:
    levels = [_option(level, level.replace("_", " ").capitalize()) for level in chosen.efforts]
    return acp.SessionConfigSelect(
        id="effort",
        name="Effort",
        description="Available effort levels for this model",
        category="thought_level",
        current_value=chosen.effort if chosen.effort in chosen.efforts else "default",
        options=[_option("default", "Default"), *levels],
    )


def _agent(chosen: Chosen) -> acp.SessionConfigSelect:
    listed = [_option(name, name) for name in chosen.agents]
    return acp.SessionConfigSelect(
        id="agent",
        name="Agent",
        description="Agent that answers, from the next turn on",
        current_value=chosen.agent if chosen.agent in chosen.agents else "default",
        options=[_option("default", "Default", "Standard Claude Code agent"), *listed],
    )


def _switch(name: str, title: str, text: str, on: bool, booleans: bool) -> acp.SessionConfigOption:
    if booleans:
        return acp.SessionConfigBoolean(
            id=name, name=title, description=text, category="model_config", current_value=on
        )
    return acp.SessionConfigSelect(
        id=name,
        name=title,
        description=text,
        category="model_config",
        current_value="on" if on else "off",
        options=[_option("on", "On"), _option("off", "Off")],
    )


def _option(value: str, name: str, text: str | None = None) -> acp.SessionConfigSelectOption:
    return acp.SessionConfigSelectOption(value=value, name=name, description=text)


def values_of(option: acp.SessionConfigOption) -> Sequence[str | bool]:
    """What an option can be set to."""
    if isinstance(option, acp.SessionConfigBoolean):
        return (True, False)
    return tuple(_values(option.options))


def checked(option: acp.SessionConfigOption, value: str | bool, rows: Sequence[models.Row]) -> str | bool:
    """The value of an option that is meant.

    Raises:
        RequestRefused: -32602, it cannot be.
    """
    if option.id in ("fast", "ultracode"):
        if value in ("on", "off") or isinstance(value, bool):
            return value
        raise RequestRefused(Failure.invalid_params(f"Invalid value for config option {option.id}: {value}"))
    if not isinstance(value, str):
        text = f"Config option {option.id} takes a string value, but received: {json.dumps(value)}"
        raise RequestRefused(Failure.invalid_params(text))
    if value in values_of(option):
        return value
    row = models.preferred(rows, value) if option.id == "model" else None
    if row is None:
        raise RequestRefused(Failure.invalid_params(f"Invalid value for config option {option.id}: {value}"))
    return str(row["value"])


def _values(listed: Iterable[Any]) -> Iterable[str]:
    for item in listed:
        if isinstance(item, acp.SessionConfigSelectGroup):
            yield from _values(item.options)
        else:
            yield item.value
