"""Every test of this folder that asks for a `frontier` runs in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.stores.keys import FRONTIER_HEADER
from strider.stores.redis import RedisOptions, connect

from .worlds import SHARD, FrontierWorld, MemoryWorld, RedisWorld


@pytest.fixture(params=["memory", "redis"])
async def frontier(request: pytest.FixtureRequest) -> AsyncIterator[FrontierWorld]:
    if request.param == "memory":
        yield MemoryWorld()
        return
    redis = connect(RedisOptions(request.getfixturevalue("redis_url")))
    for shard in (SHARD, SHARD + 1):  # a server of the environment is not emptied
        await redis.command("DEL", FRONTIER_HEADER(shard))
    yield RedisWorld(redis)
    await redis.close()
