"""Hooks that read JSON values: what is checked, what is forgiven, what is passed on.

What belongs here: one rule a function, for every type of one shape. What does not: the texts' paths and the public
functions (converter.py). Each hook is made for one converter; with `detailed_validation` it collects what is wrong with
a value, as cattrs does it (groups of errors with notes), otherwise it stops at the first error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any, TypeAlias, get_args

import attrs
from cattrs import BaseConverter, BaseValidationError, IterableValidationError
from cattrs.errors import IterableValidationNote
from cattrs.gen import make_dict_structure_fn, override
from loguru import logger

from middleware.acp import shapes, v1
from middleware.acp.vocabulary import NULL, Mark, MinLength, Range, TaggedUnion, default_of

Hook: TypeAlias = Callable[[Any, Any], Any]


class Wrong(ValueError):
    """A value does not fit; the text never contains it. `at` is the property below the current path that is wrong."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what)
        self.at = at


REJECTED = (Wrong, KeyError, BaseValidationError)
"""What a hook raises; KeyError is cattrs' word for a missing property."""

_JSON_NAMES = {str: "a string", bool: "a boolean", int: "a number", float: "a number", NoneType: "null", list: "a list"}


def json_name(value: object) -> str:
    return _JSON_NAMES.get(value.__class__, "an object")


def _expected(what: str, value: object) -> Wrong:
    return Wrong(f"expected {what}, got {json_name(value)}")


# Leaves. `__class__ is`, since True is an instance of int.


def read_str(value: Any, _: Any) -> Any:
    if value.__class__ is str:
        return value
    raise _expected("a string", value)


def read_bool(value: Any, _: Any) -> Any:
    if value.__class__ is bool:
        return value
    raise _expected("a boolean", value)


def read_int(value: Any, _: Any) -> Any:
    if value.__class__ is int:
        return value
    if value.__class__ is not float:
        raise _expected("an integer", value)
    if not value.is_integer():
        raise Wrong("expected an integer, got a fraction")
    return int(value)  # JSON has one kind of number: 1.0 is an integer


def read_float(value: Any, _: Any) -> Any:
    if value.__class__ is float or value.__class__ is int:
        return value
    raise _expected("a number", value)


def read_raw(value: Any, _: Any) -> Any:
    return value


def literal(cls: Any, _: BaseConverter) -> Hook:
    known = frozenset(get_args(cls))
    what = _one_of(get_args(cls))

    def read(value: Any, _: Any) -> Any:
        if value.__class__ is not str:
            raise _expected(what, value)
        if value not in known:
            raise Wrong(f"expected {what}, got another string")
        return value

    return read


def _one_of(values: Iterable[str]) -> str:
    return "one of " + ", ".join(f'"{value}"' for value in values)


def limited(cls: Any, converter: BaseConverter) -> Hook:
    """Annotated with Range or MinLength."""
    origin, limits = shapes.without_notes(cls)
    return _within(converter.get_structure_hook(origin), limits)


def _within(hook: Hook, limits: Iterable[object]) -> Hook:
    for limit in limits:
        match limit:
            case Range():
                hook = _in_range(hook, limit)
            case MinLength():
                hook = _long_enough(hook, limit.length)
            case _:
                raise TypeError(f"no rule for {limit!r}")
    return hook


def _in_range(hook: Hook, limit: Range) -> Hook:
    def read(value: Any, cls: Any) -> Any:
        number = hook(value, cls)
        if number < limit.minimum:
            raise Wrong(f"must be at least {limit.minimum}")
        if limit.maximum is not None and number > limit.maximum:
            raise Wrong(f"must be at most {limit.maximum}")
        return number

    return read


def _long_enough(hook: Hook, length: int) -> Hook:
    def read(value: Any, cls: Any) -> Any:
        if len(hook(value, cls)) < length:
            raise Wrong(f"must have at least {length} character{'s' * (length > 1)}")
        return value

    return read


# Containers


def sequence(cls: Any, converter: BaseConverter) -> Hook:
    (item_type,) = get_args(cls)
    hook = converter.get_structure_hook(item_type)
    thorough = converter.detailed_validation

    def read(value: Any, _: Any) -> Any:
        if value.__class__ is not list:
            raise _expected("a list", value)
        if thorough:
            return list(_collected(hook, item_type, enumerate(value)).values())
        return [hook(item, item_type) for item in value]

    return read


def mapping(cls: Any, converter: BaseConverter) -> Hook:
    _, item_type = get_args(cls)
    raw = item_type is Any
    hook = converter.get_structure_hook(item_type)
    thorough = converter.detailed_validation

    def read(value: Any, _: Any) -> Any:
        if value.__class__ is not dict:
            raise _expected("an object", value)
        if raw:
            return value
        if thorough:
            return _collected(hook, item_type, value.items())
        return {key: hook(item, item_type) for key, item in value.items()}

    return read


def _collected(hook: Hook, item_type: Any, items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    made, errors = {}, []
    for place, item in items:
        try:
            made[place] = hook(item, item_type)
        except REJECTED as error:
            error.add_note(IterableValidationNote(f"item {place}", place, item_type))
            errors.append(error)
    if errors:
        raise IterableValidationError("items", errors, list)
    return made


# Objects


def attrs_class(cls: Any, converter: BaseConverter) -> Hook:
    attrs.resolve_types(cls)
    overrides: dict[str, Any] = {
        field.name: override(rename=shapes.wire_name(field.name), struct_hook=_field(cls, field, converter))
        for field in attrs.fields(cls)
    }
    build: Hook = make_dict_structure_fn(cls, converter, **overrides)
    spread = v1.FLATTENED.get(cls)

    def read(value: Any, _: Any) -> Any:
        # The check is needed: without required fields, cattrs would take any container, and a string.
        if value.__class__ is not dict:
            raise _expected("an object", value)
        return build(value if spread is None else {**value, spread: value}, cls)

    return read


def _field(cls: type, field: attrs.Attribute[Any], converter: BaseConverter) -> Hook:
    declared, notes = shapes.without_notes(field.type)
    where = f"{cls.__name__}.{shapes.wire_name(field.name)}"
    log = not converter.detailed_validation  # the second reading would log the same again
    if Mark.SKIP_INVALID_ITEMS in notes:
        hook = _skipping(declared, converter, where, log)
    else:
        limits = (note for note in notes if not isinstance(note, Mark))
        hook = _within(converter.get_structure_hook(declared), limits)

    def default() -> Any:
        value = default_of(field)
        return [] if value is attrs.NOTHING else value  # only lists are required and lenient: see generate.py

    if Mark.DEFAULT_ON_ERROR in notes:

        def lenient(value: Any, _: Any) -> Any:
            try:
                return hook(value, declared)
            except REJECTED as error:
                if log:
                    _log_drop(where, error)
                return default()

        return lenient
    if Mark.DEFAULT_ON_NULL in notes:
        return lambda value, _: default() if value is None else hook(value, declared)
    return hook


def _skipping(declared: Any, converter: BaseConverter, where: str, log: bool) -> Hook:
    (item_type,) = get_args(shapes.arms_of(declared)[0])
    nullable = shapes.is_nullable(declared)
    hook = converter.get_structure_hook(item_type)

    def read(value: Any, _: Any) -> Any:
        if value is None and nullable:
            return None
        if value.__class__ is not list:
            raise _expected("a list", value)
        kept = []
        for index, item in enumerate(value):
            try:
                kept.append(hook(item, item_type))
            except REJECTED as error:
                if log:
                    _log_drop(f"{where}[{index}]", error)
        return kept

    return read


def _log_drop(where: str, error: Exception) -> None:
    reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    logger.debug("ACP: dropped {}, as the schema allows: {}", where, reason)


# Unions


def union(cls: Any, converter: BaseConverter) -> Hook:
    arms = shapes.arms_of(cls)
    if (row := shapes.tagged(arms)) is not None:
        hook = _by_tag(row, converter)
    elif len(arms) == 1:
        hook = converter.get_structure_hook(arms[0])
    else:
        hook = _first_that_fits(arms, converter)
    if not shapes.is_nullable(cls):
        return hook
    null = NULL if shapes.is_clearable(cls) else None
    return lambda value, _: null if value is None else hook(value, None)


def _by_tag(row: TaggedUnion, converter: BaseConverter) -> Hook:
    tag_name, variants, hooks = row.tag, row.variants, dict[str, Hook]()
    default = converter.get_structure_hook(row.default) if row.default else None
    what = _one_of(variants) + (" or none" if default else "")

    def make(tag: str) -> Hook:
        return converter.get_structure_hook(variants[tag])

    def read(value: Any, _: Any) -> Any:
        if value.__class__ is not dict:
            raise _expected("an object", value)
        tag = value.get(tag_name)
        if tag.__class__ is str:
            hook = hooks.get(tag)
            if hook is None and tag in variants:  # made when first met: most variants never are
                hook = shapes.compile_once(hooks, make, tag)
            if hook is not None:
                return hook(value, None)
            if row.open:
                return value
        if default is not None:
            try:
                return default(value, None)
            except REJECTED:
                if tag is None:
                    raise  # not the tag is wrong
        elif tag_name not in value:
            raise Wrong("required", tag_name)
        raise Wrong(f"expected {what}, got {'another string' if tag.__class__ is str else json_name(tag)}", tag_name)

    return read


def _first_that_fits(arms: Sequence[Any], converter: BaseConverter) -> Hook:
    hooks = [converter.get_structure_hook(arm) for arm in arms]
    what = " or ".join(dict.fromkeys(map(_described, arms)))

    def read(value: Any, _: Any) -> Any:
        closest: list[BaseValidationError] = []
        for hook in hooks:
            try:
                return hook(value, None)
            except REJECTED as error:
                if isinstance(error, BaseValidationError):  # it is an object or a list, as this member is
                    closest.append(error)
        if closest:
            raise min(closest, key=lambda error: sum(isinstance(inner, KeyError) for inner in error.exceptions))
        raise _expected(what, value)

    return read


def _described(arm: Any) -> str:
    if shapes.is_sequence(arm):
        return "a list"
    return {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}.get(arm, "an object")
