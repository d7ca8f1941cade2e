"""A shard's header names the Kafka cluster of its owner: readers of another cluster, and earlier versions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.frontier.redis.seen import RedisSeenLookup
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.messaging.errors import ShardFenced
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis, RedisOptions, connect

from .shards import EPOCH, SHARD, accepted, question


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(redis_url))
    await opened.command("DEL", FRONTIER_HEADER(SHARD))
    yield opened
    await opened.close()


@pytest.fixture
async def working_set(redis: Redis) -> RedisWorkingSet:
    working_set = RedisWorkingSet(redis, default_delay_ms=0)
    await working_set.take_over(SHARD, EPOCH, cluster="old")
    await working_set.begin_rebuild(SHARD, EPOCH)
    await working_set.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)
    await working_set.accept(SHARD, EPOCH, [accepted(1)])
    return working_set


class Cluster:
    """The identity of a cluster, and how often it was read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reads = 0

    async def read(self) -> str:
        self.reads += 1
        return self.name


@pytest.mark.parametrize(("cluster", "is_seen"), [("old", True), ("new", False)])
async def test_link_ingestion_of_a_new_cluster_does_not_see_the_old_ones_urls(
    working_set: RedisWorkingSet, redis: Redis, cluster: str, is_seen: bool
) -> None:
    """Until the shard is taken over it would drop links that the new cluster has never had."""
    own = Cluster(cluster)
    lookup = RedisSeenLookup(redis, read_cluster=own.read)

    for _ in range(3):
        known = await lookup.find_seen({(SHARD, "news"): [accepted(1).fingerprint]})
        assert known == {(SHARD, "news"): [is_seen]}

    assert own.reads == 1
    assert (await working_set.stats(SHARD, EPOCH)).queued == 1


async def test_a_header_of_a_version_without_clusters_is_kept(
    working_set: RedisWorkingSet, redis: Redis
) -> None:
    """An upgrade costs no rebuild; within the same cluster the epochs still count."""
    await redis.command("HDEL", FRONTIER_HEADER(SHARD), "cluster")
    newer = RedisWorkingSet(redis, default_delay_ms=0)

    with pytest.raises(ShardFenced):
        await newer.take_over(SHARD, EPOCH - 1, cluster="old")
    taken = await newer.take_over(SHARD, EPOCH + 1, cluster="old")

    assert taken.is_ready
    assert taken.other_cluster == ""
    assert await redis.command("HGET", FRONTIER_HEADER(SHARD), "cluster") == b"old"
    [known] = await newer.lookup(SHARD, EPOCH + 1, [question(accepted(1))])
    assert known.entry is not None
    with pytest.raises(ShardFenced):
        await working_set.stats(SHARD, EPOCH)


async def test_a_takeover_from_another_cluster_names_it(working_set: RedisWorkingSet, redis: Redis) -> None:
    """For the log: if it is seen more than once, two clusters share one Redis."""
    del working_set
    taken = await RedisWorkingSet(redis).take_over(SHARD, 0, cluster="new")

    assert taken.other_cluster == "old"
