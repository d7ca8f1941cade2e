"""States of the sources whose shard is owned here, which are written by the owner alone.

They are read once for each epoch. A state is committed in the transactions of its shard before it is kept or
copied, so an owner that was fenced decides nothing. Its topic is the record; the copies in Redis are written
again where they are lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from strider.contracts.generated.events import AdaptiveRecorded
from strider.messaging.errors import Unavailable
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.ports import AdaptiveCopies, AdaptiveStateReader
from strider.scheduler.shard.shard import OwnedShard

_log = logger("scheduler")


class AdaptiveStates:
    """States of the sources of all owned shards."""

    def __init__(self, reader: AdaptiveStateReader, copies: AdaptiveCopies) -> None:
        self._reader = reader
        self._copies = copies
        self._tables: dict[int, tuple[OwnedShard, int, dict[str, bytes]]] = {}
        """By shard: its owner here and the epoch of it, and the encoded states by source."""
        self._reading = asyncio.Lock()

    async def get(self, shard: OwnedShard, source_id: str) -> AdaptiveRecorded | None:
        """Return the state of a source; None where there is none. Raises Unavailable."""
        value = (await self._table_of(shard)).get(source_id)
        return None if value is None else self._reader.decode_state(value)

    async def record(self, shard: OwnedShard, state: AdaptiveRecorded) -> None:
        """Commit a state, then copy it. Raises Unavailable and ShardFenced, and has recorded nothing then."""
        table = await self._table_of(shard)
        await shard.log.write_adaptive(state)
        table[state.source_id] = self._reader.encode_state(state)
        try:
            await self._copies.write(state)
        except Unavailable as failure:
            _log.emit(log_events.ADAPTIVE_COPIES_PAUSED, shard=shard.number, why=str(failure))

    async def restore_copies(self, shards: Sequence[OwnedShard]) -> None:
        """Write the copies of shards whose copies are not all there; forget shards of other owners."""
        numbers = {shard.number for shard in shards}
        self._tables = {number: table for number, table in self._tables.items() if number in numbers}
        for shard in shards:
            try:
                if not await self._copies.are_complete(shard.number, shard.epoch):
                    table = await self._table_of(shard)
                    await self._copies.write_all(shard.number, shard.epoch, self._decoded(table))
            except Unavailable as failure:
                _log.emit(log_events.ADAPTIVE_COPIES_PAUSED, shard=shard.number, why=str(failure))
                return

    async def _table_of(self, shard: OwnedShard) -> dict[str, bytes]:
        async with self._reading:  # a table that is read twice would lose what was recorded in between
            owner, epoch, table = self._tables.get(shard.number, (None, 0, {}))
            if owner is not shard or epoch != shard.epoch:
                epoch = shard.epoch
                table = dict(await self._reader.read_states(shard.number))
                self._tables[shard.number] = shard, epoch, table
            return table

    def _decoded(self, table: Mapping[str, bytes]) -> Iterator[AdaptiveRecorded]:
        for value in list(table.values()):
            state = self._reader.decode_state(value)
            if state is not None:
                yield state
