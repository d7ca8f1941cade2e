"""States of the sources whose shard is owned here, which are written by the owner alone.

They are read once for each epoch. A state is committed in the transactions of its shard before it is kept or
copied, so an owner that was fenced decides nothing. Its topic is the record; the copies in Redis are written
again where they are lost, all of them or single ones. The state of a source is deleted with it, or when no
run has compared it for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from strider.contracts.generated.events import AdaptiveRecorded
from strider.messaging.errors import Unavailable
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.jobs.adaptive import is_forgotten
from strider.scheduler.ports import AdaptiveCopies, AdaptiveStateReader
from strider.scheduler.shard.shard import OwnedShard
from strider.storage.errors import StoreRejected

DELETED_TOGETHER: Final = 500
CHECKED_TOGETHER: Final = 100
"""Copies that one pass looks for: of thousands of sources, a deleted one is back after some minutes."""

_log = logger("scheduler")


class AdaptiveStates:
    """States of the sources of all owned shards."""

    def __init__(self, reader: AdaptiveStateReader, copies: AdaptiveCopies) -> None:
        self._reader = reader
        self._copies = copies
        self._tables: dict[int, tuple[OwnedShard, int, dict[str, bytes]]] = {}
        """By shard: its owner here and the epoch of it, and the encoded states by source."""
        self._reading = asyncio.Lock()
        self._unchecked: Iterator[tuple[dict[str, bytes], str]] = iter(())
        """The rest of a round through all sources, each with its table."""

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
        except StoreRejected as failure:
            _log.emit(log_events.ADAPTIVE_COPY_REFUSED, source=state.source_id, why=str(failure))

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
        await self._restore_missing()

    async def _restore_missing(self) -> None:
        """Write copies again that were deleted one by one, as far as they are among the next sources."""
        part = list(islice(self._unchecked, CHECKED_TOGETHER))
        if len(part) < CHECKED_TOGETHER:
            self._unchecked = self._all_sources()
        tables = {source_id: table for table, source_id in part}
        try:
            for source_id in await self._copies.missing(list(tables)):
                value = tables[source_id].get(source_id)
                state = None if value is None else self._reader.decode_state(value)
                if state is not None:
                    await self._copies.write(state)
        except Unavailable as failure:
            _log.emit(log_events.ADAPTIVE_COPIES_PAUSED, why=str(failure))
        except StoreRejected as failure:
            _log.emit(log_events.ADAPTIVE_COPY_REFUSED, why=str(failure))

    def _all_sources(self) -> Iterator[tuple[dict[str, bytes], str]]:
        """Yield all sources of the shards that are owned when their turn comes."""
        for number in list(self._tables):
            for source_id in list(self._tables[number][2]) if number in self._tables else ():
                if number in self._tables:
                    yield self._tables[number][2], source_id

    async def forget(self, shard: OwnedShard, *, exists: Callable[[str], bool], now_ms: int) -> int:
        """Delete the states of sources that were removed, or not compared since; return how many.

        Copies first: where the process ends in between, the record is still there, and all is repeated.
        Raises Unavailable and ShardFenced.
        """
        table = await self._table_of(shard)
        old = [
            source_id
            for source_id, value in list(table.items())
            if self._is_forgotten(value, exists=exists(source_id), now_ms=now_ms)
        ]
        for first in range(0, len(old), DELETED_TOGETHER):
            part = old[first : first + DELETED_TOGETHER]
            for source_id in part:
                await self._copies.delete(source_id)
            await shard.log.delete_adaptive(part)
            for source_id in part:
                table.pop(source_id, None)
        if old:
            _log.emit(log_events.ADAPTIVE_STATES_DELETED, shard=shard.number, sources=len(old))
        return len(old)

    async def _table_of(self, shard: OwnedShard) -> dict[str, bytes]:
        async with self._reading:  # a table that is read twice would lose what was recorded in between
            owner, epoch, table = self._tables.get(shard.number, (None, 0, {}))
            if owner is not shard or epoch != shard.epoch:
                epoch = shard.epoch
                table = dict(await self._reader.read_states(shard.number))
                self._tables[shard.number] = shard, epoch, table
            return table

    def _is_forgotten(self, value: bytes, *, exists: bool, now_ms: int) -> bool:
        state = self._reader.decode_state(value)
        if state is None:  # of a later version, maybe
            return not exists
        return is_forgotten(state, exists=exists, now_ms=now_ms)

    def _decoded(self, table: Mapping[str, bytes]) -> Iterator[AdaptiveRecorded]:
        for value in list(table.values()):
            state = self._reader.decode_state(value)
            if state is not None:
                yield state
