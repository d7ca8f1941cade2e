"""Source of the event classes and enums: one frozen dataclass for each record.

`to_record` and `from_record` are on the hot path of every service, so they are generated explicitly: one dict
literal, one positional call, and no lookup twice.
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
    ValueList,
    records_of,
)
from .layout import docstring_lines, module_text, quoted

_PYTHON = {
    "string": "str",
    "int": "int",
    "long": "int",
    "double": "float",
    "boolean": "bool",
    "bytes": "bytes",
}

_EVENTS_DOC = "Event classes: one frozen dataclass for each event and each record within one."

_EVENTS_IMPORTS = (
    "from __future__ import annotations",
    "",
    "from collections.abc import Mapping",
    "from dataclasses import field",
    "from typing import Any, ClassVar, Final, Self",
    "",
    "from strider.contracts.fast_dataclass import fast_dataclass",
)


_SCHEMA_NAME = "SCHEMA_NAME"
"""Placeholder of the line that only a record with its own schema has."""


_AROUND = {NullableType: "{} | None", ArrayType: "tuple[{}, ...]", MapType: "Mapping[str, {}]"}


def render_classes(schemas: Iterable[SchemaDeclaration]) -> str:
    """Return the text of `events.py`: nested records first, otherwise ordered by schema name."""
    names: dict[str, str] = {}
    written: dict[str, list[str]] = {}
    for schema in schemas:
        names[schema.record.name] = schema.name
        for record in records_of(schema.record):
            written.setdefault(record.name, [])
            if not written[record.name]:
                written[record.name] = list(_class(record))
    body = [*_EVENTS_IMPORTS]
    for name, lines in written.items():
        schema_line = f"    SCHEMA_NAME: ClassVar[str] = {quoted(names[name])}" if name in names else None
        body += ["", "", *(schema_line if line is _SCHEMA_NAME and schema_line else line for line in lines)]
    return module_text(
        _EVENTS_DOC, [*(line for line in body if line is not _SCHEMA_NAME), "", *_events(names)]
    )


def _events(names: dict[str, str]) -> Iterator[str]:
    yield ""
    yield "EVENTS: Final[Mapping[str, type[Any]]] = {"
    for name, schema in sorted(names.items(), key=lambda item: item[1]):
        yield f"    {quoted(schema)}: {name},"
    yield "}"
    yield from docstring_lines("Every class with a schema of its own, by schema name.")


def _class(record: RecordType) -> Iterator[str]:
    yield "@fast_dataclass(frozen=True, slots=True)"
    yield f"class {record.name}:"
    yield from docstring_lines(record.doc, "    ")
    yield ""
    yield _SCHEMA_NAME
    for item in record.fields:
        yield f"    {item.name}: {annotation(item.type)}{_default(item)}"
        yield from docstring_lines(item.doc, "    ")
    yield from _to_record(record)
    yield from _from_record(record)


def _to_record(record: RecordType) -> Iterator[str]:
    yield ""
    yield "    def to_record(self) -> dict[str, Any]:"
    yield '        """Return the values as Avro writes them."""'
    yield "        return {"
    for item in record.fields:
        yield f"            {quoted(item.name)}: {_written(item.type, f'self.{item.name}')},"
    yield "        }"


def _from_record(record: RecordType) -> Iterator[str]:
    yield ""
    yield "    @classmethod"
    yield "    def from_record(cls, record: Mapping[str, Any]) -> Self:"
    yield '        """Build the event from values as Avro has read them; every field must be present."""'
    yield "        return cls("
    for item in record.fields:
        yield f"            {_read(item.type, f'record[{quoted(item.name)}]')},"
    yield "        )"


def annotation(kind: AvroType) -> str:
    """Return the Python type of an Avro type."""
    match kind:
        case PrimitiveType(name):
            return _PYTHON[name]
        case RecordType():
            return kind.name
        case NullableType() | ArrayType() | MapType():
            return _AROUND[type(kind)].format(annotation(kind.of))


def _default(item: FieldDeclaration) -> str:
    return "" if item.default is NO_DEFAULT else f" = {_default_value(item)}"


def _default_value(item: FieldDeclaration) -> str:
    match item.type:
        case ArrayType():
            return "()"
        case MapType():
            return "field(default_factory=dict)"
        case PrimitiveType("string"):
            return quoted(item.default)
        case PrimitiveType("bytes"):
            return "b" + quoted(item.default)
    return repr(item.default)


def _written(kind: AvroType, value: str) -> str:
    """Return the expression that converts a value from the class to Avro; tuples of plain values stay."""
    match kind:
        case RecordType():
            return f"{value}.to_record()"
        case ArrayType(of) if _holds_record(of):
            return f"[{_written(of, 'item')} for item in {value}]"
    return value


def _read(kind: AvroType, value: str) -> str:
    """Return the expression that converts a value from Avro to the class; lists become immutable tuples."""
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


_ENUMS_DOC = "Enums of all value lists: outcomes, reasons, states and kinds."

_ENUMS_IMPORTS = (
    "from __future__ import annotations",
    "",
    "from collections.abc import Mapping",
    "from enum import StrEnum",
    "from typing import Final",
)


def render_enums(lists: Iterable[ValueList]) -> str:
    """Return the text of `enums.py`."""
    lists = list(lists)
    body = [*_ENUMS_IMPORTS]
    for value_list in lists:
        body += ["", "", *_enum_class(value_list)]
    body += ["", "", "ENUMS: Final[Mapping[str, type[StrEnum]]] = {"]
    body += [f"    {quoted(value_list.name)}: {value_list.class_name}," for value_list in lists]
    body += ["}", *docstring_lines("Every enum by the name in the `words` attribute of schema fields.")]
    return module_text(_ENUMS_DOC, body)


def _enum_class(value_list: ValueList) -> Iterator[str]:
    yield f"class {value_list.class_name}(StrEnum):"
    yield from docstring_lines(value_list.description, "    ")
    yield ""
    for word, sentence in value_list.values.items():
        yield f"    {word.upper()} = {quoted(word)}"
        yield from docstring_lines(sentence, "    ")
