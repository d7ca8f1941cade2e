"""Stores of this test's own, on the session's servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import Redis, RedisOptions, connect


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(redis_url))
    yield opened
    await opened.close()


@pytest.fixture
async def postgres(postgres_dsn: str) -> AsyncIterator[Postgres]:
    opened = Postgres(PostgresOptions(postgres_dsn, max_connections=4))
    yield opened
    await opened.close()
