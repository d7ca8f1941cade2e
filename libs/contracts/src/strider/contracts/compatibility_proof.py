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

from .book import WriterSchema, writer_schema
from .book_nodes import Node, SchemaError
from .codec_resolution import build_projection
from .compatibility import Finding, find_bad_defaults, find_obstacles


class Problem(NamedTuple):
    """A finding, and the schemas that it is about: the same name twice where it is about one alone."""

    writer: str
    reader: str
    finding: Finding

    def __str__(self) -> str:
        """Name schemas, field and rule on one line."""
        about = self.writer if self.writer == self.reader else f"{self.writer} read as {self.reader}"
        path, rule, detail = self.finding
        return f"{about}: {path or 'the whole'}: {rule}: {detail}"


def check_versions(schemas: Mapping[str, Any]) -> list[Problem]:
    """Check schemas by their names, `event.vN`; no problem means that versions may run side by side."""
    problems: list[Problem] = []
    families: dict[str, list[tuple[str, WriterSchema]]] = {}
    for name, schema in sorted(schemas.items()):
        try:
            ready = writer_schema(schema)
        except SchemaError as failure:
            problems.append(Problem(name, name, Finding("", "no_schema", str(failure))))
            continue
        problems += [Problem(name, name, finding) for finding in find_bad_defaults(ready.node)]
        families.setdefault(name.rpartition(".v")[0], []).append((name, ready))
    for versions in families.values():
        for (written, writer), (read, reader) in permutations(versions, 2):
            problems += [Problem(written, read, finding) for finding in _try(writer, reader)]
    return problems


def _try(writer: WriterSchema, reader: WriterSchema) -> Sequence[Finding]:
    if found := find_obstacles(writer=writer.node, reader=reader.node):
        return found
    return tuple(_read_through(writer, reader))


def _read_through(writer: WriterSchema, reader: WriterSchema) -> Iterator[Finding]:
    project = build_projection(writer=writer.node, reader=reader.node)
    for value in sample_values(writer.node):
        stream = BytesIO()
        schemaless_writer(stream, writer.avro, value)
        stream.seek(0)
        read: Any = schemaless_reader(stream, writer.avro, None)
        try:
            schemaless_writer(BytesIO(), reader.avro, project(read) if project else read)
        except (ValueError, TypeError, KeyError, OverflowError) as failure:
            yield Finding("", "unreadable", f"{type(failure).__name__}: {failure}")
            return


def sample_values(node: Node) -> Sequence[Any]:
    """Make up values of a type: one with as little as it can have, one with something everywhere."""
    return _sample(node, full=False), _sample(node, full=True)


def _sample(node: Node, *, full: bool) -> Any:
    if node.kind == "record":
        return {field.name: _sample(field.node, full=full) for field in node.fields}
    if node.kind == "union":
        return _sample(node.parts[-1 if full else 0], full=full)
    if node.kind == "array":
        return [_sample(node.parts[0], full=full)] if full else []
    if node.kind == "map":
        return {"name": _sample(node.parts[0], full=full)} if full else {}
    if node.kind == "enum":
        return node.symbols[-1 if full else 0]
    return bytes(node.size) if node.kind == "fixed" else (_FULL if full else _EMPTY)[node.kind]


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
_FULL: Mapping[str, Any] = {
    "null": None,
    "boolean": True,
    "int": -(1 << 31),
    "long": (1 << 63) - 1,
    "float": 0.5,
    "double": -1.5,
    "bytes": b"bytes",
    "string": "täxt",
}
