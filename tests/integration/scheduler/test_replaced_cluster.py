"""A new Kafka cluster beside an old Redis, and the reverse: both come up by themselves.

Epochs are made of producer ids, which a new cluster counts from 0.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.frontier.redis.admin import ShardAdmin
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.scheduler import log_events
from strider.storage.keys import FRONTIER_HEADER
from strider.testing.stack import start_kafka
from strider.testing.temp_dirs import temp_server_directory

from .redis_monitor import monitored
from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess

USED_PRODUCER_IDS = 2 * SHARDS
"""Producer ids given out by the old cluster before its shards get theirs."""


@pytest.fixture(scope="module")
def new_cluster() -> Iterator[str]:
    with temp_server_directory() as directory:
        kafka = start_kafka(directory / "kafka")
        try:
            yield kafka.address
        finally:
            kafka.close()


@pytest.fixture
async def old_cluster(kafka_bootstrap: str) -> AsyncIterator[str]:
    bus = KafkaBus(KafkaConnection(bootstrap_servers=(kafka_bootstrap,)))
    async with AsyncExitStack() as closing:
        closing.push_async_callback(bus.close)
        for _ in range(USED_PRODUCER_IDS):
            await (await bus.producer()).close()
        yield kafka_bootstrap


@pytest.mark.fault("B2")
async def test_a_new_kafka_beside_an_old_redis_and_the_reverse(
    old_cluster: str, new_cluster: str, redis_url: str, tmp_path: Path
) -> None:
    """Each crawl ends: the working set that the other cluster's scheduler left is rebuilt from its log."""
    epochs = []
    for number, cluster in enumerate([old_cluster, new_cluster, old_cluster]):
        place = CrawlOnServers(cluster, redis_url, seed=3)
        await place.begin()
        scheduler = SchedulerProcess(cluster, redis_url, tmp_path / f"{number}.log")
        try:
            entries = await place.until_closed()
            epochs.append([(await ShardAdmin(place.redis).state(shard)).epoch for shard in range(SHARDS)])
            assert scheduler.end(signal.SIGTERM) == 0
        finally:
            scheduler.close()
            await place.close()

        assert entries
        assert len(scheduler.log_lines(log_events.SHARD_REBUILT.text)) == SHARDS
        assert len(scheduler.log_lines(log_events.SHARD_OF_ANOTHER_CLUSTER.text)) == (SHARDS if number else 0)

    before, new, again = epochs
    assert all(one > two for one, two in zip(before, new, strict=True)), "the epochs have to go back"
    assert all(one < two for one, two in zip(before, again, strict=True))


async def test_a_scheduler_of_the_old_cluster_ends_and_writes_nothing(
    old_cluster: str, new_cluster: str, redis_url: str, tmp_path: Path
) -> None:
    """Frozen while the cluster was replaced, it is fenced afterwards, although its epochs are higher."""
    first = CrawlOnServers(old_cluster, redis_url, seed=3)
    await first.begin()
    # Long, because a member that was removed and joins again takes shards over as any owner does.
    session = {"KAFKA_SESSION_TIMEOUT": "200s", "KAFKA_MAX_POLL_INTERVAL": "200s"}
    zombie = SchedulerProcess(old_cluster, redis_url, tmp_path / "zombie.log", **session)
    await first.until_closed()
    zombie.signal(signal.SIGSTOP)
    place = CrawlOnServers(new_cluster, redis_url, seed=4)
    await place.begin()
    scheduler = SchedulerProcess(new_cluster, redis_url, tmp_path / "new.log")
    try:
        await place.until_closed()
        headers = await owners(place)
        old = await first.bus.cluster_identity(LINKS_DISCOVERED.name)
        async with monitored(redis_url) as account:
            zombie.signal(signal.SIGCONT)

            async def has_tried() -> bool:
                return len({call.shard for call in account.calls if call.cluster == old}) == SHARDS

            await place.until(has_tried)
        calls = [call for call in account.calls if call.cluster == old]
        writes = sum(len(call.writes) for call in calls)
        print(f"\nZOMBIE of the old cluster: calls={len(calls)} redis-writes={writes}")  # noqa: T201  # the figure

        assert writes == 0
        assert await owners(place) == headers
        assert any(call.writes for call in account.calls), "what functions do was not read"
    finally:
        zombie.close()
        scheduler.close()
        await place.close()
        await first.close()


async def owners(place: CrawlOnServers) -> list[tuple[bytes, ...]]:
    fields = ("epoch", "cluster", "state")
    command = place.redis.command
    return [tuple(await command("HMGET", FRONTIER_HEADER(shard), *fields)) for shard in range(SHARDS)]
