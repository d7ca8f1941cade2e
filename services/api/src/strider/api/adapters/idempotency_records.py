"""Records of requests with an Idempotency-Key in Redis."""

from __future__ import annotations

from typing import Final

from strider.api.core import RequestRecord, read_record, write_record
from strider.storage.keys import IDEMPOTENCY_RECORD
from strider.storage.lua_files import load_script
from strider.storage.redis import Redis

IN_PROGRESS_SECONDS: Final = 60
"""Lifetime of a record in progress: after a crash its key is free again."""


class RedisIdempotencyRecords:
    """One key for each record. Every method may raise Unavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._begin = load_script("set_or_get")
        self._replace = load_script("compare_and_set")

    async def begin(self, scope: str, record: RequestRecord) -> RequestRecord | None:
        """Store a record in progress; return the one that is stored already, or None.

        The record of an attempt is its own, also where the call was repeated.
        """
        found: bytes | None = await self._redis.run(
            self._begin, keys=[IDEMPOTENCY_RECORD(scope)], args=[write_record(record), IN_PROGRESS_SECONDS]
        )
        if found is None or (stored := read_record(found)).token == record.token:
            return None
        return stored

    async def finish(self, scope: str, begun: RequestRecord, done: RequestRecord) -> None:
        """Replace the record of an attempt, unless another one has replaced it."""
        await self._replace_record(scope, begun, write_record(done), IDEMPOTENCY_RECORD.lifetime_seconds)

    async def forget(self, scope: str, begun: RequestRecord) -> None:
        """Delete the record of an attempt, unless another one has replaced it."""
        await self._replace_record(scope, begun, b"", 0)

    async def _replace_record(self, scope: str, begun: RequestRecord, value: bytes, seconds: int) -> None:
        await self._redis.run(
            self._replace, keys=[IDEMPOTENCY_RECORD(scope)], args=[write_record(begun), value, seconds]
        )
