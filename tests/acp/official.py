"""The official schema, and jsonschema as the judge of single values. Independent of the generated classes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "middleware" / "acp" / "schema" / "v1.json").read_text(encoding="utf-8")
)
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS})


def problems(name: str, value: object) -> list[str]:
    """What is wrong with a value of one definition, each with its path; empty when it is valid."""
    return [text for error in validator(name).iter_errors(value) for text in _told(error)]


def _told(error: ValidationError) -> Iterator[str]:
    """Of alternatives, only the one whose tag the value has: the others say nothing but that their tag was expected."""
    if not error.context:
        yield f"{error.json_path}: {error.message}"
        return
    arms: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        arms.setdefault(inner.schema_path[0], []).append(inner)
    yield from (text for inner in _closest(list(arms.values())) for text in _told(inner))


def _closest(arms: Sequence[list[ValidationError]]) -> list[ValidationError]:
    tagged = [arm for arm in arms if not any(inner.validator in ("const", "type") for inner in arm)]
    return min(tagged or arms, key=len)
