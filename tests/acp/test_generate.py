"""The generator: the checked-in classes are fresh, staleness is noticed, and what is not understood stops it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from middleware.acp import generate


def test_checked_in_classes_are_fresh() -> None:
    """v1.py is what the generator makes of schema/v1.json."""
    assert generate.main(["--check"]) == 0


def test_stale_classes_are_noticed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check fails on a file that differs and leaves it alone; without --check it is written."""
    target = tmp_path / "v1.py"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr(generate, "TARGET", target)
    assert generate.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "old"
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


def changed(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The official schema with one definition replaced."""
    whole = copy.deepcopy(json.loads(generate.SOURCE.read_text(encoding="utf-8")))
    whole["$defs"][name] = schema
    return dict(whole)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "optional without a default"),
        ({"type": "object", "properties": {"snake_case": {"type": ["string", "null"]}}}, "does not survive"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string", "x-deserialize-default-on-error": True}},
                "required": ["a"],
            },
            "required and lenient",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": ["string", "null"], "x-deserialize-skip-invalid-items": True}},
            },
            "the marks",
        ),
        ({"anyOf": [{"type": "string", "const": "a"}, {"type": "string"}, {"type": "integer"}]}, "one other branch"),
        (
            {
                "anyOf": [
                    {"title": "x", "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"title": "y", "allOf": [{"$ref": "#/$defs/Cost"}]},
                ]
            },
            "no name for the variant",
        ),
    ],
)
def test_an_unknown_construct_stops_the_generator(schema: dict[str, Any], reason: str) -> None:
    """The generator refuses to guess."""
    with pytest.raises(generate.Unknown, match=reason):
        generate.Generator(changed("Implementation", schema))
