"""Fixtures: real servers with one job on them, and a simulated web."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .scheduler_process import CrawlOnServers


@pytest.fixture
async def place(kafka_bootstrap: str, redis_url: str) -> AsyncIterator[CrawlOnServers]:
    place = CrawlOnServers(kafka_bootstrap, redis_url, seed=3)
    await place.begin()
    yield place
    await place.close()
