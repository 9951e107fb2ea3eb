"""The words in which the generated classes are written: leniency marks, limits, and the rows of the tables.

What belongs here: what `v1.py` refers to and `converter.py` reads. What does not: anything about a particular ACP type.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from attrs import Attribute, Factory, frozen

T = TypeVar("T")


class AcpObject:
    """Base of the generated classes: comparison, hash and repr, written once.

    attrs would compile all three for each of some 190 classes, which takes half of the time of the import.
    """

    __slots__ = ()
    __attrs_attrs__: ClassVar[tuple[Any, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in self.__attrs_attrs__)

    def __hash__(self) -> int:
        return hash((self.__class__, *(getattr(self, one.name) for one in self.__attrs_attrs__)))

    def __repr__(self) -> str:
        """Without the fields that have their default: most have."""
        values = [(one, getattr(self, one.name)) for one in self.__attrs_attrs__]
        shown = ", ".join(f"{one.name}={value!r}" for one, value in values if value != default_of(one))
        return f"{self.__class__.__name__}({shown})"


def default_of(attribute: Attribute[Any]) -> Any:
    """What an absent field is; `attrs.NOTHING` for a required one."""
    default: Any = attribute.default
    return default.factory() if isinstance(default, Factory) else default  # type: ignore[arg-type]  # attrs: a function


class Mark(Enum):
    """How tolerant the receiver of a field is; each is an `x-deserialize-*` word of the schema."""

    DEFAULT_ON_ERROR = "x-deserialize-default-on-error"
    SKIP_INVALID_ITEMS = "x-deserialize-skip-invalid-items"
    DEFAULT_ON_NULL = "x-deserialize-default-on-null"


Lenient = Annotated[T, Mark.DEFAULT_ON_ERROR]
"""A value that does not fit counts as absent."""

LenientItems = Annotated[T, Mark.DEFAULT_ON_ERROR, Mark.SKIP_INVALID_ITEMS]
"""Items that do not fit are left out; a value that is no list counts as absent."""

NullIsDefault = Annotated[T, Mark.DEFAULT_ON_NULL]
"""`null` counts as absent; every other value that does not fit is an error."""


@frozen
class Range:
    """The bounds of an integer, both inclusive."""

    minimum: int
    maximum: int | None = None


@frozen
class MinLength:
    """The least number of characters of a string."""

    length: int


class Null(Enum):
    """A property that is written as `null`.

    In an object that says what changed, null takes a value away, and a property that is absent (None) leaves it.
    """

    NULL = "null"


NULL = Null.NULL

Uint: TypeAlias = Annotated[int, Range(0)]


@frozen(kw_only=True)
class TaggedUnion:
    """How the members of a union of objects are told apart on the wire: the property `tag` names the class.

    An object without the tag, or whose tag is none of `variants`, is a `default` when there is one; with `open`, an
    object with an unknown tag is kept as the dict that it is (this comes before `default`). Neither: it is an error.
    """

    name: str
    tag: str
    variants: Mapping[str, type]
    default: type | None = None
    open: bool = False


Side: TypeAlias = Literal["agent", "client", "both"]
Kind: TypeAlias = Literal["request", "notification"]


@frozen(kw_only=True)
class Method:
    """One row of `METHODS`: `side` is the end that handles the message, `params` and `result` are what it carries.

    `params` and `result` are a class or a union of classes, for `structure`. A notification's `result` is None.
    """

    name: str
    kind: Kind
    side: Side
    params: Any
    result: Any = None
