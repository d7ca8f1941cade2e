"""Compiled functions that build a named tuple from fields of events.

    def build(page, verdict):
        value_1 = convert_1(page.fetched_at_ms)
        return new(row, (page.url, value_1, verdict.quality))

A page has fifty columns, and building its row is on the path of every page: reading the fields by name, in a
loop, takes half as long again. Must not know which rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

Row = TypeVar("Row", bound=tuple[Any, ...])


class RowValue(NamedTuple):
    """Source of one value of a row."""

    sources: tuple[str, ...]
    """Paths below the arguments, as `page.url`; an argument itself is a path of one name."""
    convert: Callable[..., Any] | None = None
    """Function of the sources; None: the value of the only source."""
    part: int | None = None
    """Position of the value in what the function returns; None: all of it."""


def compile_row(row: type[Row], arguments: Sequence[str], values: Sequence[RowValue]) -> Callable[..., Row]:
    """Return the function that builds a row from its arguments; raises ValueError for an unknown one."""
    for path in (path for value in values for path in value.sources):
        names = path.split(".")
        if names[0] not in arguments or not all(map(str.isidentifier, names)):
            raise ValueError(f"{row.__name__}: {path!r} is not below {', '.join(arguments)}")
    source = _RowSource()
    listed = ", ".join(source.expression(value) for value in values)
    lines = (f"def build({', '.join(arguments)}):", *source.lines, f"    return _new(_row, ({listed},))")
    names_used: dict[str, Any] = {"_new": tuple.__new__, "_row": row, **source.functions}
    exec("\n".join(lines), names_used)  # noqa: S102  # the names are identifiers, as checked above
    build: Callable[..., Row] = names_used["build"]
    return build


@dataclass(slots=True)
class _RowSource:
    """Source lines of conversions; equal ones are made once."""

    lines: list[str] = field(default_factory=list)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _known: dict[Any, str] = field(default_factory=dict)

    def expression(self, value: RowValue) -> str:
        """Return the expression of a value, with the line of its conversion before it."""
        if value.convert is None:
            return value.sources[0]
        key: Final = (value.convert, value.sources)
        if key not in self._known:
            number = len(self._known)
            self._known[key] = f"_value_{number}"
            self.functions[f"_convert_{number}"] = value.convert
            self.lines.append(f"    _value_{number} = _convert_{number}({', '.join(value.sources)})")
        return self._known[key] if value.part is None else f"{self._known[key]}[{value.part}]"
