"""Record batches of 256 MiB in 8 KB, on every topic of the pipeline: each service stays below its limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from strider.contracts.generated.topics import (
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    LINKS_DISCOVERED,
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_SUBMITTED,
)
from strider.runtime.observability import log_events
from strider.runtime.settings.base import RunSettings
from strider.testing.site import SiteShape, serve_site
from tests.figures import record_figure
from tests.integration.messaging.batch_bombs import bomb, send_batch
from tests.processes.services import Service, peak_mib
from tests.processes.waiting import until

from .pipeline import SERVICES, Ring

JOB = "bombs"
BOMB_MIB = 256
TOPICS = (
    *(SEEDS_SUBMITTED, LINKS_DISCOVERED, FETCH_REQUESTS, FETCHES_COMPLETED),
    *(PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED, PAGES_SETTLED),
)
READERS = tuple(name for name in SERVICES if name != "api")
LIMIT_MIB = RunSettings().memory_limit_mb

pytestmark = pytest.mark.timeout(400)


async def _write_bombs(ring: Ring) -> None:
    records = await asyncio.to_thread(bomb, "zstd", BOMB_MIB)
    client: Any = AIOKafkaProducer(bootstrap_servers=ring.servers.kafka.address, enable_idempotence=False)
    await client.start()
    try:
        for topic in TOPICS:
            await send_batch(client, topic.name, "zstd", records)
    finally:
        await client.stop()


def _skipped(service: Service) -> int:
    return len(service.events(log_events.RECORD_BATCH_SKIPPED.text))


@pytest.mark.fault("A2")
async def test_batch_bombs_on_every_topic_keep_every_service_below_its_limit(
    ring: Ring, tmp_path: Path
) -> None:
    """The peak of a service that skips a batch, by the system's own figure; and its work continues."""
    before = {name: peak_mib(ring.services[name]) for name in READERS}
    await _write_bombs(ring)
    await until(
        lambda: all(_skipped(ring.services[name]) for name in READERS),
        what="every service has skipped a batch",
        tell=lambda: str({name: _skipped(ring.services[name]) for name in READERS}),
    )
    with serve_site(141, SiteShape(hosts=2, pages_per_host=3), log=tmp_path / "access.log", name=JOB) as site:
        ring.sow(site, job_id=JOB)
        await ring.until_told(site, JOB, seconds=120)
        pages = await ring.pages(JOB)
    peaks = {name: peak_mib(ring.services[name]) for name in READERS}
    record_figure(
        f"peak MiB of {LIMIT_MIB}: " + " ".join(f"{name}={before[name]}..{peaks[name]}" for name in READERS)
    )

    assert Counter(row["url"] for row in pages) == Counter(site.plan.pages)
    assert LIMIT_MIB > 0, "there is a limit unless an operator has removed it"
    assert max(peaks.values()) < LIMIT_MIB
    assert max(peaks[name] - before[name] for name in READERS) < BOMB_MIB / 2
