"""Many rows in one statement: `INSERT … SELECT unnest` with a rule for those that are there.

Builds text and columns and sends nothing. Names are checked, values travel as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_TYPE: Final = re.compile(r"[a-z][a-z0-9 ]*(?:\(\d+(?:,\d+)?\))?")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Upsert:
    """One table's statement. Arrays of arrays cannot be unnested: such a column travels as jsonb text."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """Name and type of each column, in the order of a row's values."""
    conflict: tuple[str, ...]
    """The columns that make a row the same row."""
    update: tuple[str, ...] = ()
    """What a repeated row sets anew; nothing: it is left as it is."""
    where: str = ""
    """When an update may happen, in SQL (`pages.seq <= excluded.seq`): a fixed text, never input."""
    computed: tuple[tuple[str, str], ...] = ()
    """What a repeated row sets by an expression in SQL, also of columns that no row has: fixed texts too."""
    sql: str = field(init=False)

    def __post_init__(self) -> None:
        """Check the names and write the statement."""
        names = [name for name, _ in self.columns]
        for name in (self.table, *names, *self.conflict, *self.update, *(name for name, _ in self.computed)):
            if not _NAME.fullmatch(name):
                raise ValueError(f"no name of a table or column: {name!r}")
        for kind in (kind for _, kind in self.columns):
            if not _TYPE.fullmatch(kind):
                raise ValueError(f"no type of a column: {kind!r}")
        if not self.conflict or not {*self.conflict, *self.update} <= {*names}:
            raise ValueError(f"{self.table}: conflict and update name columns of the row")
        object.__setattr__(self, "sql", self._statement(names))

    def columns_of(self, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """Turn rows into columns; of rows that are the same row the last stays (the server takes one)."""
        places = [index for index, (name, _) in enumerate(self.columns) if name in self.conflict]
        last = {tuple(row[place] for place in places): row for row in rows}
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
    """Take out of a text what PostgreSQL cannot hold: NUL, and surrogates that stand alone."""
    if not isinstance(value, str):
        return value
    if "\x00" in value:
        value = value.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return value if value.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
