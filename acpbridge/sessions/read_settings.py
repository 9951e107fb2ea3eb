"""What Claude Code's answer to `get_settings` says of the choices of a session (reference 06). Pure functions.

`effective` is what the settings files and the client's choices come to, `applied` what Claude Code makes of it with the
model that answers. What is not there, or of another type than it should be, says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from acpbridge.claude.members import object_in

from . import models, modes
from .config_options import Chosen


@attrs.frozen
class Settings:
    """An answer. `problems` is what is wrong with settings files."""

    effective: Mapping[str, Any] = attrs.field(factory=dict)
    applied: Mapping[str, Any] = attrs.field(factory=dict)
    problems: tuple[Mapping[str, Any], ...] = ()

    @property
    def default_mode(self) -> Any:
        return object_in(self.effective, "permissions").get("defaultMode")

    def lack_auto(self, model: models.Row | None) -> bool:
        """Whether it is the model that has no Auto mode, as far as is known, and nothing else that forbids it."""
        forbidden = "auto" not in modes.available(bypass=False, settings=self.effective, model=None)
        return model is not None and model.get("supportsAutoMode") is not True and not forbidden


def settings_of(answer: Any) -> Settings:
    answer = answer if isinstance(answer, dict) else {}
    errors = answer.get("errors")
    problems = tuple(error for error in errors if isinstance(error, dict)) if isinstance(errors, list) else ()
    return Settings(object_in(answer, "effective"), object_in(answer, "applied"), problems)


def settled(
    chosen: Chosen, settings: Settings, *, bypass: bool, begins: bool, effort_chosen: bool, fast_ended: bool
) -> Chosen:
    """The choices with what the settings say of them.

    Args:
        chosen: as they were.
        settings: as they are.
        bypass: see `modes.available`.
        begins: nothing was chosen yet in this Claude Code.
        effort_chosen: the client chose an effort, or took its choice back.
        fast_ended: Claude Code said that fast mode is not to be had.
    """
    effective, applied = settings.effective, settings.applied
    chosen = _answering(chosen, applied.get("model"), begins)
    return attrs.evolve(
        chosen,
        modes=modes.available(bypass=bypass, settings=effective, model=chosen.row),
        effort=_effort(chosen, effective, of_the_model=not effort_chosen),
        fast=effective.get("fastMode") is True and not fast_ended,
        ultracode=applied.get("ultracodeRequested", applied.get("ultracode")) is True,
        ultracode_offered=applied.get("ultracodeAvailable") is True,
        agent=_text(effective.get("agent")),
    )


def _answering(chosen: Chosen, model: Any, begins: bool) -> Chosen:
    """With the model that answers, as one of those on offer."""
    if not isinstance(model, str) or not model:
        return chosen
    row = chosen.row
    if row is not None and model in (row.get("resolvedModel"), row["value"]):
        return chosen
    found = models.row_answering(chosen.rows, model)
    default = models.row_of(chosen.rows, "default")
    if begins and default is not None and default.get("resolvedModel") == model:
        found = default  # nothing was chosen: it is the default, and not what the default is today
    return attrs.evolve(chosen, model=found["value"] if found is not None else model)


def _effort(chosen: Chosen, settings: Mapping[str, Any], *, of_the_model: bool) -> str | None:
    """What the settings say of the model, else of all. What the client chooses is among the latter, and comes first."""
    row = chosen.row
    model = models.canonical(str(row.get("resolvedModel") or row["value"])) if row is not None else chosen.model
    own = object_in(object_in(settings, "modelSettings"), model) if of_the_model else {}
    return _text(own.get("effortLevel")) or _text(settings.get("effortLevel"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
