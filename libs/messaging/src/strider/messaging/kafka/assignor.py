"""Which member of a group owns which shard, and with it that partition of every topic it reads.

The core (`assign_shards`, `settle_claims`) is values in, values out. Around it stands the class
that the client library asks: one object per consumer, because the library's own sticky assignor
keeps its memory on the class and mixes up two consumers of one process.

Members may subscribe to different topics (two versions during a roll-out): a shard still has one
owner, and what only newer members read stays unread on the shards of older ones until they leave.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from strider.messaging.errors import InfrastructureError, StartRefused, Unavailable
from strider.runtime.observability.logging import logger

from .error_mapping import DEPENDENCY

_HEAD: Final = struct.Struct(">BqI")
_VERSION: Final = 1
_MAX_SHARDS: Final = 1 << 16
"""A claim of more shards than this is garbage, whatever its length field says."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class ShardClaim:
    """What a member says it owned, and since which round of hand-outs."""

    round: int = 0
    shards: frozenset[int] = frozenset()


NO_CLAIM: Final = ShardClaim()


def encode_claim(claim: ShardClaim) -> bytes:
    """Write a claim as it travels in the join request."""
    shards = sorted(claim.shards)
    return _HEAD.pack(_VERSION, claim.round, len(shards)) + struct.pack(f">{len(shards)}I", *shards)


def decode_claim(data: bytes | None) -> ShardClaim:
    """Read a claim; whatever is not one, or of a version we do not know, claims nothing."""
    if not data or len(data) < _HEAD.size:
        return NO_CLAIM
    version, number, count = _HEAD.unpack_from(data)
    if version != _VERSION or number < 0 or count > _MAX_SHARDS or len(data) != _HEAD.size + 4 * count:
        return NO_CLAIM
    return ShardClaim(number, frozenset(struct.unpack_from(f">{count}I", data, _HEAD.size)))


def resolve_claims(claims: Mapping[str, ShardClaim]) -> dict[int, str]:
    """Name one former owner per shard: the newest claim holds, so a returning zombie's does not."""
    owners: dict[int, str] = {}
    for member in sorted(claims, key=lambda name: (-claims[name].round, name)):
        for shard in claims[member].shards:
            owners.setdefault(shard, member)
    return owners


def assign_shards(
    members: Iterable[str], shards: int, previous: Mapping[int, str]
) -> dict[str, tuple[int, ...]]:
    """Give every shard exactly one owner: counts differ by one at most, and as little moves as can be.

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
    """What is asked of the library's picture of the cluster."""

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Partition numbers of a topic; None where it is not known."""


class ShardAssignor:
    """The library's face of the assignor. One per consumer: it remembers what that consumer owns."""

    name = "strider-shards"

    def __init__(self) -> None:
        self._claim = NO_CLAIM
        self._refusal: InfrastructureError | None = None

    def pop_error(self) -> InfrastructureError | None:
        """Say once why the last hand-out could not be made; the library passes on no more than a text."""
        refusal, self._refusal = self._refusal, None
        return refusal

    @property
    def claim(self) -> ShardClaim:
        """What this consumer was last given."""
        return self._claim

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Join with the topics and with what is owned now."""
        return ConsumerProtocolMemberMetadata(0, sorted(topics), encode_claim(self._claim))

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Remember what was given, to claim it at the next join."""
        shards = frozenset(partition for _, partition in assignment.partitions())
        self._claim = ShardClaim(decode_claim(assignment.user_data).round, shards)

    def assign(
        self, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Hand out the shards, as the leader of the group."""
        topics = {member: frozenset(metadata.subscription) for member, metadata in members.items()}
        try:
            counts = count_partitions(cluster, frozenset[str]().union(*topics.values()))
        except InfrastructureError as refusal:
            self._refusal = refusal
            raise
        self._refusal = None
        claims = {member: decode_claim(metadata.user_data) for member, metadata in members.items()}
        number = 1 + max((claim.round for claim in claims.values()), default=0)
        readers = [member for member, wanted in topics.items() if wanted]
        given = assign_shards(readers, max(counts.values(), default=0), resolve_claims(claims))
        _log_unread_shards(given, topics, counts)
        stamp = encode_claim(ShardClaim(number))
        return {
            member: ConsumerProtocolMemberAssignment(
                0, _partitions(given.get(member, ()), topics[member]), stamp
            )
            for member in members
        }


def count_partitions(cluster: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    """Count the partitions of each topic; refuse when they are not all equally many.

    A topic that the cluster's picture lacks just now (a broker that starts) is no reason to hand out
    less: whoever lost everything by that would get other shards a moment later.
    """
    counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in sorted(topics)}
    for topic, count in counts.items():
        if not count:
            raise Unavailable(DEPENDENCY, f"topic {topic} is not known to the broker")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
        raise StartRefused(f"a sharded group needs topics of one partition count: {listed}")
    return counts


def _partitions(shards: tuple[int, ...], topics: Iterable[str]) -> list[tuple[str, list[int]]]:
    return [(topic, list(shards)) for topic in sorted(topics)] if shards else []


def _log_unread_shards(
    given: Mapping[str, tuple[int, ...]], topics: Mapping[str, frozenset[str]], counts: Mapping[str, int]
) -> None:
    for topic in counts:
        unread = sum(len(shards) for member, shards in given.items() if topic not in topics[member])
        if unread:
            _log.warning("shards_unread", topic=topic, shards=unread, reason="their owners do not read it")


def as_strategy(assignor: ShardAssignor) -> tuple[Any, ...]:
    """Pass the object where the library expects classes: it only calls the four names above."""
    return (assignor,)
