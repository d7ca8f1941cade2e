"""Cells of CSV files that a spreadsheet would take for formulas: marked, and restored.

A page's title may be `=HYPERLINK(...)`, which a spreadsheet computes when the file is opened. As OWASP
recommends, a text that begins like a formula is preceded by an apostrophe, which spreadsheets do not show.
Numbers are no formulas. A text that begins with apostrophes and then like a formula gets one more, so that
reading restores every text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Apostrophes, then what begins a formula; the last four are the full-width forms of the first four."""
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


def guard_cell(value: object) -> object:
    """Return the value of a cell, a text that begins like a formula with an apostrophe before it."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def restore_cell(text: str) -> str:
    """Return the text of a cell as it was before `guard_cell`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def read_rows(lines: Iterable[str]) -> Iterator[dict[str, object]]:
    """Read rows with their restored texts, by column."""
    for row in csv.DictReader(lines):
        yield {
            restore_cell(name) if isinstance(name, str) else name: restore_cell(value)
            if isinstance(value, str)
            else value
            for name, value in row.items()
        }
