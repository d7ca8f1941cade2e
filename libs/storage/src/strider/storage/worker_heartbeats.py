"""Who works, as Redis shows it: a heartbeat for each process, the set of those alive, and their counts.

For people and dashboards; nothing is decided by it. A process that is not heard of for two minutes is
gone. Times are of whoever wrote them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from .keys import FETCHER_STATS, FETCHER_WORKERS, WORKER_HEARTBEAT
from .redis import Redis

SERVICE: Final = "fetcher"
TOTAL_FIELDS: Final = ("pages_crawled", "pages_failed", "bytes_downloaded")


@dataclass(frozen=True, slots=True)
class WorkerHeartbeat:
    """What a worker says of itself."""

    worker_id: str
    last_heartbeat: float
    """Seconds since 1970."""
    status: str
    """working, idle, paused or stopping."""
    current_url: str = ""
    """The URL that it has had in hand for the longest time."""
    active_requests: int = 0
    started_at: float = 0.0
    why: str = ""
    """What a paused worker waits for."""


@dataclass(frozen=True, slots=True)
class WorkerTotals:
    """What workers did."""

    pages_crawled: int = 0
    pages_failed: int = 0
    bytes_downloaded: int = 0


class RedisWorkerHeartbeats:
    """Heartbeats of workers, written and read."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def record(self, heartbeat: WorkerHeartbeat, done: WorkerTotals) -> None:
        """Say that a worker is alive, and what it did since it said so last. Raises Unavailable."""
        key, workers = WORKER_HEARTBEAT(heartbeat.worker_id), FETCHER_WORKERS(SERVICE)
        lifetime_seconds = WORKER_HEARTBEAT.lifetime_seconds
        command = self._redis.command
        await command("SET", key, json.dumps(asdict(heartbeat)), "EX", lifetime_seconds)
        await command("ZADD", workers, heartbeat.last_heartbeat, heartbeat.worker_id)
        await command("ZREMRANGEBYSCORE", workers, "-inf", heartbeat.last_heartbeat - lifetime_seconds)
        for name in TOTAL_FIELDS:
            if amount := getattr(done, name):
                await command("HINCRBY", FETCHER_STATS(SERVICE), name, amount)

    async def remove(self, worker_id: str) -> None:
        """Say that a worker has ended. Raises Unavailable."""
        await self._redis.command("DEL", WORKER_HEARTBEAT(worker_id))
        await self._redis.command("ZREM", FETCHER_WORKERS(SERVICE), worker_id)

    async def list_alive(self) -> list[WorkerHeartbeat]:
        """List the workers that were heard of within two minutes, the one heard of last first."""
        ids: list[Any] = await self._redis.command("ZREVRANGE", FETCHER_WORKERS(SERVICE), 0, -1)
        told = [await self._redis.command("GET", WORKER_HEARTBEAT(_text(worker_id))) for worker_id in ids]
        return [WorkerHeartbeat(**json.loads(each)) for each in told if each]

    async def totals(self) -> WorkerTotals:
        """Say what all workers did."""
        told = await self._redis.command("HMGET", FETCHER_STATS(SERVICE), *TOTAL_FIELDS)
        return WorkerTotals(*(int(each or 0) for each in told))


def _text(word: bytes | str) -> str:
    return word.decode() if isinstance(word, bytes) else word
