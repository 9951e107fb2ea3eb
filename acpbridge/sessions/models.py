"""The models that a session can offer, and which of them is meant (reference 6.3). Pure functions.

A row is Claude Code's description of a model: `value` is what it is asked for, `resolvedModel` what then answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_VERSION = re.compile(r"-(\d{1,2})(?:-(\d{1,2}))?(?:-\d{8})?(?:\[.*\])?$")
_AROUND = re.compile(r"(?:[-@]\d{8})?(?:-v\d+(?::\d+)?)?(?:\[[^\]]*\]|-1m)?$")
_REGION = re.compile(r"^[a-z-]+\.(?=anthropic\.)")
_WORDS = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


def rows_of(info: Mapping[str, Any]) -> list[Row]:
    """The models in Claude Code's answer to the handshake."""
    models = info.get("models")
    found = models if isinstance(models, list) else []
    return [row for row in found if isinstance(row, dict) and isinstance(row.get("value"), str) and row["value"]]


def offered(rows: Sequence[Row], listed: Iterable[str] | None) -> list[Row]:
    """The rows that a provider has; all where it does not say. Where it has none of them, its own ids are the rows."""
    if listed is None:
        return list(rows)
    ids = list(dict.fromkeys(listed))
    known = set(map(canonical, ids))
    found = [row for row in rows if known & _called(_resolved(row) or row["value"])]
    return found or [{"value": name, "resolvedModel": name, "displayName": name} for name in ids]


def in_place_of(model: str, info: Mapping[str, Any], rows: Sequence[Row]) -> Row:
    """One of the rows for a model that is not among them: one of its family, where there is one, else the first."""
    was = row_of(rows_of(info), model)
    words = set(_WORDS.findall((_resolved(was) if was is not None else None) or model)) - {"claude"}
    families = {word for word in words if word.isalpha()}
    return next((row for row in rows if families & set(_WORDS.findall(_resolved(row) or row["value"]))), rows[0])


def canonical(model: str) -> str:
    """A model's name without what may follow it: its date, the version of a cloud's offer, the context."""
    return _AROUND.sub("", model.lower())


def _called(model: str) -> set[str]:
    """The names under which a provider may list a model that is asked for so: Bedrock's with and without a region."""
    name = canonical(model)
    return {name, _REGION.sub("", name)}


def row_of(rows: Iterable[Row], value: str) -> Row | None:
    return next((row for row in rows if row["value"] == value), None)


def row_answering(rows: Sequence[Row], model: str) -> Row | None:
    """The row of a model that answers, one that names it before the default."""
    found = [row for row in rows if row.get("resolvedModel") == model or row["value"] == model]
    return next((row for row in found if row["value"] != "default"), found[0] if found else None)


def names(rows: Sequence[Row]) -> dict[str, str]:
    """What each row is called: with its version where Claude Code's name has none, and never two the same."""
    named = {row["value"]: _with_version(row) for row in rows}
    plain = {row["value"]: str(row.get("displayName") or row["value"]) for row in rows}
    for instead in (plain, {value: f"{name} ({value})" for value, name in plain.items()}):
        several = {name for name, count in Counter(named.values()).items() if count > 1}
        named = {value: instead[value] if name in several else name for value, name in named.items()}
    return named


def description(row: Row, rows: Sequence[Row]) -> str | None:
    """What is said of a row; of the default one, which model it stands for."""
    text = row.get("description")
    if row["value"] != "default":
        return text if isinstance(text, str) and text else None
    same = next((other for other in rows if other is not row and other.get("resolvedModel") == _resolved(row)), None)
    return str(same.get("displayName") or same["value"]) if same is not None else _resolved(row)


def preferred(rows: Sequence[Row], wish: str) -> Row | None:
    """The row that somebody means who wrote this: its value, its name, the model behind it, or words of them."""
    for key in ("value", "displayName", "resolvedModel"):
        for row in sorted(rows, key=lambda row: row["value"] == "default"):
            if _plain(str(row.get(key, ""))) == _plain(wish):
                return row
    words = set(_WORDS.findall(_plain(wish).replace("opusplan", "opus"))) - {"best"}
    best, most = None, 0
    for row in rows:
        if row["value"] == "default":
            continue
        called = (str(row.get(key, "")) for key in ("value", "displayName", "resolvedModel"))
        known = set(_WORDS.findall(" ".join(called).lower()))
        common = words & known - {"claude"}
        if words - known - {"claude"} or not any(word.isalpha() for word in common):
            continue
        if len(common) > most:
            best, most = row, len(common)
    return best


def _plain(name: str) -> str:
    """A name however it is spelled: without its date, and with the context in brackets."""
    return re.sub(r"-1m$", "[1m]", re.sub(r"[-@]\d{8}(?=$|-|\[)", "", name.strip().lower()))


def _resolved(row: Row) -> str | None:
    value = row.get("resolvedModel")
    return value if isinstance(value, str) and value else None


def _with_version(row: Row) -> str:
    """ "Opus" of claude-opus-5-5, or of "Opus 5.5, the best", is "Opus 5.5"; a name with a digit says it itself."""
    name = str(row.get("displayName") or row["value"])
    model = _resolved(row) or ""
    if row["value"] == "default" or re.search(r"\d", name):
        return name
    match = _VERSION.search(model) if name.lower() in model.lower() else None
    if match is None:
        said = re.match(re.escape(name) + r" \d+(?:\.\d+)?\b", str(row.get("description") or ""))
        return said[0] if said is not None else name
    return f"{name} {match[1]}.{match[2]}" if match[2] else f"{name} {match[1]}"
