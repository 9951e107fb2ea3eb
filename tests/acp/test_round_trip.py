"""Every definition of the schema, sampled: read, written, judged by jsonschema, read again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from middleware import acp
from middleware.acp import v1
from middleware.acp.generate import ENVELOPES, LEFT_OUT
from tests.acp.official import DEFINITIONS, problems
from tests.acp.sampler import Sampler

INSTANCES = 60

PARTS = {"ElicitationFormMode", "ElicitationUrlMode", "SessionConfigSelect", "SessionConfigBoolean"}
"""Their classes also carry the properties of the union that they are part of: they are sampled there."""

SAMPLED = [name for name in DEFINITIONS if name not in ENVELOPES and not LEFT_OUT.fullmatch(name) and name not in PARTS]


def essence(value: Any) -> Any:
    """Without what means the same as its absence: null, and values that are defaults."""
    if isinstance(value, dict):
        inner = {key: essence(one) for key, one in value.items()}
        return {
            key: one
            for key, one in inner.items()
            if one not in (None, [], {}) and one is not False and (key, one) != ("type", "object")
        }
    return [essence(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SAMPLED)
def test_instances_survive(name: str) -> None:
    """A valid instance is accepted; what is written is valid, has lost nothing, and is read as an equal value."""
    declared: Any = getattr(v1, name)
    sampler = Sampler(name)
    for _ in range(INSTANCES):
        instance = sampler.sample(name)
        assert not problems(name, instance), "the sampler made an invalid instance"
        value = acp.structure(instance, declared)
        written = json.loads(json.dumps(acp.unstructure(value, declared)))
        assert not problems(name, written)
        assert essence(written) == essence(instance)
        assert acp.structure(written, declared) == value


def test_every_definition_has_a_type() -> None:
    """No definition is forgotten: each has a class or an alias of its own name."""
    assert not [name for name in [*SAMPLED, *PARTS] if not hasattr(v1, name)]


def test_the_sampler_reaches_every_update() -> None:
    """The sample is wide enough to mean something: each kind of session/update is met."""
    sampler = Sampler("updates")
    met = {sampler.sample("SessionUpdate")["sessionUpdate"] for _ in range(400)}
    (row,) = (row for row in v1.UNIONS if row.name == "SessionUpdate")
    assert met == set(row.variants)
