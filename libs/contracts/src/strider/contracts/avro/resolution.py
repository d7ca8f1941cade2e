"""How a value in the writer's shape becomes one in the reader's.

Messages are always read whole with the schema that they were written with, and brought into shape
here: fastavro's own resolution steps over fields that the reader lacks without looking whether
their bytes are there, so that a truncated message would pass. Decides nothing about compatibility;
whoever builds a projection has asked `compatibility` first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .compatibility import fits, match_branch, match_field
from .schema_model import SchemaField, SchemaNode

Projection = Callable[[Any], Any]


def build_projection(*, writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    """Build the way from one shape to the other; None where a value can stay as it is."""
    if writer.kind == "union":
        return _union_projection(writer, reader)
    if reader.kind == "union":
        branch = match_branch(writer, reader.children)
        return None if branch is None else build_projection(writer=writer, reader=branch)
    if writer.kind != reader.kind:
        return _promotion_projection(writer.kind, reader.kind)
    build = _SAME_KIND.get(writer.kind)
    return None if build is None else build(writer, reader)


def default_value(field: SchemaField) -> Any:
    """Turn a field's default from JSON into the value that a reader would get, a fresh one each time."""
    return _value_from_json(field.default, field.node)


def _value_from_json(value: Any, node: SchemaNode) -> Any:
    if node.kind == "union":
        return _value_from_json(value, next(part for part in node.children if fits(value, part)))
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
    """Avro writes bytes in JSON as text of the first 256 code points."""
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


def _items(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    inner = build_projection(writer=writer.children[0], reader=reader.children[0])
    if inner is None:
        return None
    if writer.kind == "array":
        return lambda items: [inner(item) for item in items]
    return lambda values: {name: inner(value) for name, value in values.items()}


def _record(writer: SchemaNode, reader: SchemaNode) -> Projection | None:
    written = {field.name: field for field in writer.fields}
    steps = [_step(field, match_field(field, written)) for field in reader.fields]
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


def _step(field: SchemaField, match: SchemaField | None) -> tuple[str, str | None, Projection | None]:
    if match is None:
        return field.name, None, lambda _nothing: default_value(field)
    return field.name, match.name, build_projection(writer=match.node, reader=field.node)


_SAME_KIND: Final = {"record": _record, "enum": _enum_projection, "array": _items, "map": _items}
