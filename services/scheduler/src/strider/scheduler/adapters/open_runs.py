"""Runs with open entries in any shard, owned by this process or not, as Redis has them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from strider.frontier.redis.inspection import ShardInspector
from strider.storage.redis import Redis


class RedisOpenRuns:
    """Reads the runs of all shards."""

    def __init__(self, redis: Redis, *, shards: int) -> None:
        self._inspector = ShardInspector(redis)
        self._shards = shards

    async def read_open_runs(self) -> AbstractSet[str] | None:
        """Return the runs with open entries; None where a shard is not ready. Raises Unavailable."""
        snapshot = await self._inspector.runs(range(self._shards))
        if snapshot.unready_shards:
            return None
        return {run for run, counts in snapshot.runs.items() if counts.open}
