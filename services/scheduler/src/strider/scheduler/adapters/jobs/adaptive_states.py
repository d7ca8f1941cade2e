"""States of sources: read from their topic, and copied to Redis.

The topic is the record. The copies are for people and dashboards, nothing reads them here. Where Redis has
lost all, a marker of their shard is missing, and all of the shard are written again; single ones that were
deleted are found by looking for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Final

from strider.contracts import DecodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import AdaptiveRecorded
from strider.contracts.generated.topics import ADAPTIVE_STATE
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.storage import keys
from strider.storage.errors import StoreRejected
from strider.storage.redis import Redis

WRITES_TOGETHER: Final = 100
"""Copies that are written at a time."""

_log = logger("scheduler")


class TopicAdaptiveStates:
    """Reads the states of the sources of a shard."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock) -> None:
        self._table = CompactedTableReader(bus, clock=clock)
        self._codec = codec

    async def read_states(self, shard: int) -> Mapping[str, bytes]:
        """Return the encoded states of all sources of a shard, by source id."""
        where = TopicPartition(ADAPTIVE_STATE.name, shard)
        return await self._table.load([where], key=lambda key: key.decode(errors="replace"), value=bytes)

    def decode_state(self, value: bytes) -> AdaptiveRecorded | None:
        """Decode a state; None, and a log event, where it cannot be decoded."""
        try:
            return self._codec.decode(ADAPTIVE_STATE, value)
        except DecodeError as failure:
            _log.emit(log_events.ADAPTIVE_STATE_UNREADABLE, why=str(failure))
            return None

    def encode_state(self, state: AdaptiveRecorded) -> bytes:
        """Encode a state."""
        return self._codec.encode(ADAPTIVE_STATE, state).value


class RedisAdaptiveCopies:
    """Writes states of sources to Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def write(self, state: AdaptiveRecorded) -> None:
        """Write the copy of a source. Raises Unavailable."""
        fields: dict[str, str | int] = {
            "last_hash": state.last_hash,
            "last_change_at": state.last_change_at_ms,
            "unchanged_count": state.unchanged_count,
            "current_interval": state.current_interval_seconds,
        }
        name = keys.ADAPTIVE_STATE(state.source_id)
        if not fields["last_change_at"]:  # of an earlier version, which left it out until the first change
            del fields["last_change_at"]
            await self._redis.command("HDEL", name, "last_change_at")
        await self._redis.command("HSET", name, *chain.from_iterable(fields.items()))

    async def delete(self, source_id: str) -> None:
        """Delete the copy of a source. Raises Unavailable."""
        await self._redis.command("DEL", keys.ADAPTIVE_STATE(source_id))

    async def missing(self, source_ids: Sequence[str]) -> Sequence[str]:
        """Return the sources without a copy. Raises Unavailable."""
        asked = (self._redis.command("EXISTS", keys.ADAPTIVE_STATE(each)) for each in source_ids)
        found = await asyncio.gather(*asked, return_exceptions=True)
        for failure in found:
            if isinstance(failure, BaseException):
                raise failure
        return [source for source, exists in zip(source_ids, found, strict=True) if not exists]

    async def are_complete(self, shard: int, epoch: int) -> bool:
        """Whether all states of a shard were written by its owner of this epoch, and not lost since."""
        marker = await self._redis.command("GET", keys.ADAPTIVE_COPIES(shard))
        return bool(marker == str(epoch).encode())

    async def write_all(self, shard: int, epoch: int, states: Iterable[AdaptiveRecorded]) -> None:
        """Write all states of a shard, and then its marker. Raises Unavailable."""
        remaining = iter(states)
        while part := list(islice(remaining, WRITES_TOGETHER)):
            for failure in await asyncio.gather(*map(self.write, part), return_exceptions=True):
                if isinstance(failure, StoreRejected):  # a key of another type, made by other hands
                    _log.emit(log_events.ADAPTIVE_COPY_REFUSED, why=str(failure))
                elif failure is not None:
                    raise failure
        await self._redis.command("SET", keys.ADAPTIVE_COPIES(shard), epoch)
