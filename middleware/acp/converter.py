"""How ACP values are read (`structure`) and written (`unstructure`): one cattrs converter and the rules that it
follows.

Reading: strings, numbers, booleans, objects and lists are what JSON says they are, never converted. Unknown properties
are ignored. A field's leniency marks decide whether a value that does not fit is an error or counts as absent; what is
dropped is logged at debug level, without the value. Raw JSON (`_meta`, `rawInput`, `rawOutput`) is passed on as the
same object.

Writing: None and defaults are left out; null is `NULL`, where it means another thing than an absent property.

What belongs here: the public functions, the error, and the table of which hook serves which shape of type. What does
not: the hooks (reading.py, writing.py), and a rule about one ACP type, which is the schema's and so v1.py's.

A value is read fast first. Only when that fails, a second converter with the same hooks reads it again and collects all
that is wrong, with paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import attrs
from cattrs import ClassValidationError, Converter, IterableValidationError
from cattrs.fns import identity

from middleware.acp import reading, shapes, v1, writing

T = TypeVar("T")


@attrs.frozen
class Problem:
    """One thing that is wrong: `path` from the value's root, such as `prompt[1].text`; empty for the root itself."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" if self.path else self.what


class InvalidAcp(ValueError):
    """A value is not what ACP says it is: a request with it is answered with -32602.

    `problems` lists what is wrong, `path` is where the first one is. No text contains a part of the value.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        self.path = self.problems[0].path
        more = len(self.problems) - 5
        super().__init__("; ".join(map(str, self.problems[:5])) + (f"; and {more} more" if more > 0 else ""))


@overload
def structure(value: object, cls: type[T]) -> T: ...
@overload
def structure(value: object, cls: object) -> Any: ...
def structure(value: object, cls: Any) -> Any:
    """Read parsed JSON as a class of `v1`, or as one of its aliases (`ContentBlock`, ...).

    Raises `InvalidAcp`.
    """
    hook = _readers.get(cls) or shapes.compile_once(_readers, _fast.get_structure_hook, cls)
    try:
        return hook(value, cls)
    except reading.REJECTED:
        raise _explain(value, cls) from None


def unstructure(value: object, declared: object = None) -> Any:
    """Write an object of a class of `v1` as JSON values.

    `declared` is the type that its place has on the wire, by default its class. It matters in a union, which adds the
    tag: `unstructure(TextContent(...), ContentBlock)` has a `type`, without `ContentBlock` it has none. Raises
    TypeError when the value is no member of the declared union.
    """
    key = value.__class__ if declared is None else declared
    hook = _writers.get(key) or shapes.compile_once(_writers, _fast.get_unstructure_hook, key)
    return hook(value)


def _explain(value: object, cls: Any) -> InvalidAcp:
    hook = shapes.compile_once(_explainers, _thorough.get_structure_hook, cls)
    try:
        hook(value, cls)
    except reading.REJECTED as error:
        return InvalidAcp(list(_problems(error, "")))
    raise AssertionError(f"the second reading of {cls} found nothing wrong")


def _problems(error: BaseException, path: str) -> Iterator[Problem]:
    if isinstance(error, ClassValidationError):
        spread = v1.FLATTENED.get(error.cl)
        for inner, field in error.group_exceptions()[0]:
            here = path if field.name == spread else _join(path, shapes.wire_name(field.name))
            yield from _problems(inner, here)
    elif isinstance(error, IterableValidationError):
        for inner, item in error.group_exceptions()[0]:
            yield from _problems(inner, _join(path, item.index))
    elif isinstance(error, reading.Wrong):
        yield Problem(_join(path, error.at) if error.at else path, str(error))
    elif isinstance(error, KeyError):
        yield Problem(path, "required")
    else:
        raise error  # no verdict on the value: a defect of ours


def _join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


LEAVES = ((str, reading.read_str), (bool, reading.read_bool), (int, reading.read_int), (float, reading.read_float))

SHAPES = (
    (attrs.has, reading.attrs_class, writing.attrs_class),
    (shapes.is_union, reading.union, writing.union),
    (shapes.is_sequence, reading.sequence, writing.sequence),
    (shapes.is_mapping, reading.mapping, writing.mapping),
    (shapes.is_annotated, reading.limited, writing.annotated),
    (shapes.is_literal, reading.literal, lambda cls, converter: identity),
    (shapes.is_any, lambda cls, converter: reading.read_raw, lambda cls, converter: identity),
)
"""(which types, their reader, their writer); no type has two of these shapes."""


def _converter(*, thorough: bool) -> Converter:
    converter = Converter(detailed_validation=thorough)
    for cls, read in LEAVES:
        converter.register_structure_hook(cls, read)
        converter.register_unstructure_hook(cls, identity)
    for predicate, reader, writer in SHAPES:
        converter.register_structure_hook_factory(predicate, reader)
        converter.register_unstructure_hook_factory(predicate, writer)
    return converter


_fast = _converter(thorough=False)
_thorough = _converter(thorough=True)
_readers: dict[Any, Callable[[Any, Any], Any]] = {}
_explainers: dict[Any, Callable[[Any, Any], Any]] = {}
_writers: dict[Any, Callable[[Any], Any]] = {}
