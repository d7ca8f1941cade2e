"""A database with the tables, of this test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.stores.migrations import upgrade
from strider.stores.postgres import Postgres, PostgresOptions


@pytest.fixture
async def database(postgres_dsn: str) -> str:
    """Give the address of a database that has every table."""
    await upgrade(postgres_dsn)
    return postgres_dsn


@pytest.fixture
async def postgres(database: str) -> AsyncIterator[Postgres]:
    opened = Postgres(PostgresOptions(database, max_connections=4))
    yield opened
    await opened.close()
