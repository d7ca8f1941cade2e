"""How many pages a second one process fetches, as it is deployed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.testing.hostile import answer, running, says
from strider.testing.stack import Stack
from tests.faults.services import Service

from .serving import Fetchers, Ring

HOSTS = 50
PAGES = 1_500
LOCAL_A_SECOND = 50
PRODUCTION_A_SECOND = 400
"""Of a core: what a busy machine takes from it is no matter of the fetcher's."""


@pytest.fixture
def start(stack: Stack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    fetchers = Fetchers(tmp_path, kafka=stack.kafka.address, redis=redis_url)
    yield fetchers.start
    fetchers.close()


@pytest.mark.req("S3.2.7")
def test_a_process_fetches_more_than_a_site_will_bear(stack: Stack, start: Callable[..., Service]) -> None:
    """By the clock at least what a small installation is to do, by its CPU what a large one is."""

    async def act() -> None:
        mark = uuid.uuid4().hex[:6]
        ring, service = (
            Ring(kafka=stack.kafka.address, redis=stack.redis.address, max_in_flight=PAGES),
            start(FETCHER_CONCURRENCY="64"),
        )
        await service.until_ready()
        async with running({"/": says(answer(b"<p>" + b"words " * 1_300))}) as server:
            urls = [server.url(f"/?{n}", host=f"h{n % HOSTS}-{mark}.localhost") for n in range(PAGES)]
            wanted = await ring.lease(*urls)
            cpu, began = await service.metric("process_cpu_seconds_total"), time.monotonic()
            await ring.write(*wanted)

            async def is_done() -> bool:
                return await service.metric("crawler_fetches_total") >= PAGES

            await service.until(is_done, what="ends everything")
            seconds = time.monotonic() - began
            cpu = await service.metric("process_cpu_seconds_total") - cpu
            fetched = list((await ring.ends(wanted)).values()).count("fetched")
        await ring.close()

        assert fetched > 0.9 * PAGES, "on a busy machine some connect too late, and are tried again later"
        assert PAGES / seconds > LOCAL_A_SECOND
        assert PAGES / cpu > PRODUCTION_A_SECOND

    asyncio.run(act())
