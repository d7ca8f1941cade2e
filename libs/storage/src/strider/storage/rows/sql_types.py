"""PostgreSQL types of columns, and the values that existing rows get for a new one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, get_origin

from .columns import Column

_TYPES: Final[Mapping[Any, str]] = MappingProxyType(
    {
        int: "bigint",
        float: "double precision",
        bool: "boolean",
        str: "text",
        datetime: "timestamptz",
        datetime | None: "timestamptz",
        Decimal | None: "numeric",
        float | None: "double precision",
        int | None: "bigint",
    }
)
_DEFAULTS: Final[Mapping[Any, str]] = MappingProxyType({int: "0", float: "0", bool: "false", str: "''"})


def sql_type(column: Column) -> str:
    """Return the type of a column: JSON is sent as text, all else by the field's own type."""
    if column.json:
        return "jsonb"
    if column.type not in _TYPES:
        raise ValueError(f"{column.name}: {column.type} has no PostgreSQL type; store it as text or as JSON")
    return _TYPES[column.type]


def sql_definition(column: Column) -> str:
    """Return type and constraint of a new column; raises KeyError without a value for existing rows."""
    if column.json:
        empty = "'{}'" if get_origin(column.json) is dict else "'[]'"
        return f"jsonb NOT NULL DEFAULT {empty}"
    if column.type not in _DEFAULTS and column.type is not datetime:
        return sql_type(column)
    return f"{sql_type(column)} NOT NULL DEFAULT {_DEFAULTS[column.type]}"
