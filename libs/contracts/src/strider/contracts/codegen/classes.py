"""The event classes, as text: one frozen, slotted dataclass for each record.

`to_record` and `from_record` stand in the hot path of every service, so they are spelled out: one
dict literal, one call by position, and nothing looked up twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .declarations import (
    NO_DEFAULT,
    ArrayType,
    AvroType,
    FieldDeclaration,
    MapType,
    NullableType,
    PrimitiveType,
    RecordType,
    SchemaDeclaration,
    records_of,
)
from .layout import docstring, module, text

_PYTHON = {
    "string": "str",
    "int": "int",
    "long": "int",
    "double": "float",
    "boolean": "bool",
    "bytes": "bytes",
}

_DOC = "Every event, and every record inside of one, as a class."

_IMPORTS = (
    "from __future__ import annotations",
    "",
    "from collections.abc import Mapping",
    "from dataclasses import field",
    "from typing import Any, ClassVar, Final, Self",
    "",
    "from strider.contracts.fast_dataclass import swift",
)


def render_classes(schemas: Iterable[SchemaDeclaration]) -> str:
    """Write `events.py`: records before what holds them, otherwise by the schema's name."""
    names: dict[str, str] = {}
    written: dict[str, list[str]] = {}
    for schema in schemas:
        names[schema.record.name] = schema.name
        for record in records_of(schema.record):
            written.setdefault(record.name, [])
            if not written[record.name]:
                written[record.name] = list(_class(record))
    body = [*_IMPORTS]
    for name, lines in written.items():
        schema_line = f"    SCHEMA_NAME: ClassVar[str] = {text(names[name])}" if name in names else None
        body += ["", "", *(schema_line if line is _SCHEMA_NAME and schema_line else line for line in lines)]
    return module(_DOC, [*(line for line in body if line is not _SCHEMA_NAME), "", *_events(names)])


_SCHEMA_NAME = "SCHEMA_NAME"
"""Holds the place of the line that only a record with a schema of its own has."""


def _events(names: dict[str, str]) -> Iterator[str]:
    yield ""
    yield "EVENTS: Final[Mapping[str, type[Any]]] = {"
    for name, schema in sorted(names.items(), key=lambda item: item[1]):
        yield f"    {text(schema)}: {name},"
    yield "}"
    yield from docstring("Every class that has a schema of its own, by the schema's name.")


def _class(record: RecordType) -> Iterator[str]:
    yield "@swift(frozen=True, slots=True)"
    yield f"class {record.name}:"
    yield from docstring(record.doc, "    ")
    yield ""
    yield _SCHEMA_NAME
    for item in record.fields:
        yield f"    {item.name}: {annotation(item.type)}{_default(item)}"
        yield from docstring(item.doc, "    ")
    yield from _to_record(record)
    yield from _from_record(record)


def _to_record(record: RecordType) -> Iterator[str]:
    yield ""
    yield "    def to_record(self) -> dict[str, Any]:"
    yield '        """Give the values as Avro writes them."""'
    yield "        return {"
    for item in record.fields:
        yield f"            {text(item.name)}: {_written(item.type, f'self.{item.name}')},"
    yield "        }"


def _from_record(record: RecordType) -> Iterator[str]:
    yield ""
    yield "    @classmethod"
    yield "    def from_record(cls, record: Mapping[str, Any]) -> Self:"
    yield '        """Take the values as Avro has read them; every field must be there."""'
    yield "        return cls("
    for item in record.fields:
        yield f"            {_read(item.type, f'record[{text(item.name)}]')},"
    yield "        )"


def annotation(kind: AvroType) -> str:
    """Name the Python type of an Avro type."""
    match kind:
        case PrimitiveType(name):
            return _PYTHON[name]
        case RecordType():
            return kind.name
        case NullableType() | ArrayType() | MapType():
            return _AROUND[type(kind)].format(annotation(kind.of))


_AROUND = {NullableType: "{} | None", ArrayType: "tuple[{}, ...]", MapType: "Mapping[str, {}]"}


def _default(item: FieldDeclaration) -> str:
    return "" if item.default is NO_DEFAULT else f" = {_default_value(item)}"


def _default_value(item: FieldDeclaration) -> str:
    match item.type:
        case ArrayType():
            return "()"
        case MapType():
            return "field(default_factory=dict)"
        case PrimitiveType("string"):
            return text(item.default)
        case PrimitiveType("bytes"):
            return "b" + text(item.default)
    return repr(item.default)


def _written(kind: AvroType, value: str) -> str:
    """From the class to Avro. Tuples of plain values are written as they are."""
    match kind:
        case RecordType():
            return f"{value}.to_record()"
        case ArrayType(of) if _holds_record(of):
            return f"[{_written(of, 'item')} for item in {value}]"
    return value


def _read(kind: AvroType, value: str) -> str:
    """From Avro to the class. Lists become tuples: what is frozen must not change inside."""
    match kind:
        case RecordType():
            return f"{kind.name}.from_record({value})"
        case ArrayType(ArrayType(of)) if _read(of, "item") == "item":
            return f"tuple(map(tuple, {value}))"
        case ArrayType(of) if _read(of, "item") != "item":
            return f"tuple([{_read(of, 'item')} for item in {value}])"
        case ArrayType():
            return f"tuple({value})"
    return value


def _holds_record(kind: AvroType) -> bool:
    return isinstance(kind, RecordType) or (isinstance(kind, ArrayType) and _holds_record(kind.of))
