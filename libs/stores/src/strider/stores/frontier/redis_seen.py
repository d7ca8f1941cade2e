"""Anyone's question to the seen-sets in Redis: one call for each shard, all shards at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from strider.stores.keys import FRONTIER_HEADER
from strider.stores.redis import Redis

from .redis_records import digits
from .redis_scripts import frontier_script
from .rules import VISITED_TTL_MS


class RedisSeenQuestion:
    """Never writes; a shard that is not ready knows nothing. Raises Unavailable."""

    def __init__(self, redis: Redis, *, visited_ttl_ms: int = VISITED_TTL_MS) -> None:
        self._redis = redis
        self._visited_ttl_ms = visited_ttl_ms

    async def seen(
        self, asked: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """Say which fingerprints are known."""
        by_shard: defaultdict[int, list[str]] = defaultdict(list)
        for shard, scope in asked:
            by_shard[shard].append(scope)
        answers = await asyncio.gather(
            *(
                self._ask(shard, {scope: asked[shard, scope] for scope in by_shard[shard]})
                for shard in by_shard
            )
        )
        return {key: answer for part in answers for key, answer in part.items()}

    async def _ask(
        self, shard: int, asked: Mapping[str, Sequence[int]]
    ) -> dict[tuple[int, str], Sequence[bool]]:
        args: list[str | bytes | int] = ["", "", "", self._visited_ttl_ms]
        for scope, fingerprints in asked.items():
            args += (scope, b"".join(map(digits, fingerprints)))
        letters = await self._redis.run(frontier_script("seen"), keys=[FRONTIER_HEADER(shard)], args=args)
        return {
            (shard, scope): [letter == ord("1") for letter in known]
            for scope, known in zip(asked, letters, strict=True)
        }
