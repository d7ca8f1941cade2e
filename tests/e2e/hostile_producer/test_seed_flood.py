"""Small valid seeds, by the hundred thousand, before an owner's seed, on a pipeline of their own.

They would be in the queues of the pipeline that the other attacks share for minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from tests.e2e.pipeline import SHARDS, running_ring
from tests.figures import record_figure
from tests.processes.waiting import until

from .attackers import PAGE, AttackerSite, attacker_sites, robots_allowing
from .conftest import SETTINGS
from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

FLOOD = 240_000
HOSTS = 1_000
TAKEN_AT_LEAST = 10_000
"""Raw seeds that are accepted in the end: twice as many as may wait for the scheduler."""
MAX_LATER_SECONDS = 10.0
"""Time by which a flood may delay an owner's seed; half a minute of seeds was before it."""
TAKEN = "strider_link_ingestion_links_total"
BATCHES = {"compression.type": "zstd", "linger.ms": 200, "batch.num.messages": 10_000}
BUFFER = {"queue.buffering.max.messages": FLOOD}


@pytest.fixture(scope="module")
def flooded_ring_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with running_ring(SETTINGS, counts_statements=False) as ring:
        yield Stage(ring, Path(tmp_path_factory.mktemp("flood")))


def send_flood(kafka: str) -> None:
    """Publish seeds of many hosts, none of which can be reached: a few bytes each, when compressed."""
    client = Producer({"bootstrap.servers": kafka, **BATCHES, **BUFFER})
    for number in range(FLOOD):
        host = number % HOSTS
        value = b'{"url":"http://127.8.%d.%d:9/%d"}' % (host // 250, host % 250 + 1, number)
        client.produce(SEEDS_SUBMITTED.name, value=value, partition=number % SHARDS)
    assert client.flush(120) == 0


async def seconds_until_requested(stage: Stage, site: AttackerSite) -> float:
    """Send an owner's seed of a site that no run crawls; return how long its request takes."""
    stage.send({"url": f"{site.origin}/page", "job_id": "own"}, is_owner=True)
    began = time.monotonic()
    await until(
        lambda: any(path == "/page" for path, _ in site.requests),
        what="the owner's seed is crawled",
        tell=stage.ring.tell,
        seconds=120,
    )
    return time.monotonic() - began


@pytest.mark.fault("A21")
async def test_a_flood_of_raw_seeds_delays_no_seed_of_an_owner(flooded_ring_stage: Stage) -> None:
    """Other runs keep their pages; their pace is a figure, since the flood takes processor time."""
    stage = flooded_ring_stage
    with attacker_sites(4, lambda path: robots_allowing(path) or PAGE) as sites:
        async with stage.unharmed_neighbours("A21 flood", paced=()):
            quiet = await seconds_until_requested(stage, sites[0])
            taken = await count_taken(stage)
            send_flood(stage.ring.servers.kafka.address)
            behind = [await seconds_until_requested(stage, site) for site in sites[1:]]
            unread = FLOOD + taken - await count_taken(stage)
            assert unread > FLOOD / 4, "the flood was over before the owner's seeds were crawled"
            assert max(behind) - quiet < MAX_LATER_SECONDS
            await until_taken(stage, taken + TAKEN_AT_LEAST)
    record_figure(
        f"A21 flood={FLOOD} raw-seeds-unread={unread:.0f} owner-seconds-without={quiet:.2f} "
        f"owner-seconds-behind={' '.join(f'{each:.2f}' for each in behind)}"
    )


async def count_taken(stage: Stage) -> float:
    """Return how many seeds link-ingestion has accepted."""
    return await stage.ring.services["link-ingestion"].metric(TAKEN, what="seed_taken")


async def until_taken(stage: Stage, seeds: float) -> None:
    """Wait until so many seeds are accepted: they wait for the scheduler, and are not stopped."""

    async def is_taken() -> bool:
        return await count_taken(stage) >= seeds

    await until(is_taken, what=f"{seeds:.0f} seeds are accepted", tell=stage.ring.tell, seconds=120)
