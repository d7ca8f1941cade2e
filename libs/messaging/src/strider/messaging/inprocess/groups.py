"""Consumer groups in memory: members, generations, offsets, sessions; eager rebalance.

Decides which member owns which partition and whose commit counts. When a member joins or leaves, all members
release what they have and join again; the next generation begins when all live members have done so. Knows no
records and waits for nothing: consumers poll, and are woken.

The assignment is sticky, balanced to one and deterministic; a unit is what the group assigns: a partition, or
a shard number.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from strider.messaging.errors import PartitionNotOwned, StartRefused
from strider.messaging.ports import GroupSpec, TopicPartition

from .waiters import wake

U = TypeVar("U", bound=Hashable)


def assign_evenly(
    units: Sequence[U],
    *,
    members: Sequence[str],
    previous: Mapping[U, str],
    can_own: Callable[[str, U], bool] = lambda _member, _unit: True,
) -> dict[str, list[U]]:
    """Assign every unit to one member; previous owners keep theirs while the shares stay even."""
    shares: dict[str, list[U]] = {member: [] for member in sorted(members)}
    if not shares:
        return shares
    loose = _keep_previous_owners(units, shares=shares, previous=previous, can_own=can_own)
    for unit in loose:
        takers = [member for member in shares if can_own(member, unit)]
        if takers:
            shares[min(takers, key=lambda member: len(shares[member]))].append(unit)
    return shares


def _keep_previous_owners(
    units: Sequence[U],
    *,
    shares: dict[str, list[U]],
    previous: Mapping[U, str],
    can_own: Callable[[str, U], bool],
) -> list[U]:
    """Leave with its owner what fits an even share; return the rest."""
    base, larger_shares = divmod(len(units), len(shares))
    loose = []
    for unit in units:
        owner = previous.get(unit)
        share = shares.get(owner) if owner is not None else None
        if owner is None or share is None or not can_own(owner, unit):
            loose.append(unit)
        elif len(share) < base:
            share.append(unit)
        elif len(share) == base and larger_shares:
            larger_shares -= 1
            share.append(unit)
        else:
            loose.append(unit)
    return loose


CountPartitions = Callable[[str], int | None]
"""Returns how many partitions a topic has; None where it does not exist."""


@dataclass(slots=True, eq=False)
class GroupMember:
    """One consumer, as the group sees it."""

    name: str
    spec: GroupSpec
    last_heartbeat_at: float
    """When its last heartbeat came; counts only while `is_silent`."""
    last_poll_at: float
    is_waiting: bool = False
    """Inside of a poll: cannot be late with the next one."""
    is_silent: bool = False
    """Killed or frozen: sends no heartbeats any more."""
    has_joined: bool = False
    """Has released everything and waits for the generation that is being prepared."""
    generation: int = 0
    assignment: frozenset[TopicPartition] = frozenset()

    def expires_at(self) -> float:
        """Return when the group removes this member, unless it polls or sends a heartbeat before."""
        if self.is_silent:
            return self.last_heartbeat_at + self.spec.session_timeout_seconds
        if self.is_waiting:
            return float("inf")
        return self.last_poll_at + self.spec.max_poll_interval_seconds


@dataclass(slots=True, eq=False)
class InProcessGroup:
    """One consumer group."""

    name: str
    count_partitions: CountPartitions
    generation: int = 0
    is_preparing: bool = False
    members: dict[str, GroupMember] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    waiters: set[asyncio.Future[None]] = field(default_factory=set)
    _owners: dict[Hashable, str] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def new_member(self, spec: GroupSpec, now: float) -> GroupMember:
        """Make a member that has not joined yet."""
        return GroupMember(
            f"{self.name}-{next(self._numbers):04}", spec, last_heartbeat_at=now, last_poll_at=now
        )

    def join(self, member: GroupMember) -> None:
        """Add a member, or add it again after it has released what it had."""
        self.members[member.name] = member
        member.has_joined = True
        member.assignment = frozenset()
        self._prepare()

    def leave(self, member: GroupMember) -> None:
        """Remove a member at once."""
        if self.members.pop(member.name, None) is not None:
            member.has_joined = False
            self._prepare()

    def expire(self, now: float) -> None:
        """Remove members without a heartbeat for a session timeout, and those that stopped polling."""
        for member in [m for m in self.members.values() if m.expires_at() <= now]:
            self.leave(member)

    def next_expiry(self) -> float:
        """Return when the next silent member will be removed."""
        return min((m.expires_at() for m in self.members.values()), default=float("inf"))

    def owns(self, member: GroupMember) -> bool:
        """Whether a member's assignment is that of the current generation."""
        return self.members.get(member.name) is member and member.generation == self.generation

    def commit(self, member: GroupMember, offsets: Mapping[TopicPartition, int]) -> None:
        """Store offsets of partitions that the member owns; refuse all of them otherwise."""
        foreign = [tp for tp in offsets if tp not in member.assignment]
        if foreign or not self.owns(member):
            raise PartitionNotOwned(
                f"{member.name} of generation {member.generation} owns no {foreign or 'partition'}"
            )
        self.committed.update(offsets)

    def topic_created(self, topic: str) -> None:
        """Rebalance where a member subscribes to a topic that was just created."""
        if any(topic in member.spec.topics for member in self.members.values()):
            self._prepare()

    def _prepare(self) -> None:
        self.is_preparing = True
        if all(member.has_joined for member in self.members.values()):
            self._begin_generation()
        wake(self.waiters)

    def _begin_generation(self) -> None:
        self.generation += 1
        self.is_preparing = False
        assigned = self._assign()
        for member in self.members.values():
            member.has_joined = False
            member.generation = self.generation
            member.assignment = assigned.get(member.name, frozenset())

    def _assign(self) -> dict[str, frozenset[TopicPartition]]:
        if any(member.spec.sharded for member in self.members.values()):
            return self._assign_shards()
        readers = {name: frozenset(m.spec.topics) for name, m in self.members.items()}
        topics = sorted(frozenset().union(*readers.values()))
        units = [TopicPartition(t, p) for t in topics for p in range(self.count_partitions(t) or 0)]
        shares = assign_evenly(
            units,
            members=list(readers),
            previous={tp: o for tp, o in self._owners.items() if isinstance(tp, TopicPartition)},
            can_own=lambda member, tp: tp.topic in readers[member],
        )
        self._owners = {tp: member for member, share in shares.items() for tp in share}
        return {member: frozenset(share) for member, share in shares.items()}

    def _assign_shards(self) -> dict[str, frozenset[TopicPartition]]:
        shards = self.check_shards({t for m in self.members.values() for t in m.spec.topics})
        shares = assign_evenly(
            range(shards),
            members=list(self.members),
            previous={s: owner for s, owner in self._owners.items() if isinstance(s, int)},
        )
        self._owners = {shard: member for member, share in shares.items() for shard in share}
        return {
            name: frozenset(
                TopicPartition(topic, shard)
                for shard in shares[name]
                for topic in member.spec.topics
                if self.count_partitions(topic)
            )
            for name, member in self.members.items()
        }

    def check_shards(self, topics: set[str]) -> int:
        """Return how many shards there are; refuse topics that are not co-partitioned."""
        counts = {topic: self.count_partitions(topic) for topic in sorted(topics)}
        existing = {topic: count for topic, count in counts.items() if count}
        if len(set(existing.values())) > 1:
            raise StartRefused(f"group {self.name} needs topics of one partition count, has {existing}")
        return next(iter(existing.values()), 0)
