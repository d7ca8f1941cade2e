"""A flood of raw seeds at a real process: it waits for the scheduler, and an owner's seed does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from strider.contracts.generated.topics import LINKS_DISCOVERED, SEEDS_OWNED, SEEDS_SUBMITTED
from strider.link_ingestion.adapters import SCHEDULER_GROUP
from strider.testing.owner import owner_headers
from tests.figures import record_figure

from .service import SHARDS, Reader, Service, wait_for

FLOOD = 12_000
HOSTS = 40
LIMIT = 1_000
BUFFERED = 1_500
"""What the loop has read when its gate is closed: its buffer, and the rest of a batch."""
OWNED = "https://owner.test/behind"


@pytest.fixture
def limited(bootstrap: str, redis_url: str, tmp_path: Path) -> Iterator[Service]:
    running = Service(
        bootstrap, redis_url, tmp_path / "limited.log", LINK_INGESTION_RAW_SEEDS_WAITING=str(LIMIT)
    )
    try:
        yield running
    finally:
        running.close()


def send_flood(bootstrap: str) -> None:
    """Publish small seeds in compressed batches, in the order of their numbers for each partition."""
    client = Producer({"bootstrap.servers": bootstrap, "compression.type": "gzip", "linger.ms": 200})
    for number in range(FLOOD):
        value = b'{"url":"https://flood%d.test/%d"}' % (number % HOSTS, number)
        client.produce(SEEDS_SUBMITTED.name, value, partition=number % SHARDS)
    assert client.flush(60) == 0


def send_owned(bootstrap: str) -> None:
    client = Producer({"bootstrap.servers": bootstrap})
    value = json.dumps({"url": OWNED, "job_id": "own"}).encode()
    client.produce(SEEDS_OWNED.name, value, headers=owner_headers(value))
    assert client.flush(30) == 0


def commit_all_links(admin: AdminClient) -> None:
    """Commit what is on the topic of links, as a scheduler that has read it does."""
    places = [TopicPartition(LINKS_DISCOVERED.name, number) for number in range(SHARDS)]
    ends = admin.list_offsets({place: OffsetSpec.latest() for place in places})
    offsets = [
        TopicPartition(place.topic, place.partition, end.result().offset) for place, end in ends.items()
    ]
    request = [ConsumerGroupTopicPartitions(SCHEDULER_GROUP, offsets)]
    admin.alter_consumer_group_offsets(request)[SCHEDULER_GROUP].result()


def raw_numbers(links: Reader) -> list[list[int]]:
    """Return the numbers of raw seeds as they were published, a list for each shard."""
    found: list[list[int]] = [[] for _ in range(SHARDS)]
    for shard, event in links.events():
        found[shard] += [int(url.rpartition("/")[2]) for url in event.urls if url != OWNED]
    return found


@pytest.mark.fault("A21", part="raw seeds wait for the scheduler, and owners' do not; kill -9 meanwhile")
def test_a_flood_waits_for_the_scheduler_and_no_seed_is_lost_or_reordered(
    bootstrap: str, limited: Service
) -> None:
    send_flood(bootstrap)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    with closing(Reader(bootstrap, LINKS_DISCOVERED)) as links:
        limited.start()
        wait_for(lambda: sum(map(len, raw_numbers(links))) >= LIMIT)
        send_owned(bootstrap)
        wait_for(lambda: any(OWNED in event.urls for _, event in links.events()))
        held = sum(map(len, raw_numbers(links)))
        limited.kill()
        limited.start()

        def is_everything_published() -> bool:
            commit_all_links(admin)
            return len({number for each in raw_numbers(links) for number in each}) == FLOOD

        wait_for(is_everything_published)
        published = raw_numbers(links)
    record_figure(f"A21 flood={FLOOD} limit={LIMIT} published-before-the-scheduler-reads={held}")

    assert held <= LIMIT + BUFFERED
    for each in published:
        first = list(dict.fromkeys(each))
        for partition in range(SHARDS):
            of_one = [number for number in first if number % SHARDS == partition]
            assert of_one == sorted(of_one)
    assert limited.stop() == 0
