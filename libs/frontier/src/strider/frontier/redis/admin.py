"""Operator actions on shards: show their state, request a rebuild, expire idle leases.

Owns nothing and takes no part in fencing: the owner of a shard notices a change and does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from strider.frontier.constants import VISITED_TTL_MS
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

from .function_library import frontier_function

READY: Final = "ready"
ABSENT: Final = "absent"
"""No process has taken the shard over since Redis was empty."""

_QUEUED: Final = slice(16, 22)
_IN_PIPELINE: Final = slice(22, 28)
"""Bytes of these counters in a header's figures, as `frontier_part_shard` packs them."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """Content of a shard's header."""

    shard: int
    epoch: int
    state: str
    """ready, loading (a rebuild), dropping, void (a rebuild was requested), absent."""
    share: float
    """Progress of the rebuild, 0 to 1; 1 where there is none."""
    queued: int
    in_ring: int
    offset_ms: int
    """Difference between the shard's time and the server's clock."""


class ShardAdmin:
    """Operator access to shards. Raises Unavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def state(self, shard: int) -> ShardState:
        """Return the state of a shard."""
        reply = await self._redis.command(
            "HMGET", FRONTIER_HEADER(shard), "epoch", "state", "share", "figures", "offset"
        )
        epoch, state, share, figures, offset = reply
        word = state.decode() if state else ABSENT
        return ShardState(
            shard,
            int(epoch or 0),
            word,
            1.0 if word == READY else int(share or 0) / 1000,
            _read_counter(figures, _QUEUED),
            _read_counter(figures, _IN_PIPELINE),
            int(offset or 0),
        )

    async def invalidate(self, shard: int) -> bool:
        """Request a rebuild of a shard; False where it is not ready anyway."""
        [done] = await self._run("invalidate", shard)
        return bool(done)

    async def expire_leases(self, shard: int, *, older_than_ms: int) -> int:
        """Expire leases that were not started for so long; return how many."""
        [ended] = await self._run("expire_leases", shard, older_than_ms)
        return int(ended)

    async def _run(self, name: str, shard: int, *args: int) -> list[int]:
        reply: list[int] = await self._redis.run(
            frontier_function(name),
            keys=[FRONTIER_HEADER(shard)],
            args=["", "", "", VISITED_TTL_MS, *args],
        )
        return reply


def _read_counter(packed: bytes | None, where: slice) -> int:
    return int.from_bytes((packed or b"")[where], signed=True)
