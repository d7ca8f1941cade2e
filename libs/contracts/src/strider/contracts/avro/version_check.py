"""The proof that every version of an event reads every other one.

For all versions of a schema, released ones included, and both ways: the rules of `compatibility`,
and a trial in which values are written with the one and read as services read them, into the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import permutations
from typing import Any, NamedTuple

from fastavro import schemaless_reader, schemaless_writer

from .compatibility import Incompatibility, find_incompatibilities, find_invalid_defaults
from .resolution import build_projection
from .schema_model import SchemaError, SchemaNode
from .schema_store import WriterSchema, writer_schema


class VersionIncompatibility(NamedTuple):
    """A finding, and the schemas that it is about: the same name twice where it is about one alone."""

    writer: str
    reader: str
    incompatibility: Incompatibility

    def __str__(self) -> str:
        """Name schemas, field and rule on one line."""
        about = self.writer if self.writer == self.reader else f"{self.writer} read as {self.reader}"
        path, rule, detail = self.incompatibility
        return f"{about}: {path or 'the whole'}: {rule}: {detail}"


def check_versions(schemas: Mapping[str, Any]) -> list[VersionIncompatibility]:
    """Check schemas by their names, `event.vN`; no problem means that versions may run side by side."""
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
    """Make up values of a type: one with as little as it can have, one with something everywhere."""
    return _sample(node, full=False), _sample(node, full=True)


def _sample(node: SchemaNode, *, full: bool) -> Any:
    if node.kind == "record":
        return {field.name: _sample(field.node, full=full) for field in node.fields}
    if node.kind == "union":
        return _sample(node.children[-1 if full else 0], full=full)
    if node.kind == "array":
        return [_sample(node.children[0], full=full)] if full else []
    if node.kind == "map":
        return {"name": _sample(node.children[0], full=full)} if full else {}
    if node.kind == "enum":
        return node.symbols[-1 if full else 0]
    return bytes(node.size) if node.kind == "fixed" else (_FULL_VALUES if full else _EMPTY)[node.kind]


_EMPTY: Mapping[str, Any] = {
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
