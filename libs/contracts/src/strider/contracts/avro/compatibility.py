"""Check that all versions of an event can read each other.

Covers all versions, released ones included, in both directions: first the rules of `resolution`, then a trial
in which sample values are written with one version and read into the other as services do it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import permutations
from typing import Any, NamedTuple

from fastavro import schemaless_reader, schemaless_writer

from .resolution import Incompatibility, build_projection, find_incompatibilities, find_invalid_defaults
from .schema_model import SchemaError, SchemaNode
from .schema_store import WriterSchema, writer_schema

_EMPTY_VALUES: Mapping[str, Any] = {
    "null": None,
    "boolean": False,
    "int": 0,
    "long": 0,
    "float": 0.0,
    "double": 0.0,
    "bytes": b"",
    "string": "",
}


_FULL_VALUES: Mapping[str, Any] = {
    "null": None,
    "boolean": True,
    "int": -(1 << 31),
    "long": (1 << 63) - 1,
    "float": 0.5,
    "double": -1.5,
    "bytes": b"bytes",
    "string": "täxt",
}


class VersionIncompatibility(NamedTuple):
    """An incompatibility and its two schemas; the same name twice where only one is concerned."""

    writer: str
    reader: str
    incompatibility: Incompatibility

    def __str__(self) -> str:
        """Format schemas, field and rule on one line."""
        about = self.writer if self.writer == self.reader else f"{self.writer} read as {self.reader}"
        path, rule, detail = self.incompatibility
        return f"{about}: {path or 'the whole'}: {rule}: {detail}"


def check_versions(schemas: Mapping[str, Any]) -> list[VersionIncompatibility]:
    """Check schemas by name (`event.vN`); an empty list means that versions may run side by side."""
    problems: list[VersionIncompatibility] = []
    families: dict[str, list[tuple[str, WriterSchema]]] = {}
    for name, schema in sorted(schemas.items()):
        try:
            ready = writer_schema(schema)
        except SchemaError as failure:
            problems.append(
                VersionIncompatibility(name, name, Incompatibility("", "no_schema", str(failure)))
            )
            continue
        problems += [
            VersionIncompatibility(name, name, finding) for finding in find_invalid_defaults(ready.node)
        ]
        families.setdefault(name.rpartition(".v")[0], []).append((name, ready))
    for versions in families.values():
        for (written, writer), (read, reader) in permutations(versions, 2):
            problems += [
                VersionIncompatibility(written, read, finding)
                for finding in _compare_versions(writer, reader)
            ]
    return problems


def _compare_versions(writer: WriterSchema, reader: WriterSchema) -> Sequence[Incompatibility]:
    if found := find_incompatibilities(writer=writer.node, reader=reader.node):
        return found
    return tuple(_trial_read(writer, reader))


def _trial_read(writer: WriterSchema, reader: WriterSchema) -> Iterator[Incompatibility]:
    project = build_projection(writer=writer.node, reader=reader.node)
    for value in sample_values(writer.node):
        stream = BytesIO()
        schemaless_writer(stream, writer.avro, value)
        stream.seek(0)
        read: Any = schemaless_reader(stream, writer.avro, None)
        try:
            schemaless_writer(BytesIO(), reader.avro, project(read) if project else read)
        except (ValueError, TypeError, KeyError, OverflowError) as failure:
            yield Incompatibility("", "unreadable", f"{type(failure).__name__}: {failure}")
            return


def sample_values(node: SchemaNode) -> Sequence[Any]:
    """Return sample values of a type: one as empty as possible, one with every part filled in."""
    return _sample_value(node, full=False), _sample_value(node, full=True)


def _sample_value(node: SchemaNode, *, full: bool) -> Any:
    if node.kind == "record":
        return {field.name: _sample_value(field.node, full=full) for field in node.fields}
    if node.kind == "union":
        return _sample_value(node.children[-1 if full else 0], full=full)
    if node.kind == "array":
        return [_sample_value(node.children[0], full=full)] if full else []
    if node.kind == "map":
        return {"name": _sample_value(node.children[0], full=full)} if full else {}
    if node.kind == "enum":
        return node.symbols[-1 if full else 0]
    return bytes(node.size) if node.kind == "fixed" else (_FULL_VALUES if full else _EMPTY_VALUES)[node.kind]
