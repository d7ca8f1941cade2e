"""Examples of events as people write them, turned into what Avro writes.

JSON has no bytes: as in Avro's own JSON form, each character below U+0100 stands for one byte.
Fields that are left out get their default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .declarations import (
    ArrayType,
    AvroType,
    DeclarationError,
    MapType,
    NullableType,
    PrimitiveType,
    RecordType,
)

_PYTHON = {"string": str, "int": int, "long": int, "double": (int, float), "boolean": bool, "bytes": str}


def record_from_json(record: RecordType, content: Any, *, file: str, place: str = "") -> dict[str, Any]:
    """Turn a JSON object into a record; raises DeclarationError where it is none."""
    if not isinstance(content, Mapping):
        raise DeclarationError(file, place, f"must be an object, not {content!r}")
    names = {field.name for field in record.fields}
    for name in content:
        if name not in names:
            raise DeclarationError(file, f"{place}{name}", f"is no field of {record.name}")
    result = {}
    for field in record.fields:
        if field.name not in content and field.is_required:
            raise DeclarationError(file, f"{place}{field.name}", "is missing")
        value = content.get(field.name, field.default)
        result[field.name] = _value(field.type, value, file=file, place=f"{place}{field.name}")
    return result


def _value(kind: AvroType, value: Any, *, file: str, place: str) -> Any:
    match kind:
        case NullableType(of):
            return None if value is None else _value(of, value, file=file, place=place)
        case ArrayType(of) if isinstance(value, list):
            return [
                _value(of, item, file=file, place=f"{place}[{number}]") for number, item in enumerate(value)
            ]
        case MapType(of) if isinstance(value, dict):
            return {
                name: _value(of, item, file=file, place=f"{place}.{name}") for name, item in value.items()
            }
        case RecordType():
            return record_from_json(kind, value, file=file, place=f"{place}.")
        case PrimitiveType(name) if _is(value, name):
            return value.encode("latin-1") if name == "bytes" else value
    raise DeclarationError(file, place, f"does not fit the type: {value!r}")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    fits = isinstance(value, _PYTHON[name])  # type: ignore[arg-type]  # a type or a tuple of types
    return fits and not (name == "bytes" and any(ord(sign) > 0xFF for sign in value))  # noqa: PLR2004  # a byte
