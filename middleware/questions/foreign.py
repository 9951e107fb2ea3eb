"""What an MCP server asks, as it may be shown: its own words, without what is not seen (`middleware.tools.unseen`).

Nothing else of a server's question is changed (reference 10.2), and what goes back to it is in its own words: an
option that cannot be shown as it is gets a title beside its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from middleware.tools.unseen import apart, is_seen, plain

_NOT_IN_URLS = re.compile("[\x00-\x20\x7f-\U0010ffff]")


def shown_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The `requestedSchema`, completed with what ACP wants of one, and its titles, descriptions and options plain."""
    properties = schema.get("properties")
    return {
        **_worded(schema),
        "type": "object",
        "properties": {
            name: _property(name, each) for name, each in (properties if isinstance(properties, dict) else {}).items()
        },
    }


def shown_url(url: str) -> str:
    """An address in which everything is seen: what is not is percent-encoded, as a browser does by itself."""
    return _NOT_IN_URLS.sub(_encoded, url)


def _property(name: str, described: Any) -> Any:
    if not isinstance(described, Mapping):
        return described
    worded = _options(_worded(described), "oneOf")
    if isinstance(worded.get("items"), Mapping):
        worded["items"] = _options(dict(worded["items"]), "anyOf")
    if not worded.get("title") and not is_seen(name):
        worded["title"] = plain(name)
    return worded


def _worded(described: Mapping[str, Any]) -> dict[str, Any]:
    words = {key: plain(described[key]) for key in ("title", "description") if isinstance(described.get(key), str)}
    return {**described, **words}


def _options(described: dict[str, Any], titled: str) -> dict[str, Any]:
    """The options of a choice; bare values become options with a title where one of them cannot be shown as it is."""
    options, values = described.get(titled), described.get("enum")
    if isinstance(options, list) and all(_is_option(option) for option in options):
        names = apart([option["title"] for option in options])
        told = [{**_worded(option), "title": name} for option, name in zip(options, names, strict=True)]
        return {**described, titled: told}
    if isinstance(values, list) and all(isinstance(value, str) for value in values) and not all(map(is_seen, values)):
        kept = {key: value for key, value in described.items() if key != "enum" and (titled, key) != ("anyOf", "type")}
        told = [{"const": value, "title": name} for value, name in zip(values, apart(values), strict=True)]
        return {**kept, titled: told}
    return described


def _is_option(option: Any) -> bool:
    return isinstance(option, Mapping) and isinstance(option.get("title"), str)


def _encoded(found: re.Match[str]) -> str:
    return found[0] if found[0] > "\x7f" and is_seen(found[0]) else quote(found[0], errors="replace")
