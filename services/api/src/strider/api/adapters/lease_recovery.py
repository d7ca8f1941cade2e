"""Recovery of unstarted leases in the frontier's working set."""

from __future__ import annotations

from strider.frontier.redis.admin import ShardAdmin


class RedisLeaseRecovery:
    """Leases of all shards."""

    def __init__(self, tending: ShardAdmin, *, shards: int) -> None:
        self._tending = tending
        self._shards = shards

    async def recover(self, *, older_than_seconds: int) -> int:
        """End leases that no fetcher has started for so long, shard by shard; it may be repeated."""
        milliseconds, recovered = older_than_seconds * 1000, 0
        for shard in range(self._shards):
            recovered += await self._tending.expire_leases(shard, older_than_ms=milliseconds)
        return recovered
