"""The fetcher's start marks in Redis: one call for each shard, all of them in one write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from strider.frontier.constants import DEFAULT_DELAY_MS, MARK_MARGIN_MS, VISITED_TTL_MS
from strider.frontier.models import StartMark, StartResult
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis, ScriptCall

from .call_encoding import encode_lease_id
from .function_library import frontier_function


class RedisLeaseMarks:
    """Marks leases as started. Raises Unavailable."""

    def __init__(
        self,
        redis: Redis,
        *,
        mark_margin_ms: int = MARK_MARGIN_MS,
        default_delay_ms: int = DEFAULT_DELAY_MS,
    ) -> None:
        self._redis = redis
        self._margin_ms = mark_margin_ms
        self._default_delay_ms = default_delay_ms

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark (shard, lease id) pairs; return which requests may start."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        for place, (shard, _) in enumerate(leases):
            places[shard].append(place)
        calls = [
            self._call(shard, [leases[place][1] for place in at], nonce=nonce, deadline_ms=deadline_ms)
            for shard, at in places.items()
        ]
        answers = await self._redis.run_all(frontier_function("mark_started"), calls)
        marks = {
            place: mark
            for at, answer in zip(places.values(), answers, strict=True)
            for place, mark in zip(at, _marks(answer), strict=True)
        }
        return [marks[place] for place in range(len(leases))]

    def _call(self, shard: int, names: Sequence[str], *, nonce: str, deadline_ms: int) -> ScriptCall:
        packed = b"".join(map(encode_lease_id, names))
        lasts_ms = deadline_ms + self._margin_ms
        arguments = ("", nonce, self._default_delay_ms, VISITED_TTL_MS, lasts_ms, packed)
        return (FRONTIER_HEADER(shard),), arguments


def _marks(answer: Sequence[int]) -> list[StartMark]:
    *marked, now_us = answer
    return [
        StartMark(StartResult.STARTED, at) if at else StartMark(StartResult.GONE, now_us) for at in marked
    ]
