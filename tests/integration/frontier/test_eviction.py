"""A server that throws away what it was given is no place for a frontier."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from strider.frontier.ports import ShardNotReady
from strider.messaging.errors import StartRefused, Unavailable
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.stack import start_valkey
from strider.testing.temp_dirs import temp_server_directory

from .shards import EPOCH, SHARD, accepted, opened

EVICTING = ["allkeys-lru", "allkeys-random", "volatile-ttl"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with temp_server_directory() as place:
        server = start_valkey(place / "redis")
        yield server.address
        server.close()


@pytest.fixture
async def redis(address: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(address))
    yield opened
    await opened.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await opened.close()


@pytest.mark.fault("F13", part="an evicting server")
@pytest.mark.parametrize("policy", EVICTING)
async def test_an_evicting_server_is_refused_at_the_start(redis: Redis, policy: str) -> None:
    """Also one that evicts only what expires: the seen-sets do."""
    await redis.command("CONFIG", "SET", "maxmemory-policy", policy)

    with pytest.raises(StartRefused, match=f"{policy}.*noeviction"):
        await redis.require_noeviction()


async def test_a_server_that_keeps_what_it_has_will_do(redis: Redis) -> None:
    await redis.require_noeviction()


async def test_a_server_that_begins_to_evict_is_waited_for(redis: Redis) -> None:
    """An operator changed it while the crawl runs: nothing is released until it is changed back."""
    frontier = await opened(redis)
    await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")

    with pytest.raises(Unavailable, match="allkeys-lru"):
        await frontier.stats(SHARD, EPOCH)
    with pytest.raises(Unavailable, match="allkeys-lru"):
        await frontier.take_over(SHARD, EPOCH + 1)
    await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")

    assert (await frontier.stats(SHARD, EPOCH)).queued == 0


async def test_a_server_that_has_evicted_is_rebuilt(redis: Redis) -> None:
    """It is unknown which keys are gone; the header alone may be there."""
    frontier = await opened(redis)
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    await redis.command("HSET", FRONTIER_HEADER(SHARD), "evicted", 7)

    with pytest.raises(ShardNotReady, match="evicted"):
        await frontier.stats(SHARD, EPOCH)

    assert not (await frontier.take_over(SHARD, EPOCH + 1)).is_ready
