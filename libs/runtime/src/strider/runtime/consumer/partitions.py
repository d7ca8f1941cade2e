"""Partition assignment: take and release partitions and shards, pause and resume them.

Releasing: start nothing new, finish what is in flight and what lies before it (a gap would make completed
messages come again), commit, abandon the rest, close the shards. An abandoned message is never committed and
is handled again by the next owner. A new shard is read only when the service has taken it over.

Groups rebalance eagerly: every join or leave revokes everything. Shards of a service that can suspend them
are closed only when the next assignment is known, and only where it moves them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from strider.messaging.effects import Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Consumer, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import AssignedPartition
from .pauses import Pauses, Spawn
from .ports import SuspendableShardHooks, shards_of
from .spec import ConsumerPorts, ConsumerSettings
from .worker_pool import WorkerPool, partition_identities

SHARD = "shards"
FENCED = "fenced"
JOINING = "joining"

SHARD_CLOSE_SECONDS = 30.0
"""How long a service may take to close its shards, beyond the timeout for messages in flight."""

MAX_REPORTED_ERRORS = 3
"""Shards named in a pause; as a rule the others have the same reason."""

CANCEL_SECONDS = 1.0
"""How long cancelled handlers may take to end; one that ignores it is not waited for."""

_log = logger("loop")


class PartitionAssignment:
    """The partitions of this member, updated by the consumer's rebalance callbacks."""

    def __init__(
        self,
        subscriptions: Mapping[str, Subscription],
        *,
        is_sharded: bool,
        ports: ConsumerPorts,
        settings: ConsumerSettings,
        pauses: Pauses,
        pool: WorkerPool,
        spawn: Spawn,
        commit: Callable[[], Awaitable[None]],
        on_open: Callable[[AssignedPartition], None],
        on_revoked: Callable[[Mapping[TopicPartition, AssignedPartition]], None],
    ) -> None:
        self._subscriptions = subscriptions
        self._is_sharded = is_sharded
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._pool = pool
        self._spawn = spawn
        self._commit = commit
        self._on_open = on_open
        self._on_revoked = on_revoked
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._open_errors: dict[int, str] = {}
        """Why shards were not ready at the last attempt."""
        self._waiting_for_retry: set[int] = set()
        """Shards that wait for their next attempt."""
        self._fenced: dict[int, float] = {}
        self._paused: frozenset[TopicPartition] = frozenset()
        self._suspended: frozenset[int] = frozenset()
        """Shards that were revoked, and are not closed before the next assignment."""
        self._changing = asyncio.Lock()
        self.assigned: dict[TopicPartition, AssignedPartition] = {}
        self.last_activity = ports.clock.monotonic()
        """Monotonic time of the last assignment, or end of an attempt to take a shard."""

    @property
    def opening(self) -> int:
        """Number of shards that are being taken over."""
        return len(self._opening)

    def report_waiting_for_group(self) -> None:
        """Pause until the group assigns partitions; not exempt from the watchdog, since other loops may
        stall.
        """
        why = "waiting for the group to hand out partitions"
        self._pauses.begin(JOINING, why, is_exempt=False, is_routine=True)

    async def on_assigned(
        self, partitions: frozenset[TopicPartition], *, kept: frozenset[TopicPartition]
    ) -> None:
        """Take partitions; those of a shard are read when it is ready. The share may be empty.

        `kept` are those that no other member had since they were revoked here.
        """
        new = [
            AssignedPartition(name, self._subscriptions[name.topic])
            for name in sorted(partitions - self.assigned.keys())
        ]
        self.assigned.update({partition.name: partition for partition in new})
        self._paused = frozenset()  # an assignment clears what was paused
        self._ports.meter.rebalanced(len(self.assigned))
        _log.emit(log_events.PARTITIONS_ASSIGNED, partitions=len(self.assigned))
        if self._is_sharded:
            for partition in new:
                partition.hold_reasons.add(SHARD)
            shards = shards_of(frozenset(partition.name for partition in new))
            await self._begin_opening(shards, movable=shards_of(partitions - kept))
        self._pauses.clear(JOINING)
        self.last_activity = self._ports.clock.monotonic()

    async def _begin_opening(self, shards: frozenset[int], *, movable: frozenset[int]) -> None:
        """Resume suspended shards that had no other owner, close the other ones, and take the rest."""
        async with self._changing:
            resumed = (self._suspended & shards) - movable
            moved, self._suspended = self._suspended - resumed, frozenset()
            await self._close_shards(moved)
            for shard in sorted(shards):
                self._opening[shard] = self._spawn(self._open_shard(shard, is_resumed=shard in resumed))
            self._report_opening()

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Release partitions within the revoke timeout, and wait for the next assignment."""
        self.report_waiting_for_group()
        await self._revoke(partitions, timeout_seconds=self._settings.revoke_timeout_seconds, may_return=True)

    async def give_up_all(self, *, timeout_seconds: float) -> None:
        """Release everything for good: the process ends."""
        await self._revoke(frozenset(self.assigned), timeout_seconds=timeout_seconds, may_return=False)
        suspended, self._suspended = self._suspended, frozenset()
        await self._close_shards(suspended)

    async def _revoke(
        self, partitions: frozenset[TopicPartition], *, timeout_seconds: float, may_return: bool
    ) -> None:
        """Finish what is in flight, commit, abandon the rest, and close or suspend the shards."""
        async with self._changing:
            revoked = [self.assigned[name] for name in sorted(partitions & self.assigned.keys())]
            if not revoked:
                return
            for partition in revoked:
                partition.is_revoking = True
            unready = frozenset(self._opening) | frozenset(self._fenced)
            await self._stop_opening(revoked)
            which = partition_identities(revoked)
            await self._pool.wait_until_idle(which, seconds=timeout_seconds)
            await self._commit()
            for partition in revoked:
                partition.is_closed = True
                del self.assigned[partition.name]
                self._ports.meter.lag(*partition.name, None)
            if abandoned := self._pool.abandon(which):
                _log.emit(log_events.MESSAGES_ABANDONED, messages=abandoned, grace_seconds=timeout_seconds)
                await self._pool.wait_until_idle(which, seconds=CANCEL_SECONDS)
            self._on_revoked(self.assigned)
            if self._is_sharded:
                shards = shards_of(frozenset(partition.name for partition in revoked))
                suspendable = shards - unready if may_return and not abandoned else frozenset[int]()
                self._suspended = await self._suspend_shards(suspendable)
                await self._close_shards(shards - self._suspended)
            _log.emit(log_events.PARTITIONS_REVOKED, partitions=len(revoked))

    def on_fenced(self, fenced: ShardFenced) -> None:
        """Stop a shard that a newer owner writes, until the group revokes it."""
        if fenced.shard not in self._fenced:
            self._fenced[fenced.shard] = self._ports.clock.monotonic()
            self._pauses.begin(FENCED, f"{fenced}; waiting for the group to take it away")
        for partition in self.assigned.values():
            if partition.name.partition == fenced.shard:
                partition.hold_reasons.add(FENCED)
                partition.is_fenced = True

    def check_fenced(self, timeout_seconds: float) -> None:
        """Raise ShardFenced when a fenced shard was not revoked within the timeout."""
        now = self._ports.clock.monotonic()
        for shard, since in self._fenced.items():
            if now - since > timeout_seconds:
                raise ShardFenced(shard)

    def apply_pauses(self, consumer: Consumer, *, is_full: bool) -> None:
        """Pause and resume partitions at the consumer."""
        span = self._settings.max_redelivery_span
        if is_full:
            wanted = frozenset(self.assigned)
        else:
            wanted = frozenset(
                name
                for name, each in self.assigned.items()
                if each.hold_reasons or each.offsets.redelivery_span >= span
            )
        if wanted != self._paused:
            consumer.pause(wanted - self._paused)
            consumer.resume(self._paused - wanted)
            self._paused = wanted

    async def _open_shard(self, shard: int, *, is_resumed: bool) -> None:
        backoff = Backoff(clock=self._ports.clock, chance=self._ports.chance)
        hooks = self._ports.shards
        while True:
            try:
                if is_resumed and isinstance(hooks, SuspendableShardHooks):
                    await hooks.on_shards_resumed(frozenset((shard,)))
                else:
                    await hooks.on_shards_taken(frozenset((shard,)))
                break
            except Unavailable as failure:
                self._open_errors[shard] = f"shard {shard} is not ready: {failure}"
                await self._wait_before_retry(backoff, shard)
            except ShardFenced as fenced:
                self.on_fenced(fenced)
                return
        self._end_opening(shard)
        self._report_opening()
        for partition in self.assigned.values():
            if partition.name.partition == shard and not partition.is_revoking:
                partition.hold_reasons.discard(SHARD)
                self._on_open(partition)

    async def _wait_before_retry(self, backoff: Backoff, shard: int) -> None:
        self._waiting_for_retry.add(shard)
        self._report_opening()
        try:
            await backoff.wait()
        finally:
            self._waiting_for_retry.discard(shard)
            self._report_opening()

    def _end_opening(self, shard: int) -> asyncio.Task[None]:
        self._open_errors.pop(shard, None)
        return self._opening.pop(shard)

    def _report_opening(self) -> None:
        """Report the shards that are being taken over; exempt from the watchdog only between attempts.

        A takeover itself is work like any other: it beats the heartbeat while it proceeds.
        """
        self.last_activity = self._ports.clock.monotonic()
        if not self._opening:
            self._pauses.clear(SHARD)
            return
        why = f"not ready yet: {', '.join(map(str, sorted(self._opening)))}"
        if self._open_errors:
            why = "; ".join(list(self._open_errors.values())[:MAX_REPORTED_ERRORS])
        self._pauses.begin(SHARD, why, is_exempt=bool(self._waiting_for_retry))

    async def _stop_opening(self, revoked: list[AssignedPartition]) -> None:
        shards = {partition.name.partition for partition in revoked} if self._is_sharded else set()
        tasks = [self._end_opening(shard) for shard in shards & self._opening.keys()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
            self._report_opening()

    async def _suspend_shards(self, shards: frozenset[int]) -> frozenset[int]:
        """Suspend shards until the next assignment; return those that the service keeps."""
        hooks = self._ports.shards
        if not shards or not isinstance(hooks, SuspendableShardHooks):
            return frozenset()
        try:
            async with asyncio.timeout(SHARD_CLOSE_SECONDS):
                return await hooks.on_shards_suspended(shards)
        except (Unavailable, ShardFenced, TimeoutError):
            return frozenset()  # they are closed instead

    async def _close_shards(self, shards: frozenset[int]) -> None:
        if not shards:
            return
        for shard in shards:
            self._fenced.pop(shard, None)
        if not self._fenced:
            self._pauses.clear(FENCED)
        try:
            async with asyncio.timeout(SHARD_CLOSE_SECONDS):
                await self._ports.shards.on_shards_lost(shards)
        except (Unavailable, ShardFenced, TimeoutError) as failure:
            # The next owner of the shard fences what could not be closed.
            why = str(failure) or f"still busy after {SHARD_CLOSE_SECONDS:g} s"
            _log.emit(log_events.SHARDS_NOT_CLOSED, shards=sorted(shards), why=why)
