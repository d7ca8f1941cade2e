"""Can a reader with this schema read what was written with that one?

Avro's resolution rules, as far as this house uses them, with the place and the rule of each
obstacle. Versions must be readable by their neighbours both ways (FULL_TRANSITIVE), so that services
of two versions can run side by side, old and new first. Knows schemas only, no messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from .schema_model import SchemaField, SchemaNode, canonical_form

COMPATIBILITY_RULES: Final = {
    "type_changed": "a field keeps its type for ever; a new type is a new field",
    "renamed": "a record, enum or fixed type keeps its name; readers look for it",
    "no_default": "a field that one side lacks needs a default on the other",
    "symbol_unknown": "an enum grows only where its reader has a default",
    "size_changed": "a fixed type keeps its size",
    "branch_missing": "a union's branches are known to both sides",
    "union_ambiguous": "a union changes only where it is null and one type",
    "bad_default": "a default is a value of the type of its field",
    "no_schema": "a schema can be read with, without endless work",
    "unreadable": "what one version writes, the other has read in a trial",
}
"""What a finding may be called, and the rule that it breaks."""

_PROMOTIONS: Final = frozenset(
    {
        ("int", "long"),
        ("int", "float"),
        ("int", "double"),
        ("long", "float"),
        ("long", "double"),
        ("float", "double"),
        ("string", "bytes"),
        ("bytes", "string"),
    }
)


class Incompatibility(NamedTuple):
    """One thing that stands in the way."""

    path: str
    """Fields from the outside in, joined by dots; `[]` are the items of an array or map."""
    rule: str
    detail: str


def find_incompatibilities(*, writer: SchemaNode, reader: SchemaNode) -> list[Incompatibility]:
    """List what a reader would stumble over; nothing means that it reads all that the writer writes."""
    return list(_compare(writer, reader, ""))


def match_field(field: SchemaField, writer_fields: Mapping[str, SchemaField]) -> SchemaField | None:
    """Find what a reader's field is called by the writer: its name, or one of its aliases."""
    names = (field.name, *field.aliases)
    return next((writer_fields[name] for name in names if name in writer_fields), None)


def match_branch(part: SchemaNode, branches: tuple[SchemaNode, ...]) -> SchemaNode | None:
    """Choose the reader's branch for a writer's type: one of the same kind before a promotion."""
    same_kind = sorted(branches, key=lambda branch: branch.kind != part.kind)
    return next(
        (branch for branch in same_kind if not find_incompatibilities(writer=part, reader=branch)), None
    )


def find_invalid_defaults(node: SchemaNode, path: str = "") -> Iterator[Incompatibility]:
    """List defaults that are no values of their own field, so that no reader could use them."""
    for field in node.fields:
        place = _join(path, field.name)
        if field.has_default and not fits(field.default, field.node):
            yield Incompatibility(
                place, "bad_default", f"{field.default!r:.60} is no {describe_type(field.node)}"
            )
        yield from find_invalid_defaults(field.node, place)
    for part in node.children:
        yield from find_invalid_defaults(part, path + "[]" if node.kind in ("array", "map") else path)


def describe_type(node: SchemaNode) -> str:
    """Say a type in a few words."""
    if node.kind == "union":
        return " or ".join(describe_type(part) for part in node.children)
    if node.children:
        return f"{node.kind} of {describe_type(node.children[0])}"
    return f"{node.kind} {node.short_name}".strip()


def fits(value: Any, node: SchemaNode) -> bool:
    """Tell whether a JSON value is one of a type, by the rules for defaults (any branch of a union)."""
    if node.kind == "union":
        return any(fits(value, part) for part in node.children)
    if node.kind == "array":
        return isinstance(value, list) and all(fits(item, node.children[0]) for item in value)
    if node.kind == "map":
        return isinstance(value, dict) and all(fits(item, node.children[0]) for item in value.values())
    if node.kind == "record":
        return isinstance(value, dict) and all(
            fits(value[field.name], field.node) if field.name in value else field.has_default
            for field in node.fields
        )
    return _PLAIN[node.kind](value, node)


def _is_whole(value: Any, *, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits


_LATIN_1: Final = frozenset(map(chr, range(256)))
"""What Avro writes bytes with in JSON."""

_PLAIN: Final[Mapping[str, Callable[[Any, SchemaNode], bool]]] = {
    "null": lambda value, _: value is None,
    "boolean": lambda value, _: isinstance(value, bool),
    "int": lambda value, _: _is_whole(value, bits=31),
    "long": lambda value, _: _is_whole(value, bits=63),
    "float": lambda value, _: isinstance(value, int | float) and not isinstance(value, bool),
    "double": lambda value, _: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value, _: isinstance(value, str),
    "bytes": lambda value, _: isinstance(value, str) and all(sign in _LATIN_1 for sign in value),
    "enum": lambda value, node: value in node.symbols,
    "fixed": lambda value, node: isinstance(value, str) and len(value) == node.size,
}


def _compare(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    if writer is reader:
        return
    if "union" in (writer.kind, reader.kind):
        yield from _compare_unions(writer, reader, path)
    elif writer.kind == reader.kind:
        yield from _SAME_KIND.get(writer.kind, _nothing)(writer, reader, path)
    elif (writer.kind, reader.kind) not in _PROMOTIONS:
        yield Incompatibility(
            path, "type_changed", f"written as {describe_type(writer)}, read as {describe_type(reader)}"
        )


def _compare_unions(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    written = writer.children or (writer,)
    read = reader.children or (reader,)
    if canonical_form(writer) == canonical_form(reader):
        return
    for part in written:
        if match_branch(part, read) is None:
            yield from _missing_branch(part, read, path)
    if sum(part.kind != "null" for part in written) > 1:
        yield Incompatibility(
            path, "union_ambiguous", f"{describe_type(writer)} became {describe_type(reader)}"
        )


def _missing_branch(part: SchemaNode, read: tuple[SchemaNode, ...], path: str) -> Iterator[Incompatibility]:
    """Where the only candidate is of the same kind, say what is wrong inside of it."""
    alike = [branch for branch in read if branch.kind == part.kind]
    if len(alike) == 1:
        yield from _compare(part, alike[0], path)
    else:
        detail = f"{describe_type(part)} is written, {' or '.join(describe_type(branch) for branch in read)} is read"
        yield Incompatibility(path, "branch_missing", detail)


def _compare_names(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    if writer.short_name not in (reader.short_name, *reader.aliases):
        yield Incompatibility(path, "renamed", f"{writer.short_name} is written, {reader.short_name} is read")


def _compare_records(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    yield from _compare_names(writer, reader, path)
    written = {field.name: field for field in writer.fields}
    for field in reader.fields:
        match = match_field(field, written)
        if match is not None:
            yield from _compare(match.node, field.node, _join(path, field.name))
        elif not field.has_default:
            yield Incompatibility(
                _join(path, field.name), "no_default", "not written, and the reader has no default"
            )


def _compare_enums(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    yield from _compare_names(writer, reader, path)
    unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
    if unknown and reader.default is None:
        yield Incompatibility(path, "symbol_unknown", f"the reader knows no {', '.join(unknown)}")


def _compare_fixed(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    yield from _compare_names(writer, reader, path)
    if writer.size != reader.size:
        yield Incompatibility(
            path, "size_changed", f"{writer.size} bytes are written, {reader.size} are read"
        )


def _compare_items(writer: SchemaNode, reader: SchemaNode, path: str) -> Iterator[Incompatibility]:
    yield from _compare(writer.children[0], reader.children[0], f"{path}[]")


def _nothing(_writer: SchemaNode, _reader: SchemaNode, _path: str) -> Iterator[Incompatibility]:
    return iter(())


_SAME_KIND: Final = {
    "record": _compare_records,
    "enum": _compare_enums,
    "fixed": _compare_fixed,
    "array": _compare_items,
    "map": _compare_items,
}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
