"""The frontier's working set, as far as people may reach into it."""

from __future__ import annotations

from strider.stores.frontier.redis_tending import RedisTending


class RedisLeaseRecovery:
    """Leases of all shards."""

    def __init__(self, tending: RedisTending, *, shards: int) -> None:
        self._tending = tending
        self._shards = shards

    async def recover(self, *, older_than_seconds: int) -> int:
        """End those that nobody has begun for so long, shard by shard: it may be said again."""
        milliseconds, recovered = older_than_seconds * 1000, 0
        for shard in range(self._shards):
            recovered += await self._tending.recover(shard, older_than_ms=milliseconds)
        return recovered
