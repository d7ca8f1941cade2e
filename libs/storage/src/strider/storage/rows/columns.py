"""Columns of a row: name, type, source of the value, and where it is shown.

A row is a NamedTuple with a `Column` in the annotation of each field. Its builder, the fields to decode,
statements, responses of the API and lines of `strider crawl` are derived from it: a column is declared once.
Must not know SQL, Avro or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from strider.contracts.compiled_rows import RowValue, compile_row

Row = TypeVar("Row", bound=tuple[Any, ...])


class ApiView(StrEnum):
    """The responses of the API that contain a column."""

    NONE = "none"
    DETAIL = "detail"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    source: str | tuple[str, ...] = ()
    """Path of its value, as `page.title`; by default the field of the same name."""
    convert: Callable[..., Any] | None = None
    """Function of the sources' values; without it the value is stored as it is."""
    api: ApiView = ApiView.NONE
    part: int | None = None
    """Position of the value, where the function returns the values of several columns."""
    json: Any = None
    """Type of the value inside of a column of JSON text; None for other columns."""
    crawl: Literal["basic", "main", "records"] | None = None
    """Extraction level from which on `strider crawl` adds it to its lines, as the parsed page has it."""
    name: str = ""
    """Set by `columns_of`, as the type is."""
    type: Any = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths that the value is computed from."""
        return (self.source,) if isinstance(self.source, str) else self.source

    def value_in(self, event: Any) -> Any:
        """Return the value of a column that is a plain field of one event."""
        return getattr(event, self.sources[0].partition(".")[2])


@cache
def columns_of(row: type[tuple[Any, ...]], root: str = "page") -> tuple[Column, ...]:
    """Return the columns of a row in their order; `root` is the event of columns without a source."""
    hints = get_type_hints(row, include_extras=True)
    fields: Sequence[str] = row._fields  # type: ignore[attr-defined]  # rows are named tuples
    return tuple(_column(name, hints[name], root) for name in fields)


def _column(name: str, hint: Any, root: str) -> Column:
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    declared = next((extra for extra in extras if isinstance(extra, Column)), Column())
    column = replace(declared, name=name, type=kind, source=declared.sources or (f"{root}.{name}",))
    is_plain = column.convert is None and column.sources[0].startswith(f"{root}.")
    if column.crawl is not None and not is_plain:
        raise ValueError(f"{name}: `crawl` is only for columns that store a field of the event as it is")
    return column


def columns_shown(columns: Iterable[Column], view: ApiView) -> tuple[Column, ...]:
    """Return the columns of a response: those of lists, and in a detail the further ones after them."""
    listed = [column for column in columns if column.api is ApiView.LIST]
    further = [column for column in columns if column.api is ApiView.DETAIL and view is ApiView.DETAIL]
    return (*listed, *further)


def source_fields(columns: Iterable[Column], root: str) -> tuple[str, ...]:
    """Return the fields of an event that columns are read from, each once."""
    paths = (path.partition(".") for column in columns for path in column.sources)
    return tuple(dict.fromkeys(field for name, _, field in paths if name == root and field))


def row_builder(row: type[Row], *events: str) -> Callable[..., Row]:
    """Return the function that builds a row from these events and values; the first is the default one."""
    columns = columns_of(row, events[0])
    return compile_row(row, events, [RowValue(each.sources, each.convert, each.part) for each in columns])
