"""A Kafka cluster replaced under a working set: epochs count from 0 again, and the log is another one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.frontier.rebuild_records import RecordedEntry
from strider.messaging.errors import ShardFenced
from tests.contract.working_set.implementations.frontiers import (
    SHARD,
    FrontierWorld,
    accepted,
    page,
    question,
)
from tests.contract.working_set.test_ownership import CALLS, REBUILDING, Call

OLD, NEW = "old-cluster", "new-cluster"
OLD_EPOCH = 2_000 << 16
"""Epoch of an old cluster: many producer ids were given out before this one."""
NEW_EPOCHS = [pytest.param(0, id="lower"), pytest.param(OLD_EPOCH, id="equal")]


async def build(working_set: WorkingSet, epoch: int, *words: str) -> None:
    """Rebuild a shard from a log of these pages."""
    await working_set.begin_rebuild(SHARD, epoch)
    await working_set.load(SHARD, epoch, queued=[RecordedEntry.of(page(word)) for word in words])
    await working_set.finish_rebuild(SHARD, epoch, groups=[], sequence=0)


@pytest.fixture
async def zombie(frontier: FrontierWorld) -> AsyncIterator[WorkingSet]:
    """Return the owner of the old cluster's shard, which has one page."""
    owner = frontier.other_process()
    await owner.take_over(SHARD, OLD_EPOCH, cluster=OLD)
    await build(owner, OLD_EPOCH, "old")
    yield owner
    await owner.discard_cache(SHARD)


@pytest.mark.parametrize("epoch", NEW_EPOCHS)
async def test_a_new_cluster_takes_a_shard_over_and_finds_it_absent(
    frontier: FrontierWorld, zombie: WorkingSet, epoch: int
) -> None:
    """Its epochs are lower than those of the cluster before; what is there is of another log."""
    taken = await frontier.working_set.take_over(SHARD, epoch, cluster=NEW)

    assert not taken.is_ready
    await build(frontier.working_set, epoch, "new")
    known = await frontier.working_set.lookup(SHARD, epoch, [question(page("old")), question(page("new"))])
    assert [each.status for each in known] == ["unknown", "open"]
    del zombie


async def test_the_old_cluster_may_come_back(frontier: FrontierWorld, zombie: WorkingSet) -> None:
    """A backup of Kafka beside a newer Redis comes up like the reverse."""
    await frontier.working_set.take_over(SHARD, 0, cluster=NEW)
    await build(frontier.working_set, 0, "new")
    successor = frontier.other_process()

    taken = await successor.take_over(SHARD, 7, cluster=OLD)

    assert not taken.is_ready
    await build(successor, 7, "old")
    assert (await successor.take_over(SHARD, 8, cluster=OLD)).is_ready
    del zombie


@pytest.mark.parametrize("epoch", NEW_EPOCHS)
@pytest.mark.parametrize("call", [*CALLS, *REBUILDING])
async def test_an_owner_of_the_old_cluster_is_fenced_from_every_call(
    frontier: FrontierWorld, zombie: WorkingSet, call: Call, epoch: int
) -> None:
    """Its epoch is higher than the new owner's, or the same, and counts for nothing."""
    await frontier.working_set.take_over(SHARD, epoch, cluster=NEW)
    await build(frontier.working_set, epoch)

    with pytest.raises(ShardFenced):
        await call(zombie, OLD_EPOCH)

    assert await frontier.working_set.run_counts(SHARD, epoch) == {}


async def test_an_owner_of_the_old_cluster_cannot_take_the_shard_back(
    frontier: FrontierWorld, zombie: WorkingSet
) -> None:
    """It confirms its takeover in the middle of a rebuild, and drops what is there when it begins one."""
    await frontier.working_set.take_over(SHARD, 0, cluster=NEW)
    await build(frontier.working_set, 0, "new")

    with pytest.raises(ShardFenced):
        await zombie.take_over(SHARD, OLD_EPOCH)
    with pytest.raises(ShardFenced):
        await zombie.begin_rebuild(SHARD, OLD_EPOCH)

    [known] = await frontier.working_set.lookup(SHARD, 0, [question(page("new"))])
    assert known.status == "open"


async def test_a_rebuild_begun_by_the_old_cluster_is_not_continued(frontier: FrontierWorld) -> None:
    """With the same epoch it would look like the own one."""
    zombie = frontier.other_process()
    await zombie.take_over(SHARD, 5, cluster=OLD)
    await zombie.begin_rebuild(SHARD, 5)

    await frontier.working_set.take_over(SHARD, 5, cluster=NEW)

    with pytest.raises(ShardNotReady):
        await frontier.working_set.accept(SHARD, 5, [accepted(page("x"))])
    with pytest.raises(ShardNotReady):
        await frontier.working_set.load(SHARD, 5, queued=[RecordedEntry.of(page("x"))])


async def test_the_same_cluster_keeps_what_is_there(frontier: FrontierWorld, zombie: WorkingSet) -> None:
    """A rebalance within a cluster costs nothing."""
    taken = await frontier.working_set.take_over(SHARD, OLD_EPOCH + 1, cluster=OLD)

    assert taken.is_ready
    with pytest.raises(ShardFenced):
        await zombie.stats(SHARD, OLD_EPOCH)
    with pytest.raises(ShardFenced):
        await zombie.take_over(SHARD, OLD_EPOCH, cluster=OLD)
