"""The answers to Claude Code's side requests: what it asks beside the conversation and waits for, or shows, but no
script is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acpbridge.testing.requests import Kind
from acpbridge.testing.script import Reply, Say

SUMMARY = "<analysis>The conversation was scripted.</analysis>\n<summary>A scripted conversation.</summary>"


def side_reply(kind: Kind, body: Mapping[str, Any], title: str) -> Reply:
    """The reply to a side request. `title`: for every string that its schema asks for. No memory is recalled."""
    match kind:
        case "title" | "recall":
            return [Say(json.dumps(instance_of(_schema(body), title)))]
        case "compact":
            return [Say(SUMMARY)]
        case "suggestion":
            return [Say("go on")]
        case _:
            return [Say("ok")]


def instance_of(schema: Mapping[str, Any], text: str) -> Any:
    """A small value that fits a JSON schema (the parts of JSON Schema that output formats use); `text` stands in
    every free string."""
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return instance_of(schema[key][0], text)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    sort = schema.get("type")
    if isinstance(sort, list):
        sort = sort[0]
    match sort:
        case "string":
            return text
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            return [instance_of(schema.get("items", {}), text) for _ in range(schema.get("minItems", 0))]
        case _:
            properties = schema.get("properties", {})
            return {name: instance_of(properties[name], text) for name in schema.get("required", properties)}


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    schema: Mapping[str, Any] = wanted.get("schema") or {}
    return schema


def models_page(ids: tuple[str, ...]) -> dict[str, Any]:
    """The answer to `GET /v1/models`."""
    data = [{"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"} for name in ids]
    return {"data": data, "has_more": False, "first_id": ids[0], "last_id": ids[-1]}
