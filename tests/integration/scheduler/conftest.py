"""What these tests share: real servers with one job on them, and a made-up web around it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .scheduler_process import Place


@pytest.fixture
async def place(kafka_bootstrap: str, redis_url: str) -> AsyncIterator[Place]:
    place = Place(kafka_bootstrap, redis_url, seed=3)
    await place.begin()
    yield place
    await place.close()
