"""The check for seen URLs in Redis: one call for each shard, all shards at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from strider.frontier.constants import VISITED_TTL_MS
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

from .call_encoding import encode_fingerprint
from .calls import encode_caller
from .function_library import frontier_function


class RedisSeenLookup:
    """Never writes; a shard that is not ready knows nothing, nor one of another Kafka cluster.

    Raises Unavailable.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        read_cluster: Callable[[], Awaitable[str]] | None = None,
        visited_ttl_ms: int = VISITED_TTL_MS,
    ) -> None:
        """Create the lookup; `read_cluster` returns the identity of its Kafka cluster, and is called once.

        Without it only shards that were taken over without a cluster are read.
        """
        self._redis = redis
        self._read_cluster = read_cluster
        self._caller: bytes | None = None
        self._visited_ttl_ms = visited_ttl_ms

    async def find_seen(
        self, lookups: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """Return which fingerprints were seen."""
        if self._caller is None:
            cluster = await self._read_cluster() if self._read_cluster is not None else ""
            self._caller = encode_caller(0, 0, 0, 0, 0, cluster=cluster.encode())
        by_shard: defaultdict[int, list[str]] = defaultdict(list)
        for shard, scope in lookups:
            by_shard[shard].append(scope)
        answers = await asyncio.gather(
            *(
                self._find_in_shard(shard, {scope: lookups[shard, scope] for scope in by_shard[shard]})
                for shard in by_shard
            )
        )
        return {key: answer for part in answers for key, answer in part.items()}

    async def _find_in_shard(
        self, shard: int, wanted: Mapping[str, Sequence[int]]
    ) -> dict[tuple[int, str], Sequence[bool]]:
        args: list[str | bytes | int] = [self._caller or b"", "", "", self._visited_ttl_ms]
        for scope, fingerprints in wanted.items():
            args += (scope, b"".join(map(encode_fingerprint, fingerprints)))
        letters = await self._redis.run(
            frontier_function("find_seen"), keys=[FRONTIER_HEADER(shard)], args=args
        )
        return {
            (shard, scope): [letter == ord("1") for letter in known]
            for scope, known in zip(wanted, letters, strict=True)
        }
