"""The ledger as a compacted topic, written in the shard's transactions.

Decides when a shard's tallies are available: after the writer before was fenced, and the topic was read to
the end that it then had. Knows nothing of how echoes are counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import TallyKept
from strider.contracts.generated.topics import TALLIES
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.errors import ShardFenced
from strider.messaging.ports import Bus, Clock, RawRecord, ShardWriter, TopicPartition

from .topology import Place

NAMESPACE = "tally"
"""First part of the transactional id: shards of other services have their own owners."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that this process owns."""

    writer: ShardWriter
    tallies: dict[str, TallyKept]


class TopicLedger:
    """Tallies of the shards that this process owns."""

    def __init__(
        self,
        bus: Bus,
        codec: Codec,
        *,
        clock: Clock,
        commit_interval_seconds: float,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Make a ledger that calls `on_progress` while it reads: a long takeover is no stall."""
        self._bus = bus
        self._codec = codec
        self._table = CompactedTableReader(bus, clock=clock, on_progress=lambda _progress: on_progress())
        self._commit_interval_seconds = commit_interval_seconds
        self._shards: dict[int, Shard] = {}

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Fence the former owners of the shards, then read their tallies."""
        for shard in shards:
            writer = await self._bus.take_shard(
                NAMESPACE, shard, commit_interval_seconds=self._commit_interval_seconds
            )
            try:
                tallies = await self._table.load(
                    [TopicPartition(TALLIES.name, shard)], key=bytes.decode, value=self._decode
                )
            except BaseException:
                await writer.close()
                raise
            self._shards[shard] = Shard(writer, tallies)

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Close the shards concurrently; their next owner reads them again."""
        writers = [self._shards.pop(shard).writer for shard in shards & self._shards.keys()]
        await asyncio.gather(*(writer.close() for writer in writers))

    def tally(self, place: Place) -> TallyKept | None:
        """Return the tally as it was committed last."""
        shard, host = place
        return self._held(shard).tallies.get(host)

    async def keep(self, tallies: Mapping[Place, TallyKept]) -> None:
        """Write the tallies; update them here once their transactions are committed."""
        waiting = {
            self._held(shard).writer.append(TALLIES.name, shard, self._record(tally)): None
            for (shard, _), tally in tallies.items()
        }
        for commit in waiting:
            await commit
        for (shard, host), tally in tallies.items():
            self._held(shard).tallies[host] = tally

    def _held(self, shard: int) -> Shard:
        held = self._shards.get(shard)
        if held is None:
            raise ShardFenced(shard)
        return held

    def _record(self, tally: TallyKept) -> RawRecord:
        return RawRecord(TALLIES.key_of(tally), self._codec.encode(TALLIES, tally).value)

    def _decode(self, value: bytes) -> TallyKept:
        return self._codec.decode(TALLIES, value)
