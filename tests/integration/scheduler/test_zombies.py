"""A scheduler that was frozen past its session wakes up among its successors' shards."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from strider.stores.frontier.redis_tending import RedisTending

from .living import SHARDS, Place, Process
from .test_process import check, until_asked


@pytest.fixture
async def place(kafka_bootstrap: str, redis_url: str) -> AsyncIterator[Place]:
    place = Place(kafka_bootstrap, redis_url, seed=3)
    await place.begin()
    yield place
    await place.close()


FROZEN_SECONDS = 12.0
"""Twice the session; longer than a request with its margin, so that what was under way runs out meanwhile."""


async def epochs(place: Place) -> list[int]:
    tending = RedisTending(place.redis)
    return [(await tending.state(number)).epoch for number in range(SHARDS)]


async def test_a_zombie_writes_nothing(place: Place, tmp_path: Path) -> None:
    """Frozen with all it had in hand, replaced, woken: nothing is asked twice, no host in haste."""
    zombie = Process(place.bootstrap, place.redis_url, tmp_path / "zombie.log")
    heir = None
    try:
        await until_asked(place, 20)
        zombie.signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        before = await epochs(place)
        heir = Process(place.bootstrap, place.redis_url, tmp_path / "heir.log")

        async def is_replaced() -> bool:
            now = await epochs(place)
            is_late = time.monotonic() - frozen_at > FROZEN_SECONDS
            return is_late and all(mine > theirs for mine, theirs in zip(now, before, strict=True))

        await place.until(is_replaced)
        after = await epochs(place)
        zombie.signal(signal.SIGCONT)

        await place.until_closed()
        check(place)
        now = await epochs(place)
        assert all(late >= early for late, early in zip(now, after, strict=True))
        assert heir.said("Shard Taken")
    finally:
        zombie.close()
        if heir is not None:
            heir.close()
