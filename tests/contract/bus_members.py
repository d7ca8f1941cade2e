"""A member of a group as a test sees it: polls in a task of its own, and writes down what befell it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from strider.messaging.errors import InfrastructureError, PartitionNotOwned
from strider.messaging.ports import Bus, Consumer, GroupSpec, Record, TopicPartition

from .bus_environments import World, until


class Silent:
    """Listens to nothing."""

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...
    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...


@dataclass(slots=True)
class Journal:
    """What happened in a group, in the order in which it did."""

    events: list[tuple[str, str, frozenset[TopicPartition]]] = field(default_factory=list)

    def note(self, member: str, what: str, partitions: frozenset[TopicPartition] = frozenset()) -> None:
        self.events.append((member, what, partitions))

    def shared_shards(self) -> list[tuple[int, str, str]]:
        """Replay the events; return every shard that was given to one member while another had it."""
        owners: dict[int, str] = {}
        clashes = []
        for member, what, partitions in self.events:
            shards = {partition.partition for partition in partitions}
            if what == "assigned":
                clashes += [(s, owners[s], member) for s in shards if owners.get(s, member) != member]
                owners.update(dict.fromkeys(shards, member))
            else:
                owners = {shard: owner for shard, owner in owners.items() if owner != member}
        return clashes


class Member:
    """Polls until it is stopped; commits what it read when its partitions are revoked."""

    def __init__(self, name: str, journal: Journal | None = None, *, commits: bool = True) -> None:
        self.name = name
        self.owned: frozenset[TopicPartition] = frozenset()
        self.records: list[Record] = []
        self.rounds = 0
        self.kept: frozenset[TopicPartition] = frozenset()
        """Partitions of the last assignment that no other member had since the one before."""
        self._journal = journal or Journal()
        self._commits = commits
        self._done: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None
        self.consumer: Consumer

    @property
    def shards(self) -> frozenset[int]:
        return frozenset(partition.partition for partition in self.owned)

    @property
    def failure(self) -> BaseException | None:
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    async def join(self, bus: Bus, spec: GroupSpec) -> None:
        self.consumer = await bus.consumer(spec, self)
        self._task = asyncio.create_task(self._poll())

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await self.commit()
        self.owned = frozenset()
        self._journal.note(self.name, "revoked", partitions)

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self._done.clear()
        self.owned = partitions
        self.rounds += 1
        self.kept = self.consumer.kept() if self.rounds > 1 else frozenset()
        self._journal.note(self.name, "assigned", partitions)

    async def commit(self) -> None:
        if self._commits and self._done:
            with contextlib.suppress(PartitionNotOwned):
                await self.consumer.commit(self._done)

    async def _poll(self) -> None:
        while True:
            found = await self.consumer.poll(max_records=500, timeout_seconds=0.1)
            for partition, records in found.items():
                self.records += records
                self._done[partition] = records[-1].offset + 1

    async def leave(self) -> None:
        await self._stop()
        await self.commit()
        self._journal.note(self.name, "left")
        await self.consumer.close()

    async def kill(self, world: World) -> None:
        await self._stop()
        self._journal.note(self.name, "killed")
        await world.kill(self.consumer)

    async def _stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self.owned = frozenset()


async def until_settled(members: Collection[Member], shards: int) -> None:
    """Wait until these members share all shards between them, evenly."""

    async def is_settled() -> bool:
        for member in members:
            if member.failure is not None:
                raise InfrastructureError(f"{member.name} has died") from member.failure
        counts = [len(member.shards) for member in members]
        covered = set[int]().union(*(member.shards for member in members))
        return sum(counts) == shards == len(covered) and max(counts) - min(counts) <= 1

    await until(is_settled, what=f"{len(members)} members share {shards} shards evenly")


async def read(consumer: Consumer, count: int) -> list[Record]:
    """Poll until so many records have come."""
    records: list[Record] = []

    async def has_enough() -> bool:
        found = await consumer.poll(max_records=1000, timeout_seconds=0.2)
        records.extend(record for batch in found.values() for record in batch)
        return len(records) >= count

    await until(has_enough, what=f"{count} records have come")
    return records


async def poll_quietly(consumer: Consumer, times: int = 3) -> list[Record]:
    """Poll a few times, for tests that expect nothing to come."""
    found = [await consumer.poll(max_records=100, timeout_seconds=0.2) for _ in range(times)]
    return [record for batches in found for batch in batches.values() for record in batch]


def values(records: Iterable[Record]) -> list[bytes | None]:
    return [record.value for record in records]
