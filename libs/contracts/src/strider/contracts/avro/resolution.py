"""Avro schema resolution: incompatibilities of two schemas, and projection of values.

Implements the resolution rules as far as our schemas use them, and names path and rule of each
incompatibility. Versions must be readable by their neighbours both ways (FULL_TRANSITIVE), so that services
of two versions can run side by side. Messages are always read completely with the writer's schema and
projected to the reader's shape here: fastavro's own resolution skips fields that the reader lacks without
checking that their bytes exist, so that a truncated message would pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from .schema_model import SchemaField, SchemaNode, canonical_form

COMPATIBILITY_RULES: Final = {
    "type_changed": "a field keeps its type; a new type needs a new field",
    "renamed": "a record, enum or fixed type keeps its name; readers search for it",
    "no_default": "a field that one side lacks needs a default on the other",
    "symbol_unknown": "an enum grows only where its reader has a default",
    "size_changed": "a fixed type keeps its size",
    "branch_missing": "a union's branches are known to both sides",
    "union_ambiguous": "a union changes only where it is null and one type",
    "bad_default": "a default must have the type of its field",
    "no_schema": "a schema must be valid and bounded in size",
    "unreadable": "sample values of one version must be readable by the other",
}
"""Names of incompatibilities and the rule that each breaks."""

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
    """One reason why a reader cannot read what a writer writes."""

    path: str
    """Field names from the outside in, joined by dots; `[]` stands for the items of an array or map."""
    rule: str
    detail: str


def find_incompatibilities(*, writer: SchemaNode, reader: SchemaNode) -> list[Incompatibility]:
    """List all incompatibilities; an empty list means that the reader reads all that the writer writes."""
    return list(_compare(writer, reader, ""))


def match_field(field: SchemaField, writer_fields: Mapping[str, SchemaField]) -> SchemaField | None:
    """Return the writer's field for a reader's field, by its name or one of its aliases."""
    names = (field.name, *field.aliases)
    return next((writer_fields[name] for name in names if name in writer_fields), None)


def match_branch(part: SchemaNode, branches: tuple[SchemaNode, ...]) -> SchemaNode | None:
    """Return the reader's branch for a writer's type; one of the same kind wins over a promotion."""
    same_kind = sorted(branches, key=lambda branch: branch.kind != part.kind)
    return next(
        (branch for branch in same_kind if not find_incompatibilities(writer=part, reader=branch)), None
    )


def find_invalid_defaults(node: SchemaNode, path: str = "") -> Iterator[Incompatibility]:
    """List defaults that are not valid values of their own field."""
    for field in node.fields:
        place = _join_path(path, field.name)
        if field.has_default and not is_json_value_of(field.default, field.node):
            yield Incompatibility(
                place, "bad_default", f"{field.default!r:.60} is not a value of {describe_type(field.node)}"
            )
        yield from find_invalid_defaults(field.node, place)
    for part in node.children:
        yield from find_invalid_defaults(part, path + "[]" if node.kind in ("array", "map") else path)


def describe_type(node: SchemaNode) -> str:
    """Describe a type in a few words."""
    if node.kind == "union":
        return " or ".join(describe_type(part) for part in node.children)
    if node.children:
        return f"{node.kind} of {describe_type(node.children[0])}"
    return f"{node.kind} {node.short_name}".strip()


def is_json_value_of(value: Any, node: SchemaNode) -> bool:
    """Whether a JSON value is a value of a type, by the rules for defaults (any branch of a union)."""
    if node.kind == "union":
        return any(is_json_value_of(value, part) for part in node.children)
    if node.kind == "array":
        return isinstance(value, list) and all(is_json_value_of(item, node.children[0]) for item in value)
    if node.kind == "map":
        return isinstance(value, dict) and all(
            is_json_value_of(item, node.children[0]) for item in value.values()
        )
    if node.kind == "record":
        return isinstance(value, dict) and all(
            is_json_value_of(value[field.name], field.node) if field.name in value else field.has_default
            for field in node.fields
        )
    return _SIMPLE_VALUE_TESTS[node.kind](value, node)


def _is_integer(value: Any, *, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits


_LATIN_1: Final = frozenset(map(chr, range(256)))
"""Characters with which Avro writes bytes in JSON."""

_SIMPLE_VALUE_TESTS: Final[Mapping[str, Callable[[Any, SchemaNode], bool]]] = {
    "null": lambda value, _: value is None,
    "boolean": lambda value, _: isinstance(value, bool),
    "int": lambda value, _: _is_integer(value, bits=31),
    "long": lambda value, _: _is_integer(value, bits=63),
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
        yield from _COMPARISONS.get(writer.kind, _no_incompatibilities)(writer, reader, path)
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
    """Report the faults inside the only candidate of the same kind, else a missing branch."""
    alike = [branch for branch in read if branch.kind == part.kind]
    if len(alike) == 1:
        yield from _compare(part, alike[0], path)
    else:
        expected = " or ".join(map(describe_type, read))
        detail = f"{describe_type(part)} is written, {expected} is read"
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
            yield from _compare(match.node, field.node, _join_path(path, field.name))
        elif not field.has_default:
            yield Incompatibility(
                _join_path(path, field.name), "no_default", "not written, and the reader has no default"
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


def _no_incompatibilities(_writer: SchemaNode, _reader: SchemaNode, _path: str) -> Iterator[Incompatibility]:
    return iter(())


_COMPARISONS: Final = {
    "record": _compare_records,
    "enum": _compare_enums,
    "fixed": _compare_fixed,
    "array": _compare_items,
    "map": _compare_items,
}


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


Projection = Callable[[Any], Any]


def build_projection(*, writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    """Build the conversion from the writer's to the reader's shape; None where values stay unchanged."""
    if writer.kind == "union":
        return _union_projection(writer, reader)
    if reader.kind == "union":
        branch = match_branch(writer, reader.children)
        return None if branch is None else build_projection(writer=writer, reader=branch)
    if writer.kind != reader.kind:
        return _promotion_projection(writer.kind, reader.kind)
    build = _PROJECTIONS.get(writer.kind)
    return None if build is None else build(writer, reader)


def default_value(field: SchemaField) -> Any:
    """Convert a field's default from JSON to the value that a reader gets, a fresh one each time."""
    return _value_from_json(field.default, field.node)


def _value_from_json(value: Any, node: SchemaNode) -> Any:
    if node.kind == "union":
        return _value_from_json(value, next(part for part in node.children if is_json_value_of(value, part)))
    if node.kind == "array":
        return [_value_from_json(item, node.children[0]) for item in value]
    if node.kind == "map":
        return {name: _value_from_json(item, node.children[0]) for name, item in value.items()}
    if node.kind == "record":
        return {
            field.name: _value_from_json(value.get(field.name, field.default), field.node)
            for field in node.fields
        }
    return _PLAIN_DEFAULTS[node.kind](value) if node.kind in _PLAIN_DEFAULTS else value


def _from_bytes_text(value: str) -> bytes:
    """Decode Avro's JSON form of bytes: text of the first 256 code points."""
    return value.encode("latin-1")


_PLAIN_DEFAULTS: Final[Mapping[str, Projection]] = {
    "bytes": _from_bytes_text,
    "fixed": _from_bytes_text,
    "float": float,
    "double": float,
}


def _union_projection(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    others = [part for part in writer.children if part.kind != "null"]
    if len(others) != 1:
        return None
    inner = build_projection(writer=others[0], reader=reader)
    if inner is None:
        return None
    return lambda value: None if value is None else inner(value)


def _promotion_projection(written: str, read: str) -> Projection | None:
    if read in ("float", "double") and written in ("int", "long"):
        return float
    if written == "string" and read == "bytes":
        return lambda value: value.encode()
    if written == "bytes" and read == "string":
        return lambda value: value.decode()
    return None


def _enum_projection(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    known = frozenset(reader.symbols)
    if known.issuperset(writer.symbols):
        return None
    return lambda symbol: symbol if symbol in known else reader.default


def _items_projection(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    inner = build_projection(writer=writer.children[0], reader=reader.children[0])
    if inner is None:
        return None
    if writer.kind == "array":
        return lambda items: [inner(item) for item in items]
    return lambda values: {name: inner(value) for name, value in values.items()}


def _record_projection(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    written = {field.name: field for field in writer.fields}
    steps = [_field_projection(field, match_field(field, written)) for field in reader.fields]
    if len(steps) == len(written) and all(name == source and not convert for name, source, convert in steps):
        return None
    return lambda record: {
        name: (
            (record[source] if convert is None else convert(record[source]))
            if source is not None
            else convert(None)  # type: ignore[misc]  # without a source there always is a default to make
        )
        for name, source, convert in steps
    }


def _field_projection(
    field: SchemaField, match: SchemaField | None
) -> tuple[str, str | None, Projection | None]:
    if match is None:
        return field.name, None, lambda _nothing: default_value(field)
    return field.name, match.name, build_projection(writer=match.node, reader=field.node)


_PROJECTIONS: Final = {
    "record": _record_projection,
    "enum": _enum_projection,
    "array": _items_projection,
    "map": _items_projection,
}
