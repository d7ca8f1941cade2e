"""Who owns which shard: even shares, few moves, never two owners, whatever the members claim."""

from __future__ import annotations

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st

from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.kafka.assignor import (
    NO_CLAIM,
    ShardAssignor,
    ShardClaim,
    assign_shards,
    decode_claim,
    encode_claim,
    resolve_claims,
)

names = st.text("abcdef", min_size=1, max_size=3)
members = st.sets(names, min_size=1, max_size=8)
claims = st.builds(ShardClaim, st.integers(0, 2**40), st.frozensets(st.integers(0, 120), max_size=40))


class FixedCluster:
    def __init__(self, **counts: int) -> None:
        self._counts = counts

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._counts[topic])) if topic in self._counts else None


class GroupOfAssignors:
    """A group without a broker: each member has its own assignor, the first by name leads."""

    def __init__(self, cluster: FixedCluster) -> None:
        self.cluster = cluster
        self.assignors: dict[str, ShardAssignor] = {}
        self.topics: dict[str, list[str]] = {}

    def join(self, name: str, *topics: str) -> None:
        self.assignors[name] = ShardAssignor()
        self.topics[name] = list(topics)

    def leave(self, name: str) -> ShardAssignor:
        del self.topics[name]
        return self.assignors.pop(name)

    def rebalance(self) -> dict[str, set[tuple[str, int]]]:
        metadata = {name: over_the_wire(a.metadata(self.topics[name])) for name, a in self.assignors.items()}
        given_out = self.assignors[min(self.assignors)].assign(self.cluster, metadata)
        owned = {}
        for name, assignor in self.assignors.items():
            assignment = ConsumerProtocolMemberAssignment.decode(given_out[name].encode())
            assignor.on_assignment(assignment)
            owned[name] = {(topic, number) for topic, number in assignment.partitions()}
        return owned


def over_the_wire(metadata: ConsumerProtocolMemberMetadata) -> ConsumerProtocolMemberMetadata:
    return ConsumerProtocolMemberMetadata.decode(metadata.encode())


def moved(before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]]) -> set[int]:
    """Shards whose owner is still there and yet lost them."""
    return {s for name, shards in before.items() if name in after for s in set(shards) - set(after[name])}


@given(members, st.integers(0, 200), st.dictionaries(st.integers(0, 250), names))
def test_every_shard_has_one_owner_and_shares_are_even(
    present: set[str], shards: int, previous: dict[int, str]
) -> None:
    given_out = assign_shards(present, shards, previous)
    dealt = [shard for share in given_out.values() for shard in share]
    sizes = [len(share) for share in given_out.values()]
    assert given_out.keys() == present
    assert sorted(dealt) == list(range(shards))
    assert max(sizes) - min(sizes) <= 1


@given(members, st.integers(0, 200), st.dictionaries(st.integers(0, 250), names))
def test_the_same_members_give_the_same_assignment(
    present: set[str], shards: int, previous: dict[int, str]
) -> None:
    """Whichever member leads, and in whatever order the broker lists the members."""
    first = assign_shards(sorted(present), shards, previous)
    second = assign_shards(sorted(present, reverse=True), shards, dict(reversed(previous.items())))
    assert first == second


@given(members, st.integers(0, 200), st.dictionaries(st.integers(0, 250), names))
def test_no_hand_out_moves_less(present: set[str], shards: int, previous: dict[int, str]) -> None:
    """The most that can stay: every member keeps what it had, up to the best even shares."""
    held = {name: {s for s in range(shards) if previous.get(s) == name} for name in present}
    given_out = assign_shards(present, shards, previous)
    stayed = sum(len(held[name] & set(given_out[name])) for name in present)
    share, larger = divmod(shards, len(present))
    excess = sum(len(owned) > share for owned in held.values())
    best = sum(min(len(owned), share) for owned in held.values()) + min(larger, excess)
    assert stayed == best


@given(members, st.integers(1, 200))
def test_nothing_moves_when_nothing_happened(present: set[str], shards: int) -> None:
    first = assign_shards(present, shards, {})
    owners = {shard: name for name, share in first.items() for shard in share}
    assert assign_shards(present, shards, owners) == first


@given(members, names, st.integers(1, 200))
def test_a_leaver_moves_only_its_own_shards(present: set[str], leaver: str, shards: int) -> None:
    before = assign_shards(present | {leaver}, shards, {})
    owners = {shard: name for name, share in before.items() for shard in share}
    after = assign_shards(present - {leaver}, shards, owners)
    assert moved(before, after) == set()


@given(members, names, st.integers(1, 200))
def test_a_newcomer_takes_only_its_own_share(present: set[str], newcomer: str, shards: int) -> None:
    before = assign_shards(present - {newcomer}, shards, {})
    owners = {shard: name for name, share in before.items() for shard in share}
    after = assign_shards(present | {newcomer}, shards, owners)
    assert moved(before, after) <= set(after[newcomer])


def test_no_members_get_no_shards() -> None:
    assert assign_shards([], 5, {0: "a"}) == {}


@given(claims)
def test_a_claim_survives_its_journey(claim: ShardClaim) -> None:
    assert decode_claim(encode_claim(claim)) == claim


@given(st.binary(max_size=200))
def test_garbage_never_breaks_a_hand_out(data: bytes) -> None:
    """Another program in the group, or a later version of this one, must not stop it."""
    assert isinstance(decode_claim(data), ShardClaim)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="none"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x01", id="cut-head"),
        pytest.param(encode_claim(ShardClaim(7, frozenset({1, 2})))[:-1], id="cut-body"),
        pytest.param(encode_claim(ShardClaim(7, frozenset({1, 2}))) + b"x", id="trailing"),
        pytest.param(b"\x02" + encode_claim(ShardClaim(7, frozenset({1})))[1:], id="later-version"),
        pytest.param(b"\x01" + b"\x00" * 8 + b"\xff\xff\xff\xff", id="huge-count"),
        pytest.param(b"\x01" + b"\xff" * 8 + b"\x00\x00\x00\x00", id="negative-round"),
    ],
)
def test_what_is_no_claim_claims_nothing(data: bytes | None) -> None:
    assert decode_claim(data) == NO_CLAIM


@given(st.dictionaries(names, claims, max_size=6))
def test_the_newest_claim_to_a_shard_holds(claimed: dict[str, ShardClaim]) -> None:
    owners = resolve_claims(claimed)
    for shard, owner in owners.items():
        rivals = [claim.round for claim in claimed.values() if shard in claim.shards]
        assert claimed[owner].round == max(rivals)
        assert shard in claimed[owner].shards


def test_a_returning_zombie_does_not_take_back_what_others_own_now() -> None:
    """It was frozen for a session; its memory is of a round that is over."""
    group = GroupOfAssignors(FixedCluster(t=12))
    group.join("a", "t")
    group.join("b", "t")
    group.rebalance()
    zombie = group.leave("b")
    group.join("c", "t")
    group.rebalance()
    held = {name: set(group.assignors[name].claim.shards) for name in ("a", "c")}
    group.assignors["b"] = zombie
    group.topics["b"] = ["t"]
    after = group.rebalance()
    for name in ("a", "c"):
        assert {number for _, number in after[name]} <= held[name]
    assert len({shard for owned in after.values() for shard in owned}) == 12


def test_members_of_two_versions_each_get_their_own_topics() -> None:
    """One owner a shard; what only the newer version reads waits on the shards of the older one."""
    group = GroupOfAssignors(FixedCluster(a=6, b=6, c=6))
    group.join("old", "a", "b")
    group.join("new", "a", "b", "c")
    owned = group.rebalance()
    shards = {name: {number for _, number in partitions} for name, partitions in owned.items()}
    assert {topic for topic, _ in owned["old"]} == {"a", "b"}
    assert {topic for topic, _ in owned["new"]} == {"a", "b", "c"}
    assert (len(shards["old"]), len(shards["new"]), shards["old"] & shards["new"]) == (3, 3, set())
    assert owned["new"] == {(topic, shard) for topic in "abc" for shard in shards["new"]}


def test_two_consumers_of_one_process_have_separate_claims() -> None:
    first, second = ShardAssignor(), ShardAssignor()
    assignment = ConsumerProtocolMemberAssignment(0, [("t", [1, 2])], encode_claim(ShardClaim(3)))
    first.on_assignment(assignment)
    assert (first.claim, second.claim) == (ShardClaim(3, frozenset({1, 2})), NO_CLAIM)


def test_topics_of_different_partition_counts_are_refused_by_name() -> None:
    group = GroupOfAssignors(FixedCluster(a=4, b=6))
    group.join("m", "a", "b")
    with pytest.raises(StartRefused, match="a has 4, b has 6"):
        group.rebalance()
    refusal = group.assignors["m"].pop_error()
    assert isinstance(refusal, StartRefused)
    assert group.assignors["m"].pop_error() is None


def test_a_topic_that_is_not_known_yet_shrinks_no_share() -> None:
    """A broker that starts may not list a topic for a moment."""
    group = GroupOfAssignors(FixedCluster(a=4))
    group.join("m", "a", "b")
    with pytest.raises(Unavailable, match="topic b"):
        group.rebalance()
    assert isinstance(group.assignors["m"].pop_error(), Unavailable)
