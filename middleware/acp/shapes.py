"""What both directions of the converter ask about a type: is it a union, which one, what is a field called on the wire.

What belongs here: questions about types. What does not: values (reading.py, writing.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from middleware.acp import v1
from middleware.acp.vocabulary import Null, TaggedUnion

_lock = threading.RLock()


def compile_once(hooks: dict[Any, Any], make: Callable[[Any], Any], key: Any) -> Any:
    """`hooks[key]`, made when first asked for (start-up stays cheap), by one thread at a time."""
    with _lock:
        if key not in hooks:
            hooks[key] = make(key)
    return hooks[key]


def wire_name(name: str) -> str:
    """A field's name in JSON: camelCase, and `_meta` for `meta`."""
    first, *rest = name.split("_")
    return "_meta" if name == "meta" else first + "".join(part.capitalize() for part in rest)


def is_any(cls: Any) -> bool:
    return cls is Any


def is_literal(cls: Any) -> bool:
    return get_origin(cls) is Literal


def is_annotated(cls: Any) -> bool:
    return get_origin(cls) is Annotated


def is_union(cls: Any) -> bool:
    return get_origin(cls) in (Union, UnionType)


def is_sequence(cls: Any) -> bool:
    return get_origin(cls) is Sequence


def is_mapping(cls: Any) -> bool:
    return get_origin(cls) in (Mapping, dict)


def arms_of(cls: Any) -> list[Any]:
    """The members of a union other than null; of any other type, the type itself."""
    return [arm for arm in get_args(cls) if arm not in (NoneType, Null)] if is_union(cls) else [cls]


def is_nullable(cls: Any) -> bool:
    return is_union(cls) and NoneType in get_args(cls)


def is_clearable(cls: Any) -> bool:
    """Whether null means another thing than an absent property."""
    return is_union(cls) and Null in get_args(cls)


def without_notes(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """An Annotated type's type and notes."""
    return (declared.__origin__, declared.__metadata__) if is_annotated(declared) else (declared, ())


def _members(row: TaggedUnion) -> frozenset[Any]:
    return frozenset(
        [*row.variants.values(), *([row.default] if row.default else []), *([dict[str, Any]] if row.open else [])]
    )


# By members and not by name: typing flattens `ContentBlock | None`, and the alias is lost.
_ROWS = {_members(row): row for row in v1.UNIONS}
if len(_ROWS) != len(v1.UNIONS):
    raise TypeError("two unions have the same members and cannot be told apart")


def tagged(arms: list[Any]) -> TaggedUnion | None:
    """The union of exactly these members, when a tag tells them apart."""
    return _ROWS.get(frozenset(arms))
