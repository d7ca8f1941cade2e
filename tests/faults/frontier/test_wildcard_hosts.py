"""A domain with wildcard names: what it leaves on `hosts`, and what the next takeover costs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from strider.contracts.generated.topics import FRONTIER, HOSTS, LINKS_DISCOVERED, SCHEMAS
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.scheduler.options import SchedulerOptions
from strider.testing.stack import start_kafka, temp_server_directory
from tests.figures import record_figure

from .takeover_process import SHARD

MAX_PEAK_MIB: Final = 200
"""Beyond the idle process: robots.txt files and host groups of one shard, and what Kafka has sent ahead."""
MAX_BYTES_PER_HOST: Final = 4 * 1024
"""On average: one host in fifty has a robots.txt of 500 KB, of which 16 KiB are kept."""
PROGRAM: Final = "tests.faults.frontier.takeover_process"


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            topics = [HOSTS, FRONTIER, LINKS_DISCOVERED, SCHEMAS]
            asyncio.run(apply_topics(KafkaConnection((running.address,)), topics, shards=12))
            yield running.address
        finally:
            running.close()


async def run(*words: str) -> str:
    """Run the other process to its end, and return what it has printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", PROGRAM, *words, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()


async def bytes_of_hosts(bootstrap: str) -> int:
    """Return the bytes of all records of the shard."""
    sizes: list[int] = []
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    try:
        await CompactedTableReader(bus, clock=SystemClock()).read(
            [TopicPartition(HOSTS.name, SHARD)], lambda _, value: sizes.append(len(value or b""))
        )
    finally:
        await bus.close()
    return sum(sizes)


@pytest.mark.fault("A6", part="what a takeover reads and keeps")
@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(3_000, id="short", marks=pytest.mark.timeout(300)),
        pytest.param(300_000, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
async def test_a_takeover_after_wildcard_hosts_keeps_its_memory_bounded(bootstrap: str, hosts: int) -> None:
    """Every host has a crawl delay of its own: none of the groups is as a new one would be."""
    await run("fill", bootstrap, str(hosts))
    size = await bytes_of_hosts(bootstrap)

    taken = json.loads(await run("take", bootstrap, "0"))

    record_figure(
        f"takeover of wildcard hosts={hosts}: hosts-MB={size / 1e6:.1f} seconds={taken['seconds']} "
        f"peak-MiB={taken['peak_mib']} groups={taken['groups']}"
    )
    assert taken["groups"] == min(hosts, SchedulerOptions(shards=1).max_cached_groups)
    assert taken["peak_mib"] <= MAX_PEAK_MIB
    assert size <= hosts * MAX_BYTES_PER_HOST
