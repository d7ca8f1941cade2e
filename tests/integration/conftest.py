"""A database with the tables, of this test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import pytest

from strider.localstack.servers.probes import run_sync
from strider.storage.migrations import upgrade
from strider.storage.postgres import Postgres, PostgresOptions
from strider.testing.stack import ServerStack, create_database, drop_database


@pytest.fixture(scope="session")
def migrated(stack: ServerStack) -> Iterator[str]:
    """Name a database with every table and no row: copying it is much cheaper than making them again."""
    dsn = create_database(stack.postgres.address)
    run_sync(upgrade(dsn))
    yield urlsplit(dsn).path[1:]
    drop_database(dsn)


@pytest.fixture
def database(stack: ServerStack, migrated: str) -> Iterator[str]:
    """Give the address of a database that has every table."""
    dsn = create_database(stack.postgres.address, template=migrated)
    yield dsn
    drop_database(dsn)


@pytest.fixture
async def postgres(database: str) -> AsyncIterator[Postgres]:
    opened = Postgres(PostgresOptions(database, max_connections=4))
    yield opened
    await opened.close()
