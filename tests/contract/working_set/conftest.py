"""Every test of this folder that asks for a `frontier` runs in memory and on a real server.

The long form runs them on a cluster as well: what a script touches must lie in the slot of its shard.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio.cluster import RedisCluster

from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.temp_dirs import temp_server_directory
from tests.contract.working_set.implementations.frontiers import (
    SHARD,
    ClusterWorld,
    FrontierWorld,
    MemoryWorld,
    RedisWorld,
)
from tests.contract.working_set.implementations.valkey_cluster import valkey_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[tuple[str, int]]:
    with temp_server_directory() as place, valkey_cluster(place) as address:
        yield address


@pytest.fixture(params=["memory", "redis", pytest.param("cluster", marks=pytest.mark.slow)])
async def frontier(request: pytest.FixtureRequest) -> AsyncIterator[FrontierWorld]:
    if request.param == "memory":
        yield MemoryWorld()
        return
    world: RedisWorld
    if request.param == "cluster":
        host, port = request.getfixturevalue("cluster")
        client = RedisCluster(host=host, port=port)
        world = ClusterWorld(Redis(client), client)  # type: ignore[arg-type]  # it is asked the same way
        await world.lose()
    else:
        redis = connect(RedisOptions(request.getfixturevalue("redis_url")))
        for shard in (SHARD, SHARD + 1):  # a server of the environment is not emptied
            await redis.command("DEL", FRONTIER_HEADER(shard))
        world = RedisWorld(redis)
    yield world
    await world.shut()
