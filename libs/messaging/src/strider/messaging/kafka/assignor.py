"""Shard assignor: one member owns a shard, which is that partition of every topic.

The core (`assign_shards`, `resolve_claims`) is values in, values out. Around it stands the class that the
client library calls: one object per consumer, because the library's own sticky assignor keeps its state on
the class and mixes up two consumers of one process.

Members may subscribe to different topics (two versions during a roll-out): a shard still has one owner, and
what only newer members read stays unread on the shards of older ones until they leave.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from strider.messaging import log_events
from strider.messaging.errors import InfrastructureError, StartRefused, Unavailable
from strider.messaging.log_events import logger

from .error_mapping import DEPENDENCY

_HEAD: Final = struct.Struct(">BqI")
_VERSION: Final = 1
_MAX_SHARDS: Final = 1 << 16
"""A claim of more shards than this is garbage, whatever its length field says."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class ShardClaim:
    """The shards that a member owned, and the round of the assignment that gave them."""

    round: int = 0
    shards: frozenset[int] = frozenset()


NO_CLAIM: Final = ShardClaim()


def encode_claim(claim: ShardClaim) -> bytes:
    """Encode a claim for the join request."""
    shards = sorted(claim.shards)
    return _HEAD.pack(_VERSION, claim.round, len(shards)) + struct.pack(f">{len(shards)}I", *shards)


def decode_claim(data: bytes | None) -> ShardClaim:
    """Decode a claim; malformed data, or a version that we do not know, claims nothing."""
    if not data or len(data) < _HEAD.size:
        return NO_CLAIM
    version, number, count = _HEAD.unpack_from(data)
    if version != _VERSION or number < 0 or count > _MAX_SHARDS or len(data) != _HEAD.size + 4 * count:
        return NO_CLAIM
    return ShardClaim(number, frozenset(struct.unpack_from(f">{count}I", data, _HEAD.size)))


def resolve_claims(claims: Mapping[str, ShardClaim]) -> dict[int, str]:
    """Return one former owner per shard: the newest claim wins, so a returning zombie's does not."""
    owners: dict[int, str] = {}
    for member in sorted(claims, key=lambda name: (-claims[name].round, name)):
        for shard in claims[member].shards:
            owners.setdefault(shard, member)
    return owners


def assign_shards(
    members: Iterable[str], shards: int, previous: Mapping[int, str]
) -> dict[str, tuple[int, ...]]:
    """Assign every shard to one owner: counts differ by one at most, and as little moves as possible.

    The members that own most keep the larger shares, which is what makes the moves minimal.
    """
    owned: dict[str, list[int]] = {member: [] for member in sorted(members)}
    if not owned:
        return {}
    for shard in range(shards):
        if (owner := previous.get(shard)) in owned:
            owned[owner].append(shard)
    share, larger = divmod(shards, len(owned))
    by_wealth = sorted(owned, key=lambda member: (-len(owned[member]), member))
    quota = {member: share + (rank < larger) for rank, member in enumerate(by_wealth)}
    kept = {member: owned[member][: quota[member]] for member in owned}
    free = iter(sorted(set(range(shards)) - {shard for held in kept.values() for shard in held}))
    for member, held in kept.items():
        held.extend(next(free) for _ in range(quota[member] - len(held)))
    return {member: tuple(sorted(held)) for member, held in kept.items()}


class ClusterMetadata(Protocol):
    """Metadata that the assignor needs of the cluster."""

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partition numbers of a topic; None where it is not known."""


class ShardAssignor:
    """The assignor as the library calls it. One per consumer: it keeps what that consumer owns."""

    name = "strider-shards"

    def __init__(self) -> None:
        self._claim = NO_CLAIM
        self._error: InfrastructureError | None = None

    def pop_error(self) -> InfrastructureError | None:
        """Return once why the last assignment failed; the library passes on no more than a text."""
        refusal, self._error = self._error, None
        return refusal

    @property
    def claim(self) -> ShardClaim:
        """The last assignment of this consumer."""
        return self._claim

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Return the topics and the owned shards for the join request."""
        return ConsumerProtocolMemberMetadata(0, sorted(topics), encode_claim(self._claim))

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Keep the assignment, to claim it at the next join."""
        shards = frozenset(partition for _, partition in assignment.partitions())
        self._claim = ShardClaim(decode_claim(assignment.user_data).round, shards)

    def assign(
        self, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Assign the shards, as the leader of the group."""
        topics = {member: frozenset(metadata.subscription) for member, metadata in members.items()}
        try:
            counts = count_partitions(cluster, frozenset[str]().union(*topics.values()))
        except InfrastructureError as refusal:
            self._error = refusal
            raise
        self._error = None
        claims = {member: decode_claim(metadata.user_data) for member, metadata in members.items()}
        number = 1 + max((claim.round for claim in claims.values()), default=0)
        readers = [member for member, wanted in topics.items() if wanted]
        given = assign_shards(readers, max(counts.values(), default=0), resolve_claims(claims))
        _log_unread_shards(given, topics, counts)
        stamp = encode_claim(ShardClaim(number))
        return {
            member: ConsumerProtocolMemberAssignment(
                0, _assigned_partitions(given.get(member, ()), topics[member]), stamp
            )
            for member in members
        }


def count_partitions(cluster: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    """Return the partition count of each topic; refuse when they are not all equal.

    A topic that the cluster metadata lacks just now (a broker that starts) is no reason to assign less: a
    member that lost its shards by that would get other ones a moment later.
    """
    counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in sorted(topics)}
    for topic, count in counts.items():
        if not count:
            raise Unavailable(DEPENDENCY, f"topic {topic} is not known to the broker")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
        raise StartRefused(f"a sharded group needs topics of one partition count: {listed}")
    return counts


def _assigned_partitions(shards: tuple[int, ...], topics: Iterable[str]) -> list[tuple[str, list[int]]]:
    return [(topic, list(shards)) for topic in sorted(topics)] if shards else []


def _log_unread_shards(
    assigned: Mapping[str, tuple[int, ...]], topics: Mapping[str, frozenset[str]], counts: Mapping[str, int]
) -> None:
    for topic in counts:
        unread = sum(len(shards) for member, shards in assigned.items() if topic not in topics[member])
        if unread:
            _log.emit(
                log_events.SHARDS_LEFT_UNREAD,
                topic=topic,
                shards=unread,
                reason="their owners do not subscribe to it",
            )


def as_strategy(assignor: ShardAssignor) -> tuple[Any, ...]:
    """Return the object where the library expects classes: it only calls the four names above."""
    return (assignor,)
