"""Partitions coming and going, and which of them may be read now.

Gives back in order: start nothing new, finish what is in hand and what lies before it (a gap would
make what is done come again), commit, abandon the rest, close the shard. What is abandoned has not
happened: it is never committed and comes again to whoever has the partition next. New shards are
read only when the topology says that they are ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from .effects import Reads
from .errors import Fenced, Unavailable
from .logs import logger
from .loop_pauses import Pauses, Spawn, pause_before
from .loop_pool import Pool, identities
from .loop_ports import shards_of
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Partition
from .ports import Consumer, TopicPartition

SHARD = "shards"
FENCED = "fenced"
JOINING = "joining"

CLOSE_SECONDS = 30.0
"""How long a service may take to let its shards go, beyond the grace for what is in hand."""

MOST_REFUSALS = 3
"""So many shards are named that are not ready: as a rule the others have the same reason."""

ABANDON_SECONDS = 1.0
"""How long cancelled handlers may take to end; who ignores being cancelled is not waited for."""

_log = logger("loop")


class Partitions:
    """The partitions of this member; told by the consumer when they change."""

    def __init__(
        self,
        reads: Mapping[str, Reads],
        *,
        is_sharded: bool,
        ports: LoopPorts,
        settings: LoopSettings,
        pauses: Pauses,
        pool: Pool,
        spawn: Spawn,
        commit: Callable[[], Awaitable[None]],
        on_open: Callable[[Partition], None],
        on_gone: Callable[[Mapping[TopicPartition, Partition]], None],
    ) -> None:
        self._reads = reads
        self._is_sharded = is_sharded
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._pool = pool
        self._spawn = spawn
        self._commit = commit
        self._on_open = on_open
        self._on_gone = on_gone
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._refusals: dict[int, str] = {}
        """Why shards were not ready at the last try."""
        self._resting: set[int] = set()
        """Shards that wait for their next try."""
        self._fenced: dict[int, float] = {}
        self._paused: frozenset[TopicPartition] = frozenset()
        self._changing = asyncio.Lock()
        self.held: dict[TopicPartition, Partition] = {}
        self.last_activity = ports.clock.monotonic()
        """When a hand-out came, or a try to take a shard ended, in monotonic seconds."""

    @property
    def opening(self) -> int:
        """How many shards are being taken."""
        return len(self._opening)

    def await_group(self) -> None:
        """State that this member waits for its group. That excuses nothing that another group's does."""
        why = "waiting for the group to hand out partitions"
        self._pauses.state(JOINING, why, excuses=False, is_routine=True)

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Take partitions; those of a shard are read when it is ready. None at all is a share as well."""
        new = [Partition(name, self._reads[name.topic]) for name in sorted(partitions - self.held.keys())]
        self.held.update({partition.name: partition for partition in new})
        self._paused = frozenset()  # an assignment forgets what was paused
        self._ports.meter.rebalanced(len(self.held))
        _log.info("Partitions Assigned", partitions=len(self.held))
        if self._is_sharded:
            for partition in new:
                partition.holds.add(SHARD)
            for shard in sorted(shards_of(frozenset(partition.name for partition in new))):
                self._opening[shard] = self._spawn(self._open(shard))
            self._state_opening()
        self._pauses.clear(JOINING)
        self.last_activity = self._ports.clock.monotonic()

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Give partitions back within the grace for it, and wait for the next hand-out."""
        self.await_group()
        await self.give_back(partitions, grace_seconds=self._settings.revoke_grace_seconds)

    async def give_back(self, names: frozenset[TopicPartition], *, grace_seconds: float) -> None:
        """End what is in hand, commit, abandon the rest, and close the shards."""
        async with self._changing:
            leaving = [self.held[name] for name in sorted(names & self.held.keys())]
            if not leaving:
                return
            for partition in leaving:
                partition.is_leaving = True
            await self._stop_opening(leaving)
            which = identities(leaving)
            await self._pool.wait_for_active(which, seconds=grace_seconds)
            await self._commit()
            for partition in leaving:
                partition.is_closed = True
                del self.held[partition.name]
                self._ports.meter.lag(*partition.name, None)
            if abandoned := self._pool.abandon(which):
                _log.warning("Messages Abandoned", messages=abandoned, grace_seconds=grace_seconds)
                await self._pool.wait_for_active(which, seconds=ABANDON_SECONDS)
            self._on_gone(self.held)
            await self._close_shards(leaving)
            _log.info("Partitions Given Back", partitions=len(leaving))

    def on_fenced(self, fenced: Fenced) -> None:
        """Stop a shard that somebody newer writes; the group will take it away in a moment."""
        if fenced.shard not in self._fenced:
            self._fenced[fenced.shard] = self._ports.clock.monotonic()
            self._pauses.state(FENCED, f"{fenced}; waiting for the group to take it away")
        for partition in self.held.values():
            if partition.name.partition == fenced.shard:
                partition.holds.add(FENCED)
                partition.is_fenced = True

    def check_fenced(self, patience_seconds: float) -> None:
        """Raise Fenced when a shard was fenced long ago and still nobody has taken it away."""
        now = self._ports.clock.monotonic()
        for shard, since in self._fenced.items():
            if now - since > patience_seconds:
                raise Fenced(shard)

    def apply_pauses(self, consumer: Consumer, *, is_full: bool) -> None:
        """Tell the consumer which partitions it may read."""
        span = self._settings.span_messages
        if is_full:
            wanted = frozenset(self.held)
        else:
            wanted = frozenset(
                name for name, each in self.held.items() if each.holds or each.done.span >= span
            )
        if wanted != self._paused:
            consumer.pause(wanted - self._paused)
            consumer.resume(self._paused - wanted)
            self._paused = wanted

    async def _open(self, shard: int) -> None:
        attempt = 1
        while True:
            try:
                await self._ports.shards.on_shards_taken(frozenset((shard,)))
                break
            except Unavailable as failure:
                self._refusals[shard] = f"shard {shard} is not ready: {failure}"
                await self._rest_before(attempt, shard)
                attempt += 1
            except Fenced as fenced:
                self.on_fenced(fenced)
                return
        self._end_opening(shard)
        self._state_opening()
        for partition in self.held.values():
            if partition.name.partition == shard and not partition.is_leaving:
                partition.holds.discard(SHARD)
                self._on_open(partition)

    async def _rest_before(self, attempt: int, shard: int) -> None:
        self._resting.add(shard)
        self._state_opening()
        try:
            await pause_before(attempt, ports=self._ports, settings=self._settings)
        finally:
            self._resting.discard(shard)
            self._state_opening()

    def _end_opening(self, shard: int) -> asyncio.Task[None]:
        self._refusals.pop(shard, None)
        return self._opening.pop(shard)

    def _state_opening(self) -> None:
        """State what is being taken. Only the wait before a next try excuses that nothing moves.

        A take-over itself is work like any other: it shows by signs of life that it gets on.
        """
        self.last_activity = self._ports.clock.monotonic()
        if not self._opening:
            self._pauses.clear(SHARD)
            return
        why = f"not ready yet: {', '.join(map(str, sorted(self._opening)))}"
        if self._refusals:
            why = "; ".join(list(self._refusals.values())[:MOST_REFUSALS])
        self._pauses.state(SHARD, why, excuses=bool(self._resting))

    async def _stop_opening(self, leaving: list[Partition]) -> None:
        shards = {partition.name.partition for partition in leaving} if self._is_sharded else set()
        tasks = [self._end_opening(shard) for shard in shards & self._opening.keys()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
            self._state_opening()

    async def _close_shards(self, leaving: list[Partition]) -> None:
        if not self._is_sharded:
            return
        shards = shards_of(frozenset(partition.name for partition in leaving))
        for shard in shards:
            self._fenced.pop(shard, None)
        if not self._fenced:
            self._pauses.clear(FENCED)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._ports.shards.on_shards_lost(shards)
        except (Unavailable, Fenced, TimeoutError) as failure:
            # Whoever takes the shard next fences what could not be closed.
            why = str(failure) or f"still busy after {CLOSE_SECONDS:g} s"
            _log.warning("Shards Not Closed", shards=sorted(shards), why=why)
