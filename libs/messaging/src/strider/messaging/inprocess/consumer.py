"""Consumers of the broker in memory: a member of a group, or a reader without one.

Everything happens inside of `poll`: revoking, joining, assigning. So a consumer that is not polled notices
nothing, like a process that is stuck. `kill`, `freeze` and `thaw` are what SIGKILL, SIGSTOP and SIGCONT do to
a member.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from strider.messaging.errors import (
    InfrastructureError,
    LogTruncated,
    OffsetLost,
    OffsetMissing,
    PartitionNotOwned,
    UnreadRange,
)
from strider.messaging.ports import GroupSpec, RebalanceListener, Record, TopicPartition

from .broker import InProcessBroker
from .groups import GroupMember, InProcessGroup
from .waiters import wait_on


class InProcessReader:
    """Reads the partitions that it was assigned; knows no group."""

    def __init__(self, broker: InProcessBroker, *, read_committed: bool = True) -> None:
        self._broker = broker
        self._read_committed = read_committed
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._order: list[TopicPartition] = []
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._is_closed = False

    def assign(self, partitions: Iterable[TopicPartition], *, from_start: bool = False) -> None:
        """Replace what is read; positions are looked up when they are first needed."""
        self._assignment = frozenset(partitions)
        self._order = sorted(self._assignment)
        self._paused.clear()
        self._positions.clear()
        if from_start:
            self._positions.update({tp: self._broker.log(tp).start for tp in self._order})

    async def poll(
        self, *, max_records: int, timeout_seconds: float
    ) -> Mapping[TopicPartition, Sequence[Record]]:
        """Return the next records of what is not paused."""
        ends_at = self._broker.clock.monotonic() + timeout_seconds
        while True:
            self._check_open()
            await self._maintain_membership()
            self._broker.check_available()
            found = self._fetch(max_records)
            left = ends_at - self._broker.clock.monotonic()
            if found or left <= 0:
                if not found:
                    await asyncio.sleep(0)  # a loop that polls an empty topic must not starve other tasks
                return found
            await self._wait(left)

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Refuse: offsets belong to groups."""
        raise PartitionNotOwned(f"a reader without a group commits nothing, not even {dict(offsets)}")

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Read nothing more of these, until resumed or assigned again."""
        self._paused.update(self._assignment.intersection(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these again."""
        self._paused.difference_update(partitions)

    def assignment(self) -> frozenset[TopicPartition]:
        """Return what is being read."""
        return self._assignment

    def kept(self) -> frozenset[TopicPartition]:
        """Return nothing: no group assigns anything here."""
        return frozenset()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at another offset."""
        self._check_owned(partition)
        self._positions[partition] = offset

    async def position(self, partition: TopicPartition) -> int:
        """Return the offset that the next poll reads from."""
        self._check_owned(partition)
        return self._position(partition)

    async def committed(self, partition: TopicPartition) -> int | None:  # noqa: ARG002  # the port's shape
        """Return None: offsets belong to groups."""
        return None

    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the logs start now."""
        self._broker.check_available()
        return {tp: self._broker.log(tp).start for tp in partitions}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the logs end now, for this reader."""
        self._broker.check_available()
        self._broker.transactions.expire()
        return {tp: self._end(tp) for tp in partitions}

    def held_by_transactions(self) -> Mapping[TopicPartition, int]:
        """Return where committed data ends, of those partitions that continue behind it."""
        ends = {
            partition: (self._end(partition), self._broker.log(partition).end) for partition in self._order
        }
        return {
            partition: stable
            for partition, (stable, end) in ends.items()
            if stable < end and self._positions.get(partition) == stable
        }

    async def offsets_at(self, moments_ms: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a moment; the end where there is none."""
        self._broker.check_available()
        return {
            tp: self._broker.log(tp).offset_at(moment, end=self._end(tp)) for tp, moment in moments_ms.items()
        }

    async def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    async def _maintain_membership(self) -> None:
        """Do nothing: there is no group."""

    async def _wait(self, seconds: float) -> None:
        sets = [self._broker.topic(topic).readers for topic in {tp.topic for tp in self._order}]
        await wait_on(sets, clock=self._broker.clock, seconds=seconds)

    def _fetch(self, max_records: int) -> dict[TopicPartition, Sequence[Record]]:
        found: dict[TopicPartition, Sequence[Record]] = {}
        self._broker.transactions.expire()
        for partition in self._order:
            if max_records <= 0:
                break
            if partition in self._paused:
                continue
            try:
                records = self._read(partition, max_records)
            except (UnreadRange, OffsetMissing):
                if not found:
                    raise
                break  # what was read is returned first; the next poll begins here and raises
            if records:
                found[partition] = records
                max_records -= len(records)
        if found:  # the next poll begins behind the last one that was served
            served = self._order.index(next(reversed(found))) + 1
            self._order = self._order[served:] + self._order[:served]
        return found

    def _read(self, partition: TopicPartition, max_records: int) -> Sequence[Record]:
        log, position = self._broker.log(partition), self._position(partition)
        if position < log.start:
            raise OffsetLost(*partition, wanted=position, available=log.start)
        if position > log.end:
            raise LogTruncated(*partition, wanted=position, end=log.end, resume_at=log.end)
        records, self._positions[partition] = log.read(
            position, max_records, read_committed=self._read_committed
        )
        return records

    def _position(self, partition: TopicPartition) -> int:
        return self._positions[partition]

    def _end(self, partition: TopicPartition) -> int:
        log = self._broker.log(partition)
        return log.stable_end() if self._read_committed else log.end

    def _check_owned(self, partition: TopicPartition) -> None:
        if partition not in self._assignment:
            raise PartitionNotOwned(f"{partition.topic}[{partition.partition}] is not assigned here")

    def _check_open(self) -> None:
        if self._is_closed:
            raise InfrastructureError("the consumer was closed")


class InProcessConsumer(InProcessReader):
    """A member of a group."""

    def __init__(self, broker: InProcessBroker, spec: GroupSpec, listener: RebalanceListener) -> None:
        super().__init__(broker, read_committed=spec.read_committed)
        self._spec = spec
        self._listener = listener
        self._group: InProcessGroup = broker.group(spec.group)
        if spec.sharded:
            self._group.check_shards(set(spec.topics))
        self._member: GroupMember = self._group.new_member(spec, broker.clock.monotonic())
        self._generation = 0
        self._last_assignment: frozenset[TopicPartition] = frozenset()
        """Also while it is revoked."""
        self._kept: frozenset[TopicPartition] = frozenset()
        self._is_thawed = asyncio.Event()
        self._is_thawed.set()

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the next offsets, if the group still has this member as their owner."""
        await self._is_thawed.wait()
        self._broker.check_available()
        if self._is_closed:
            raise PartitionNotOwned(f"{self._member.name} is gone")
        self._group.expire(self._broker.clock.monotonic())
        self._broker.commit(self._spec.group, self._member, offsets)

    def kept(self) -> frozenset[TopicPartition]:
        """Return those partitions that were assigned here in the generation right before this one."""
        return self._kept

    async def committed(self, partition: TopicPartition) -> int | None:
        """Return the group's offset, whichever member committed it."""
        self._broker.check_available()
        return self._group.committed.get(partition)

    async def close(self) -> None:
        """Leave the group; what was not committed is redelivered to another member."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._member.is_silent:
            self._group.leave(self._member)
        self._assignment = frozenset()

    def kill(self) -> None:
        """End as a killed process does: the group notices only after a session timeout."""
        self.freeze()
        self._is_closed = True
        self._is_thawed.set()

    def freeze(self) -> None:
        """Stop as a frozen process does: no heartbeats, and no poll or commit returns."""
        self._is_thawed.clear()
        self._member.is_silent = True
        self._member.last_heartbeat_at = self._broker.clock.monotonic()

    def thaw(self) -> None:
        """Send heartbeats again; the group may have removed this member by now."""
        self._group.expire(self._broker.clock.monotonic())
        self._is_thawed.set()
        self._member.is_silent = False
        self._member.last_poll_at = self._broker.clock.monotonic()

    async def _maintain_membership(self) -> None:
        self._broker.check_available()
        group, member = self._group, self._member
        while True:
            await self._is_thawed.wait()
            self._check_open()
            member.last_poll_at = self._broker.clock.monotonic()
            group.expire(member.last_poll_at)
            is_member = group.members.get(member.name) is member
            if not is_member or (group.is_preparing and not member.has_joined):
                await self._revoke_all()
                group.join(member)
            elif not member.has_joined and self._generation != member.generation:
                is_next = member.generation == self._generation + 1
                self._kept = self._last_assignment & member.assignment if is_next else frozenset()
                self._generation = member.generation
                self._last_assignment = member.assignment
                self.assign(member.assignment)
                await self._listener.on_assigned(self._assignment)
            else:
                return

    async def _revoke_all(self) -> None:
        if self._assignment:
            await self._listener.on_revoked(self._assignment)
        self.assign(())

    async def _wait(self, seconds: float) -> None:
        now = self._broker.clock.monotonic()
        seconds = max(0.0, min(seconds, self._group.next_expiry() - now))
        sets = [self._group.waiters]
        sets += [self._broker.topic(topic).readers for topic in {tp.topic for tp in self._order}]
        self._member.is_waiting = True
        try:
            await wait_on(sets, clock=self._broker.clock, seconds=seconds)
        finally:
            self._member.is_waiting = False

    def _position(self, partition: TopicPartition) -> int:
        position = self._positions.get(partition)
        if position is None:
            position = self._group.committed.get(partition)
            if position is None:
                raise OffsetMissing(self._spec.group, *partition)
            self._positions[partition] = position
        return position
