"""Worker heartbeats in Redis: status of each process, the set of those alive, and totals.

For people and dashboards; nothing is decided by it. A process without a heartbeat for two minutes counts as
gone. Times are by the writer's clock.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from .keys import FETCHER_STATS, FETCHER_WORKERS, WORKER_HEARTBEAT
from .redis import Redis

SERVICE: Final = "fetcher"
TOTAL_FIELDS: Final = ("pages_crawled", "pages_failed", "bytes_downloaded")


@dataclass(frozen=True, slots=True)
class WorkerHeartbeat:
    """Status that a worker reports."""

    worker_id: str
    last_heartbeat: float
    """Seconds since 1970."""
    status: str
    """working, idle, paused or stopping."""
    current_url: str = ""
    """URL that has been in flight for the longest time."""
    active_requests: int = 0
    started_at: float = 0.0
    why: str = ""
    """Reason of a pause."""


@dataclass(frozen=True, slots=True)
class WorkerTotals:
    """Totals of all workers."""

    pages_crawled: int = 0
    pages_failed: int = 0
    bytes_downloaded: int = 0


class RedisWorkerHeartbeats:
    """Writes heartbeats of workers; dashboards read them from Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def record(self, heartbeat: WorkerHeartbeat, done: WorkerTotals) -> None:
        """Store a heartbeat and add what was done since the last one. Raises Unavailable."""
        key, workers = WORKER_HEARTBEAT(heartbeat.worker_id), FETCHER_WORKERS(SERVICE)
        lifetime_seconds = WORKER_HEARTBEAT.lifetime_seconds
        command = self._redis.command
        await command("SET", key, json.dumps(asdict(heartbeat)), "EX", lifetime_seconds)
        await command("ZADD", workers, heartbeat.last_heartbeat, heartbeat.worker_id)
        await command("ZREMRANGEBYSCORE", workers, "-inf", heartbeat.last_heartbeat - lifetime_seconds)
        for name in TOTAL_FIELDS:
            if amount := getattr(done, name):
                await command("HINCRBY", FETCHER_STATS(SERVICE), name, amount)

    async def count(self, now: float) -> int:
        """Return how many workers are alive at a time, in seconds since 1970. Raises Unavailable."""
        oldest = now - WORKER_HEARTBEAT.lifetime_seconds
        return int(await self._redis.command("ZCOUNT", FETCHER_WORKERS(SERVICE), oldest, "+inf"))

    async def totals(self) -> WorkerTotals:
        """Return the totals of all workers since the store was empty. Raises Unavailable."""
        values = await self._redis.command("HMGET", FETCHER_STATS(SERVICE), *TOTAL_FIELDS)
        return WorkerTotals(*(int(value or 0) for value in values))

    async def remove(self, worker_id: str) -> None:
        """Remove a worker that has ended. Raises Unavailable."""
        await self._redis.command("DEL", WORKER_HEARTBEAT(worker_id))
        await self._redis.command("ZREM", FETCHER_WORKERS(SERVICE), worker_id)
