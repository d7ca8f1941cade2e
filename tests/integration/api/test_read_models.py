"""The read models on a real database."""

from __future__ import annotations

import pytest

from strider.api.adapters.read_models import PostgresReadModels
from strider.api.core import InvalidFilterError, SqlQuery
from strider.storage.postgres import Postgres


@pytest.mark.fault("S20", part="values that the database refuses")
@pytest.mark.parametrize(
    ("sql", "value"),
    [("select $1::text::integer", "x"), ("select $1::text::timestamptz", "9999999-01-01")],
    ids=["number", "time"],
)
async def test_a_value_that_the_database_refuses_is_the_clients_error(
    postgres: Postgres, sql: str, value: str
) -> None:
    """Whatever the checks before it leave: no error of the API, and no stack trace in its log."""
    with pytest.raises(InvalidFilterError, match="the database refuses a value: 22"):
        await PostgresReadModels(postgres).find(SqlQuery(sql, (value,)))
