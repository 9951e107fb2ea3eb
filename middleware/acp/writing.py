"""Hooks that write values as JSON: what is left out, where a tag stands, what is passed on as it is.

What belongs here: one rule a function, for every type of one shape. What does not: checks. A value is written as what
its place was declared to be; whether it fits there is mypy's business, and the Validation stage's in tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import attrs
from cattrs import BaseConverter
from cattrs.fns import identity
from cattrs.gen import make_dict_unstructure_fn, override

from middleware.acp import shapes, v1
from middleware.acp.vocabulary import NULL, TaggedUnion

Hook: TypeAlias = Callable[[Any], Any]


def annotated(cls: Any, converter: BaseConverter) -> Hook:
    return converter.get_unstructure_hook(shapes.without_notes(cls)[0])


def attrs_class(cls: Any, converter: BaseConverter) -> Hook:
    attrs.resolve_types(cls)
    overrides: dict[str, Any] = {
        field.name: override(
            rename=shapes.wire_name(field.name),
            # A default that is a string (`type: "object"`) is written: not every client fills in defaults.
            omit_if_default=not isinstance(field.default, str),
            unstruct_hook=converter.get_unstructure_hook(shapes.without_notes(field.type)[0]),
        )
        for field in attrs.fields(cls)
    }
    dump: Hook = make_dict_unstructure_fn(cls, converter, **overrides)
    spread = v1.FLATTENED.get(cls)
    if spread is None:
        return dump

    def write(value: Any) -> Any:
        made = dump(value)
        return {**made.pop(spread), **made}

    return write


def sequence(cls: Any, converter: BaseConverter) -> Hook:
    hook = converter.get_unstructure_hook(get_args(cls)[0])
    return list if hook is identity else lambda value: [hook(item) for item in value]


def mapping(cls: Any, converter: BaseConverter) -> Hook:
    _, item_type = get_args(cls)
    if item_type is Any:
        return identity
    hook = converter.get_unstructure_hook(item_type)
    return dict if hook is identity else lambda value: {key: hook(item) for key, item in value.items()}


def union(cls: Any, converter: BaseConverter) -> Hook:
    arms = shapes.arms_of(cls)
    if (row := shapes.tagged(arms)) is not None:
        hook = _with_tag(row, converter)
    elif len(arms) == 1:
        hook = converter.get_unstructure_hook(arms[0])
    else:
        hook = _by_class(converter)
    if shapes.is_clearable(cls):
        return lambda value: None if value is None or value is NULL else hook(value)
    if hook is identity or not shapes.is_nullable(cls):
        return hook
    return lambda value: None if value is None else hook(value)


def _with_tag(row: TaggedUnion, converter: BaseConverter) -> Hook:
    tags: dict[Any, str | None] = {cls: tag for tag, cls in row.variants.items()}
    if row.default is not None:
        tags[row.default] = None
    hooks: dict[Any, Hook] = {}

    def write(value: Any) -> Any:
        cls = value.__class__
        hook = hooks.get(cls)
        if hook is None:
            if cls is dict and row.open:
                return value
            if cls not in tags:
                raise TypeError(f"{cls.__name__} is no {row.name}")
            hook = shapes.compile_once(hooks, converter.get_unstructure_hook, cls)
        tag = tags[cls]
        return hook(value) if tag is None else {row.tag: tag, **hook(value)}

    return write


def _by_class(converter: BaseConverter) -> Hook:
    """A union whose members look different by themselves: objects, lists of objects, primitives."""

    def write(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [write(item) for item in value]
        return converter.get_unstructure_hook(value.__class__)(value) if attrs.has(value.__class__) else value

    return write
