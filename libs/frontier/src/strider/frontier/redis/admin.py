"""What a person does to shards in Redis: look how they stand, have one rebuilt, have stale leases ended.

Owns nothing and takes no part in fencing: the owner finds what was done here and does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from strider.frontier.constants import DEFAULT_DELAY_MS, VISITED_TTL_MS
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

from .function_library import frontier_function

READY: Final = "ready"
ABSENT: Final = "absent"
"""That is, nobody has taken it since Redis was empty."""

_QUEUED: Final = slice(16, 22)
_IN_PIPELINE: Final = slice(22, 28)
"""Where these stand among the figures of a header, as `frontier_part_shard` packs them."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """How a shard's header reads."""

    shard: int
    epoch: int
    state: str
    """ready, loading (a rebuild), dropping, void (a rebuild was asked for), absent."""
    share: float
    """How far the rebuild is, 0 to 1; 1 where there is none."""
    queued: int
    in_ring: int
    offset_ms: int
    """By how much the shard's time differs from the server's clock."""


class ShardAdmin:
    """Raises Unavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def state(self, shard: int) -> ShardState:
        """Say how a shard stands."""
        told = await self._redis.command(
            "HMGET", FRONTIER_HEADER(shard), "epoch", "state", "share", "figures", "offset"
        )
        epoch, state, share, figures, offset = told
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
        """Have a shard rebuilt; False where it is not ready anyway."""
        [done] = await self._run("void", shard)
        return bool(done)

    async def expire_leases(self, shard: int, *, older_than_ms: int) -> int:
        """End leases that nobody has started for so long; gives how many."""
        [ended] = await self._run("recover", shard, older_than_ms)
        return int(ended)

    async def _run(self, name: str, shard: int, *args: int) -> list[int]:
        told: list[int] = await self._redis.run(
            frontier_function(name),
            keys=[FRONTIER_HEADER(shard)],
            args=["", "", DEFAULT_DELAY_MS, VISITED_TTL_MS, *args],
        )
        return told


def _read_counter(packed: bytes | None, where: slice) -> int:
    return int.from_bytes((packed or b"")[where], signed=True)
