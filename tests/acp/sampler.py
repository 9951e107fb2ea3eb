"""Random instances of a definition of the official schema: small, seeded, and only as clever as this schema needs."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.acp.official import DEFINITIONS

WORDS = ["", "a", "text", "ünïcode ☃", "two\nlines", "/tmp/x", "true", "3", "null"]
RAW: list[Any] = [1, "x", False, [1, {"k": [None]}], {"k": {"deep": [1.5, None]}}, {"snake_case": 1}]


class Sampler:
    """`sample(name)` gives an instance; every optional property is there half of the time."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def sample(self, name: str) -> Any:
        return self._of(DEFINITIONS[name])

    def _of(self, schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            return self.sample(schema["$ref"].removeprefix("#/$defs/"))
        if "const" in schema:
            return schema["const"]
        parts: list[Any] = []
        if arms := schema.get("oneOf") or schema.get("anyOf"):
            parts.append(self._of(self.random.choice(arms)))
        parts += [self._of(one) for one in schema.get("allOf", [])]
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "object" or (kind is None and "properties" in schema):
            made = self._object(schema)
            for part in parts:
                made |= part
            if "not" in schema:  # the branch of an open union: a tag that nobody knows
                made |= dict.fromkeys(schema["required"], "_unknown")
                if "stopReason" not in made:  # IdleStateUpdate is one class: it keeps the reason, not a payload
                    made["payload"] = self.random.choice(RAW)
            return made
        if parts:
            return parts[-1]
        return self._plain(kind, schema)

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        required = schema.get("required", [])
        for key, inner in schema.get("properties", {}).items():
            if key in required or self.random.random() < 0.5:
                made[key] = self._of(inner)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            made |= {f"key{index}": self._of(extra) for index in range(self.random.randrange(3))}
        elif extra is True and "properties" not in schema:
            made |= {f"key{index}": self.random.choice(RAW) for index in range(self.random.randrange(3))}
        return made

    def _plain(self, kind: str | None, schema: dict[str, Any]) -> Any:
        match kind:
            case "string":
                words = [word for word in WORDS if len(word) >= schema.get("minLength", 0)]
                return self.random.choice(words)
            case "integer":
                return self.random.randint(schema.get("minimum", -5), schema.get("maximum", 2**32 - 1))
            case "number":
                return self.random.choice([0, 1, -2.5, 1e300])
            case "boolean":
                return self.random.random() < 0.5
            case "array":
                return [self._of(schema["items"]) for _ in range(self.random.randrange(3))]
            case "null":
                return None
            case None:
                return self.random.choice(RAW)
        raise AssertionError(f"no rule for {schema}")
