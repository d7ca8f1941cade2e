"""Columns of rows, and what is derived from them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import pytest

from strider.contracts.generated.events import PageParsed, Verdict
from strider.storage.rows.columns import (
    ApiView,
    Column,
    columns_of,
    columns_shown,
    row_builder,
    source_fields,
)
from strider.storage.rows.pages import PAGE_COLUMNS, PageRow
from strider.storage.rows.values import to_json


class SmallRow(NamedTuple):
    url: str
    size: Annotated[int, Column("page.body_bytes", api=ApiView.LIST)]
    text: Annotated[str, Column("chosen", api=ApiView.DETAIL)]
    names: Annotated[str, Column((), to_json, ApiView.LIST, json=list[str])]


class WrongRow(NamedTuple):
    names: Annotated[str, Column((), to_json, crawl="basic")]


def test_a_column_is_read_from_the_field_of_its_name_or_from_its_source() -> None:
    found = {column.name: (column.type, column.sources) for column in columns_of(SmallRow)}

    assert found == {
        "url": (str, ("page.url",)),
        "size": (int, ("page.body_bytes",)),
        "text": (str, ("chosen",)),
        "names": (str, ("page.names",)),
    }
    assert source_fields(columns_of(SmallRow), "page") == ("url", "body_bytes", "names")


def test_a_detail_shows_the_columns_of_lists_and_then_its_own() -> None:
    columns = columns_of(SmallRow)

    assert [each.name for each in columns_shown(columns, ApiView.LIST)] == ["size", "names"]
    assert [each.name for each in columns_shown(columns, ApiView.DETAIL)] == ["size", "names", "text"]


def test_a_row_is_built_from_events_and_values() -> None:
    build = row_builder(SmallRow, "page", "chosen")
    page = SimpleNamespace(url="u", body_bytes=3, names=("a", "ü"))

    assert build(page, "words") == SmallRow("u", 3, "words", '["a", "ü"]')


def test_a_row_whose_event_is_not_given_is_refused() -> None:
    """At import, and not with the first page."""
    with pytest.raises(ValueError, match="'chosen' is not below page"):
        row_builder(SmallRow, "page")


def test_lines_of_a_crawl_have_plain_fields_only() -> None:
    with pytest.raises(ValueError, match="names: `crawl` is only for columns"):
        columns_of(WrongRow)


def _fields_of(event: Any) -> set[str]:
    return set(event.__dataclass_fields__)


def test_every_column_of_a_page_has_a_source() -> None:
    """A misspelt field would fail with the first page that is stored."""
    assert set(source_fields(PAGE_COLUMNS, "page")) <= _fields_of(PageParsed)
    assert set(source_fields(PAGE_COLUMNS, "verdict")) <= _fields_of(Verdict)
    assert [column.name for column in PAGE_COLUMNS] == list(PageRow._fields)
