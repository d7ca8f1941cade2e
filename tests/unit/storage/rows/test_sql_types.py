"""PostgreSQL types of columns."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from strider.storage.rows.columns import Column
from strider.storage.rows.sql_types import sql_definition, sql_type


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param(str, "text", id="text"),
        pytest.param(int, "bigint", id="integer"),
        pytest.param(float | None, "double precision", id="unknown-number"),
        pytest.param(Decimal | None, "numeric", id="price"),
        pytest.param(datetime, "timestamptz", id="time"),
    ],
)
def test_a_column_has_the_type_of_its_field(kind: Any, expected: str) -> None:
    assert sql_type(Column(name="x", type=kind)) == expected


def test_json_is_stored_as_such_whatever_its_text_is() -> None:
    assert sql_type(Column(name="x", type=str, json=list[str])) == "jsonb"


def test_a_type_without_a_column_is_named() -> None:
    with pytest.raises(ValueError, match=r"x: list\[str\] has no PostgreSQL type"):
        sql_type(Column(name="x", type=list[str]))


def test_a_column_that_may_be_empty_needs_no_default() -> None:
    assert sql_definition(Column(name="x", type=int | None)) == "bigint"
