"""Writes `v1.py`, the attrs classes of ACP version 1, from `schema/v1.json`.

`python -m middleware.acp.generate` writes the file; with `--check` it only says whether the file is fresh (exit code 1:
it is stale). What belongs here: how a construct of the schema becomes Python. What does not: how a value is read or
written (converter.py). A construct that is not understood stops the generator: a guess would become a wrong class.

It needs the standard library only: when `v1.py` is broken, `python middleware/acp/generate.py` still works.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

HERE = Path(__file__).parent
SOURCE = HERE / "schema" / "v1.json"
TARGET = HERE / "v1.py"
WIDTH = 120

ENVELOPES = {
    "AgentRequest": ("request", "params"),
    "ClientRequest": ("request", "params"),
    "AgentResponse": ("request", "result"),
    "ClientResponse": ("request", "result"),
    "AgentNotification": ("notification", "params"),
    "ClientNotification": ("notification", "params"),
}
"""JSON-RPC frames: they say which definitions are params and results, and become no classes."""

LEFT_OUT = re.compile(r"(Ext|Proxy)\w+|InitializeProxy\w+|ErrorStopReason")
"""Extension methods carry any JSON; proxies are another program's business; ErrorStopReason is folded into its user."""

PROTOCOL_LEVEL = ["CancelRequestNotification"]
"""Notifications that stand in no envelope: either end may send them."""

VARIANT_NAMES = {
    ("RequestPermissionOutcome", "cancelled"): "CancelledPermissionOutcome",
    ("CreateElicitationResponse", "decline"): "ElicitationDeclineAction",
    ("CreateElicitationResponse", "cancel"): "ElicitationCancelAction",
    ("SetSessionConfigOptionRequest", "boolean"): "SetSessionConfigOptionBoolean",
    ("SetSessionConfigOptionRequest", "value_id"): "SetSessionConfigOptionValueId",
    ("MessageMcpResponse", "Result"): "MessageMcpResult",
    ("MessageMcpResponse", "Error"): "MessageMcpError",
}
"""(union, tag or title) -> class, for the variants that the schema leaves without a name."""

FLATTENED = {
    "ElicitationFormMode": ("scope", "ElicitationScope"),
    "ElicitationUrlMode": ("scope", "ElicitationScope"),
}
"""Objects with alternatives beside their own properties: these become one field, whose object is spread on the wire."""

FOLDED = {"IdleStateUpdate": "stopReason"}
"""Objects whose alternatives by this property only add optional properties: they become fields of one class."""

CHANGES = {"SessionInfoUpdate", "SubagentUpdate"}
"""Objects that say what changed: null takes a value away, and an absent property leaves it. Only the prose says so."""

PRIMITIVES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
MARKS = {
    frozenset[str](): "{}",
    frozenset({"default-on-error"}): "Lenient[{}]",
    frozenset({"default-on-error", "skip-invalid-items"}): "LenientItems[{}]",
    frozenset({"default-on-null"}): "NullIsDefault[{}]",
}


class Unknown(Exception):
    """The schema holds something that this generator has no rule for."""


@dataclass
class Class:
    name: str
    fields: list[str]
    base: str | None = None
    needs: list[str] = field(default_factory=list)  # classes that must be defined before this one


@dataclass
class Union:
    name: str
    tag: str | None = None
    variants: dict[str, str] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)
    default: str | None = None
    open: bool = False


def snake(name: str) -> str:
    """camelCase to snake_case; `_meta`, which attrs would treat as private, to `meta`."""
    if name == "_meta":
        return "meta"
    made = re.sub(r"(?<!^)([A-Z])", lambda found: "_" + found[1].lower(), name)
    back = re.sub(r"_([a-z])", lambda found: found[1].upper(), made)
    if back != name:
        raise Unknown(f"property {name!r} does not survive {made!r}")  # the converter computes the wire name back
    return made


def camel_class(tag: str) -> str:
    return "".join(part.capitalize() for part in tag.split("_"))


def reference(schema: Schema) -> str | None:
    """The definition that a schema is nothing but a reference to, or None."""
    alone = schema.get("allOf", [{}])
    ref = schema.get("$ref") or (alone[0].get("$ref") if len(alone) == 1 else None)
    return ref.removeprefix("#/$defs/") if isinstance(ref, str) else None


def is_null(schema: Schema) -> bool:
    return schema.get("type") == "null"


def constants(schemas: Iterable[Schema]) -> list[Any]:
    return [one["const"] for one in schemas if "const" in one]


class Generator:
    """Reads the definitions once, collecting aliases, classes and unions; `text` then writes them."""

    def __init__(self, schema: Schema) -> None:
        self.definitions: dict[str, Schema] = schema["$defs"]
        self.aliases: dict[str, list[str]] = {}
        self.classes: dict[str, Class] = {}
        self.unions: dict[str, Union] = {}
        self.flattened: dict[str, str] = {}
        self.uses: dict[str, list[str]] = {}
        self.methods: list[tuple[str, str, str, str, str | None]] = []
        for name in self.definitions:
            if name not in ENVELOPES and not LEFT_OUT.fullmatch(name):
                self.define(name)
        self.collect_methods()

    # Definitions

    def define(self, name: str) -> None:
        schema = self.definitions[name]
        arms: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
        if name in FOLDED or name in FLATTENED or (not arms and schema.get("type") == "object"):
            if name not in self.classes:
                self.define_class(name, schema)
        elif arms and any("const" in arm for arm in arms):
            self.define_enum(name, arms)
        elif arms and all("properties" in arm or self.is_object(reference(arm)) for arm in arms):
            self.define_union(name, schema, arms)
        elif arms:
            self.alias(name, sorted((self.expression(arm) for arm in arms), key="None".__eq__))  # None last
        else:
            self.alias(name, [self.expression(schema)])

    def is_object(self, name: str | None) -> bool:
        return name is not None and self.definitions[name].get("type") == "object"

    def alias(self, name: str, arms: list[str]) -> None:
        self.aliases[name] = union_lines(name, arms)

    def define_enum(self, name: str, arms: list[Schema]) -> None:
        known = constants(arms)
        others = [arm for arm in arms if "const" not in arm]
        if not others:
            self.aliases[name] = wrapped(f"{name}: TypeAlias = Literal[", [json.dumps(value) for value in known], "]")
            return
        if len(others) != 1:
            raise Unknown(f"{name}: an open enum has one other branch")
        values = wrapped("# open; known: ", [json.dumps(value) for value in known], "", comment=True)
        self.aliases[name] = [*values, f"{name}: TypeAlias = {self.expression(others[0])}"]

    def define_class(self, name: str, schema: Schema, common: Schema | None = None) -> None:
        """One attrs class. `common`: the union's own properties, which each member carries."""
        properties: dict[str, Schema] = dict((common or {}).get("properties", {})) | schema.get("properties", {})
        required = {*(common or {}).get("required", []), *schema.get("required", [])}
        made = self.classes[name] = Class(name, [])
        if name in FOLDED:
            for arm in schema["anyOf"]:
                if target := reference(arm):
                    properties |= self.definitions[target]["properties"]
        if "_meta" in properties:
            properties["_meta"] = properties.pop("_meta")  # last
        for wire, inner in properties.items():
            made.fields.append(self.field_line(made, wire, inner, wire in required))
        if name in FLATTENED:
            attribute, alias = FLATTENED[name]
            self.alias(alias, [reference(arm) or "?" for arm in schema["anyOf"]])
            made.fields.insert(0, f"{attribute}: {alias}")
            self.flattened[name] = attribute
        elif "anyOf" in schema and name not in FOLDED:
            raise Unknown(f"{name}: an object with alternatives")

    def field_line(self, made: Class, wire: str, schema: Schema, required: bool) -> str:
        marks = frozenset(word.removeprefix("x-deserialize-") for word in schema if word.startswith("x-deserialize-"))
        where = f"{made.name}.{wire}"
        text = self.expression(schema)
        nullable = text.endswith("None")
        if nullable and made.name in CHANGES and wire != "_meta":
            text = f"{text.removesuffix('None')}Null | None"
        default = ""
        if text.startswith(("Sequence[", "Mapping[")) and not nullable:
            default = f"field(factory={'list' if text.startswith('S') else 'dict'})"
        elif text == "Any" or nullable:
            default = "None"
        elif "default" not in schema:
            # Optional, not nullable, no default: absent is None here, and a null is only harmless where it is forgiven.
            if not required and "default-on-error" not in marks:
                raise Unknown(f"{where}: optional without a default")
            text, default = (text, "") if required else (f"{text} | None", "None")
        elif isinstance(schema["default"], dict):
            default = f"field(factory={text})"
            made.needs.append(text)
        else:
            value = schema["default"]
            default = json.dumps(value) if isinstance(value, str) else repr(value)
        if required:
            if "default-on-error" in marks and not text.startswith("Sequence["):
                raise Unknown(f"{where}: required and lenient")
            default = ""
        if marks not in MARKS:
            raise Unknown(f"{where}: the marks {sorted(marks)} together")
        if text == "Any":
            marks = frozenset()  # nothing can be wrong with it
        annotation = MARKS[marks].format(text)
        return f"{snake(wire)}: {annotation}" + (f" = {default}" if default else "")

    def define_union(self, name: str, schema: Schema, arms: list[Schema]) -> None:
        common = schema if "properties" in schema else None
        union = Union(name)
        targets = [reference(arm) for arm in arms]
        for arm, target in zip(arms, targets, strict=True):
            tags = {key: inner["const"] for key, inner in arm.get("properties", {}).items() if "const" in inner}
            if "not" in arm:
                union.open = True
                continue
            if len(tags) > 1:
                raise Unknown(f"{name}: two tags {sorted(tags)}")
            for key, tag in tags.items():
                if union.tag not in (None, key):
                    raise Unknown(f"{name}: tags {union.tag!r} and {key!r}")
                union.tag = key
                union.variants[tag] = self.member(name, arm, target, tag, targets.count(target) > 1, common)
                self.use(union.variants[tag], f'{name} with {key} "{tag}".')
            if not tags:
                member = self.member(name, arm, target, arm["title"], False, common)
                union.members.append(member)
                self.use(member, f"{name} without a tag.")
        if union.tag and len(union.members) > 1:
            raise Unknown(f"{name}: two untagged members beside the tagged ones")
        if union.tag and union.members:
            union.default = union.members[0]
        members = list(dict.fromkeys([*union.variants.values(), *union.members]))
        self.alias(name, [*members, *(["dict[str, Any]"] if union.open else [])])
        if union.tag:
            self.unions[name] = union

    def member(self, union: str, arm: Schema, target: str | None, tag: str, shared: bool, common: Schema | None) -> str:
        """The class of one variant: the definition itself, a subclass of its own, or a class made of the arm."""
        if target is None:
            if (union, tag) not in VARIANT_NAMES:
                raise Unknown(f"{union}: no name for the variant {tag!r}")
            name = VARIANT_NAMES[union, tag]
            properties = {key: inner for key, inner in arm["properties"].items() if "const" not in inner}
            required = [key for key in arm.get("required", []) if key in properties]
            self.define_class(name, {"properties": properties, "required": required}, common)
            return name
        if common is not None:
            if json.dumps(self.definitions).count(f'"#/$defs/{target}"') != 1:
                raise Unknown(f"{union}: {target} would get the properties of the union elsewhere, too")
            self.define_class(target, self.definitions[target], common)
        if not shared:
            return target
        name = camel_class(tag)
        if name in self.definitions:
            raise Unknown(f"{union}: the subclass {name} is a definition as well")
        self.classes[name] = Class(name, [], base=target, needs=[target])
        return name

    # Types

    def expression(self, schema: Schema) -> str:
        """The annotation of one schema; ends in `None` when null is allowed."""
        if target := reference(schema):
            return target
        arms = schema.get("anyOf", [])
        if arms:
            if len(arms) != 2 or not is_null(arms[1]):
                raise Unknown(f"alternatives in place: {json.dumps(schema)[:200]}")
            return f"{self.expression(arms[0])} | None"
        kinds = schema.get("type", [])
        if isinstance(kinds, list):
            if not kinds:
                return "Any"
            if len(kinds) != 2 or kinds[1] != "null":
                raise Unknown(f"several types: {kinds}")
            return f"{self.expression(schema | {'type': kinds[0]})} | None"
        if kinds == "null":
            return "None"
        if kinds == "array":
            return f"Sequence[{self.expression(schema['items'])}]"
        if kinds == "object":
            values = schema.get("additionalProperties", True)
            return "dict[str, Any]" if values is True else f"Mapping[str, {self.expression(values)}]"
        return self.primitive(schema)

    def primitive(self, schema: Schema) -> str:
        text = PRIMITIVES[schema["type"]]
        least, most, length = schema.get("minimum"), schema.get("maximum"), schema.get("minLength")
        if most is not None:
            return f"Annotated[{text}, Range({least}, {most})]"
        if least is not None:
            if (text, least) != ("int", 0):
                raise Unknown(f"minimum {least} of {text}")
            return "Uint"
        return text if length is None else f"Annotated[{text}, MinLength({length})]"

    # Methods

    def collect_methods(self) -> None:
        members: dict[tuple[str, str], list[str]] = {("notification", "params"): list(PROTOCOL_LEVEL)}
        for envelope, place in ENVELOPES.items():
            found = re.findall(r'"#/\$defs/(\w+)"', json.dumps(self.definitions[envelope]))
            members.setdefault(place, []).extend(name for name in found if "x-method" in self.definitions[name])
        results = {self.method_of(name): name for name in members["request", "result"]}
        for kind in ("request", "notification"):
            for name in members[kind, "params"]:
                method, side = self.method_of(name)
                result = results.pop((method, side)) if kind == "request" else None
                self.methods.append((method, kind, {"protocol": "both"}.get(side, side), name, result))
                self.use(name, f"Params of the {kind} `{method}`.")
                if result:
                    self.use(result, f"Result of `{method}`.")
        if results:
            raise Unknown(f"results without a request: {results}")
        self.methods.sort()

    def method_of(self, name: str) -> tuple[str, str]:
        schema = self.definitions[name]
        return schema["x-method"], schema["x-side"]

    def use(self, name: str, sentence: str) -> None:
        self.uses.setdefault(name, []).append(sentence)

    # Text

    def text(self) -> str:
        lines = HEADER.splitlines()
        bodies = [body for one in self.ordered() for body in self.class_lines(one)]
        # Aliases follow the classes: annotations are strings, but an alias of classes is evaluated.
        aliases = [line for name in sorted(self.aliases) for line in self.aliases[name]]
        tables = [*self.union_table(), "", *self.flattened_table(), "", *self.method_table()]
        names = [*self.aliases, *self.classes, "FLATTENED", "METHODS", "UNIONS"]
        exported = [f'    "{name}",' for name in sorted(names, key=lambda name: (not name.isupper(), name))]
        return "\n".join([*lines, "", "__all__ = [", *exported, "]", *bodies, "", "", *aliases, "", *tables]) + "\n"

    def ordered(self) -> Iterator[Class]:
        """By name, what a class needs first."""
        done: set[str] = set()

        def visit(name: str) -> Iterator[Class]:
            if name not in done:
                done.add(name)
                for needed in self.classes[name].needs:
                    yield from visit(needed)
                yield self.classes[name]

        for name in sorted(self.classes):
            yield from visit(name)

    def class_lines(self, made: Class) -> list[str]:
        lines = ["", "@frozen(kw_only=True, eq=False, repr=False)", f"class {made.name}({made.base or 'AcpObject'}):"]
        sentences = self.uses.get(made.name, [])
        if not sentences and not made.fields:
            sentences = ["An object without properties of its own."]
        if sentences:
            whole = f'    """{" ".join(sentences)}"""'
            lines += [whole] if len(whole) <= WIDTH else ['    """', *(f"    {one}" for one in sentences), '    """']
            lines += [""] if made.fields else []
        lines += [f"    {line}" for line in made.fields]
        if too_long := [line for line in lines if len(line) > WIDTH]:
            raise Unknown(f"a line for the formatter to break: {too_long}")
        return ["", *lines]

    def union_table(self) -> list[str]:
        lines = ["UNIONS: tuple[TaggedUnion, ...] = ("]
        for _, union in sorted(self.unions.items()):
            lines += ["    TaggedUnion(", f'        name="{union.name}",', f'        tag="{union.tag}",']
            lines += ["        variants={", *(f'            "{tag}": {name},' for tag, name in union.variants.items())]
            lines += ["        },"]
            lines += [f"        default={union.default},"] if union.default else []
            lines += ["        open=True,"] if union.open else []
            lines += ["    ),"]
        return [*lines, ")"]

    def flattened_table(self) -> list[str]:
        rows = (f'    {name}: "{attribute}",' for name, attribute in sorted(self.flattened.items()))
        return [FLATTENED_COMMENT, "FLATTENED: Mapping[type, str] = {", *rows, "}"]

    def method_table(self) -> list[str]:
        lines = ["METHODS: Mapping[tuple[str, Kind], Method] = {", "    (row.name, row.kind): row", "    for row in ("]
        for method, kind, side, params, result in self.methods:
            items = [f'name="{method}"', f'kind="{kind}"', f'side="{side}"', f"params={params}"]
            items += [f"result={result}"] if result else []
            lines += wrapped("        Method(", items, "),", magic_comma=False)
        return [*lines, "    )", "}"]


def wrapped(start: str, items: list[str], end: str, *, magic_comma: bool = True, comment: bool = False) -> list[str]:
    """One line where it fits; else, as the formatter does it, an indented line for all items or one for each."""
    whole = start + ", ".join(items) + end
    if len(whole) <= WIDTH:
        return [whole]
    if comment:
        raise Unknown(f"a comment that is too long: {whole}")
    indent = " " * (len(start) - len(start.lstrip()))
    together = f"{indent}    {', '.join(items)}"
    if not magic_comma and len(together) <= WIDTH:
        return [start, together, indent + end]
    return [start, *(f"{indent}    {item}," for item in items), indent + end]


def union_lines(name: str, arms: list[str]) -> list[str]:
    whole = f"{name}: TypeAlias = {' | '.join(arms)}"
    if len(whole) <= WIDTH:
        return [whole]
    together = "    " + " | ".join(arms)
    if len(together) <= WIDTH:
        return [f"{name}: TypeAlias = (", together, ")"]
    return [f"{name}: TypeAlias = (", f"    {arms[0]}", *(f"    | {arm}" for arm in arms[1:]), ")"]


FLATTENED_COMMENT = "# class -> the field whose object is spread over the class's own on the wire"

HEADER = '''\
"""The types of ACP version 1. Generated from schema/v1.json by `python -m middleware.acp.generate`: do not edit.

A field has the schema's name in snake_case (`meta` for `_meta`); absent is None, or the schema's default, and null is
`NULL` where it means another thing. The tag of a union is not a field: the class says it, and `UNIONS` maps the one to
the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from attrs import field, frozen

from middleware.acp.vocabulary import (
    AcpObject,
    Kind,
    Lenient,
    LenientItems,
    Method,
    MinLength,
    Null,
    NullIsDefault,
    Range,
    TaggedUnion,
    Uint,
)
'''


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m middleware.acp.generate", description="Writes middleware/acp/v1.py."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when v1.py is stale")
    options = parser.parse_args(arguments)
    text = Generator(json.loads(SOURCE.read_text(encoding="utf-8"))).text()
    fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if options.check:
        if not fresh:
            sys.stderr.write("middleware/acp/v1.py is stale: run python -m middleware.acp.generate\n")
        return 0 if fresh else 1
    if not fresh:
        TARGET.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
