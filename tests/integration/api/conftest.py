"""A connection to the Valkey of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.storage.redis import Redis, RedisOptions, connect


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(redis_url))
    yield opened
    await opened.close()
