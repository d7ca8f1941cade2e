"""Heartbeats on a real store."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from strider.fetcher.adapters.state.heartbeat import FetcherHeartbeat
from strider.fetcher.adapters.state.metrics import FetchMetrics
from strider.messaging.inprocess.virtual_clock import SIMULATION_START
from strider.runtime.observability.metrics import Metrics
from strider.storage.keys import FETCHER_STATS, FETCHER_WORKERS, WORKER_HEARTBEAT
from strider.storage.redis import Redis, RedisOptions, connect
from strider.storage.worker_heartbeats import SERVICE, RedisWorkerHeartbeats, WorkerHeartbeat, WorkerTotals
from tests.unit.fetcher.adapters.state.test_metrics import _ended
from tests.unit.fetcher.builders import ManualClock, a_request, a_response


async def _alive(redis: Redis) -> dict[str, WorkerHeartbeat]:
    """Workers with a heartbeat, as a dashboard reads them."""
    names = [name.decode() for name in await redis.command("ZRANGE", FETCHER_WORKERS(SERVICE), 0, -1)]
    stored = [(name, await redis.command("GET", WORKER_HEARTBEAT(name))) for name in names]
    return {name: WorkerHeartbeat(**json.loads(text)) for name, text in stored if text}


@pytest.mark.req("S3.14.8", "S3.14.9", "S3.19.26", "S3.19.27")
async def test_a_worker_is_visible_while_it_runs_and_its_counts_stay(redis_url: str) -> None:
    """A dashboard shows which worker does what; no heartbeat for two minutes is an alarm."""
    redis, clock = connect(RedisOptions(redis_url)), ManualClock()
    workers, pauses = RedisWorkerHeartbeats(redis), list[str]()
    heartbeats = []
    for name in ("one", "two"):
        metrics = FetchMetrics(Metrics(()), clock=clock)
        _ended(metrics, "done", a_response(b"<p>"))
        metrics.request_started(a_request(f"https://site.test/{name}", lease_id=name))
        heartbeats.append(
            FetcherHeartbeat(workers, metrics, worker_id=name, clock=clock, pause_reasons=lambda: pauses)
        )
        await heartbeats[-1].publish()
    await redis.command("ZADD", FETCHER_WORKERS(SERVICE), 1, "dead")
    lifetime = await redis.command("TTL", WORKER_HEARTBEAT("one"))
    pauses.append("redis: no answer")
    await heartbeats[0].publish()

    now = SIMULATION_START.timestamp()
    beat = WorkerHeartbeat("one", now, "paused", "https://site.test/one", 1, now, "redis: no answer")
    alive = await _alive(redis)
    assert alive["one"] == beat
    assert {name: each.status for name, each in alive.items()} == {"one": "paused", "two": "working"}
    assert 110 < lifetime <= 120
    assert await redis.command("HGETALL", FETCHER_STATS(SERVICE)) == {
        b"pages_crawled": b"2",
        b"bytes_downloaded": b"6",
    }
    assert await redis.command("ZCARD", FETCHER_WORKERS(SERVICE)) == 2
    assert [await workers.count(now + seconds) for seconds in (0, 119, 121)] == [2, 2, 0]

    await heartbeats[0].close()
    assert list(await _alive(redis)) == ["two"]
    await redis.close()


class TimedHeartbeats(RedisWorkerHeartbeats):
    """Heartbeats on a real store, with the moments at which they were written."""

    def __init__(self, redis: Redis, clock: ManualClock) -> None:
        super().__init__(redis)
        self.clock = clock
        self.moments: list[float] = []

    async def record(self, heartbeat: WorkerHeartbeat, done: WorkerTotals) -> None:
        await super().record(heartbeat, done)
        self.moments.append(self.clock.monotonic())


@pytest.mark.req("S3.19.26")
async def test_a_heartbeat_is_published_every_30_seconds(redis_url: str) -> None:
    redis, clock = connect(RedisOptions(redis_url)), ManualClock()
    workers, metrics = TimedHeartbeats(redis, clock), FetchMetrics(Metrics(()), clock=clock)
    heartbeat = FetcherHeartbeat(
        workers, metrics, worker_id="periodic", clock=clock, pause_reasons=lambda: ()
    )
    publishing = asyncio.create_task(heartbeat.run())
    async with asyncio.timeout(30):
        while len(workers.moments) < 4:
            await asyncio.sleep(0)
    publishing.cancel()

    assert [after - before for before, after in pairwise(workers.moments)] == [30.0] * 3
    assert "periodic" in await _alive(redis)
    await workers.remove("periodic")
    await redis.close()
