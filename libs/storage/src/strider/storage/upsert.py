"""Upserts of many rows in one statement: `INSERT … SELECT unnest … ON CONFLICT`.

Builds SQL and columns and sends nothing. Names are checked, values are parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_TYPE: Final = re.compile(r"[a-z][a-z0-9 ]*(?:\(\d+(?:,\d+)?\))?")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Upsert:
    """The upsert of one table. Arrays of arrays cannot be unnested: such a column travels as jsonb text."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """Name and type of each column, in the order of a row's values."""
    conflict: tuple[str, ...]
    """Columns that identify a row."""
    update: tuple[str, ...] = ()
    """Columns that a repeated row updates; none: the stored row stays as it is."""
    where: str = ""
    """Condition of an update, in SQL (`pages.seq <= excluded.seq`): a fixed text, never input."""
    computed: tuple[tuple[str, str], ...] = ()
    """Columns that a repeated row sets by an SQL expression, in a row or not: fixed texts too."""
    merge: Callable[[Any, Any], Any] | None = None
    """Merge two rows with one identity in one statement, the earlier first; by default the later stays."""
    sql: str = field(init=False)

    def __post_init__(self) -> None:
        """Check the names and build the statement."""
        names = [name for name, _ in self.columns]
        for name in (self.table, *names, *self.conflict, *self.update, *(name for name, _ in self.computed)):
            if not _NAME.fullmatch(name):
                raise ValueError(f"invalid name of a table or column: {name!r}")
        for kind in (kind for _, kind in self.columns):
            if not _TYPE.fullmatch(kind):
                raise ValueError(f"invalid type of a column: {kind!r}")
        if not self.conflict or not {*self.conflict, *self.update} <= {*names}:
            raise ValueError(f"{self.table}: conflict and update must name columns of the row")
        object.__setattr__(self, "sql", self._statement(names))

    def columns_of(self, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """Return rows as columns; rows with one identity become one, as the server takes one of them."""
        places = [index for index, (name, _) in enumerate(self.columns) if name in self.conflict]
        last: dict[tuple[Any, ...], Sequence[Any]] = {}
        for row in rows:
            key = tuple(row[place] for place in places)
            last[key] = self.merge(last[key], row) if self.merge and key in last else row
        return [
            [_replace_unstorable(row[index]) for row in last.values()] for index in range(len(self.columns))
        ]

    def _statement(self, names: list[str]) -> str:
        listed = ", ".join(f'"{name}"' for name in names)
        arrays = ", ".join(f"${number}::{kind}[]" for number, (_, kind) in enumerate(self.columns, start=1))
        same = ", ".join(f'"{name}"' for name in self.conflict)
        plain = [f'"{name}" = excluded."{name}"' for name in self.update]
        sets = ", ".join([*plain, *(f'"{name}" = {value}' for name, value in self.computed)])
        then = f"DO UPDATE SET {sets}" if sets else "DO NOTHING"
        limit = f" WHERE {self.where}" if sets and self.where else ""
        return (
            f'INSERT INTO "{self.table}" ({listed}) SELECT * FROM unnest({arrays}) '  # noqa: S608  # names are checked above
            f"ON CONFLICT ({same}) {then}{limit}"
        )


def _replace_unstorable(value: Any) -> Any:
    """Replace what PostgreSQL cannot store in a text: NUL and lone surrogates."""
    if not isinstance(value, str):
        return value
    if "\x00" in value:
        value = value.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return value if value.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
