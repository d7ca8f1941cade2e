"""Who may write a shard's working set, and when it answers at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from strider.frontier.models import EntryDisposition, SeenBatch, TakeoverResult
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.frontier.rebuild_records import RecordedRunCount
from strider.messaging.errors import ShardFenced
from tests.contract.working_set.implementations.frontiers import (
    EPOCH,
    SHARD,
    FrontierWorld,
    accepted,
    page,
    question,
    recorded,
)

Call = Callable[[WorkingSet, int], Awaitable[Any]]

CALLS = [
    pytest.param(lambda ws, epoch: ws.lookup(SHARD, epoch, [question(page("x"))]), id="look"),
    pytest.param(lambda ws, epoch: ws.accept(SHARD, epoch, [accepted(page("x"))]), id="accept"),
    pytest.param(lambda ws, epoch: ws.release(SHARD, epoch, limit=1, lease_ms=1), id="release"),
    pytest.param(lambda ws, epoch: ws.swap(SHARD, epoch, [], lease_ms=1), id="swap"),
    pytest.param(lambda ws, epoch: ws.end_requests(SHARD, epoch, []), id="free"),
    pytest.param(lambda ws, epoch: ws.conclude(SHARD, epoch, []), id="conclude"),
    pytest.param(lambda ws, epoch: ws.set_host_groups(SHARD, epoch, []), id="set-groups"),
    pytest.param(lambda ws, epoch: ws.run_counts(SHARD, epoch), id="counts"),
    pytest.param(lambda ws, epoch: ws.stats(SHARD, epoch), id="figures"),
    pytest.param(lambda ws, epoch: ws.scan(SHARD, epoch, cursor=0, limit=10), id="scan"),
]

REBUILDING = [
    pytest.param(lambda ws, epoch: ws.load(SHARD, epoch, queued=[recorded(page("x"))]), id="load"),
    pytest.param(
        lambda ws, epoch: ws.load(SHARD, epoch, seen_batches=[SeenBatch("news", 1, [1])]), id="load-seen"
    ),
    pytest.param(lambda ws, epoch: ws.reserve_seen(SHARD, epoch, {"news": 9}), id="expect"),
    pytest.param(
        lambda ws, epoch: ws.set_accepted_counts(SHARD, epoch, [RecordedRunCount(page("x"), 1)]), id="recount"
    ),
    pytest.param(lambda ws, epoch: ws.finish_rebuild(SHARD, epoch, groups=[], sequence=0), id="ready"),
]

TAKING = [
    pytest.param(lambda ws, epoch: ws.take_over(SHARD, epoch), id="take"),
    pytest.param(lambda ws, epoch: ws.begin_rebuild(SHARD, epoch), id="begin"),
]


@pytest.mark.parametrize("call", [*CALLS, *REBUILDING, *TAKING])
async def test_an_older_owner_is_fenced_from_every_call(frontier: FrontierWorld, call: Call) -> None:
    """A process that slept through its replacement must change nothing."""
    await frontier.open()
    await frontier.working_set.take_over(SHARD, EPOCH + 1)

    with pytest.raises(ShardFenced):
        await call(frontier.owner(), EPOCH)

    assert await frontier.working_set.run_counts(SHARD, EPOCH + 1) == {}


@pytest.mark.parametrize("call", [*CALLS, *REBUILDING])
async def test_a_shard_that_was_not_built_refuses_every_call(frontier: FrontierWorld, call: Call) -> None:
    """An empty working set would accept everything again and forget what is in flight."""
    await frontier.working_set.take_over(SHARD, EPOCH)

    with pytest.raises(ShardNotReady):
        await call(frontier.working_set, EPOCH)


@pytest.mark.parametrize("call", CALLS)
async def test_a_shard_that_is_being_rebuilt_refuses_every_call(frontier: FrontierWorld, call: Call) -> None:
    """Half a frontier knows half of what was seen."""
    await frontier.open()
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)

    with pytest.raises(ShardNotReady):
        await call(frontier.working_set, EPOCH)


@pytest.mark.parametrize("call", [*CALLS, *REBUILDING])
async def test_an_epoch_that_was_not_taken_is_not_ready(frontier: FrontierWorld, call: Call) -> None:
    """Only a take-over makes an owner, because it says whether what is there is whole."""
    await frontier.open()

    with pytest.raises(ShardNotReady):
        await call(frontier.working_set, EPOCH + 1)


@pytest.mark.parametrize("call", CALLS)
async def test_a_lost_store_is_noticed_by_the_next_call(frontier: FrontierWorld, call: Call) -> None:
    """The owner did not restart, so no take-over would tell it."""
    await frontier.open()
    await frontier.accept(page("x"))
    await frontier.lose()

    with pytest.raises(ShardNotReady):
        await call(frontier.working_set, EPOCH)


async def test_a_new_owner_takes_over_what_is_there(frontier: FrontierWorld) -> None:
    """A rebalance costs no fetch: queues and leases are adopted."""
    await frontier.open()
    await frontier.accept(page("x"), page("y"))
    lease = await frontier.release_one()
    successor = frontier.owner()

    taken = await successor.take_over(SHARD, EPOCH + 1)

    assert taken == TakeoverResult(is_ready=True, now_ms=taken.now_ms)
    [known] = await successor.lookup(SHARD, EPOCH + 1, [question(page("x"))])
    assert known.entry == lease.entry
    assert (await frontier.mark(lease)).result == "started"


async def test_taking_again_with_the_same_epoch_changes_nothing(frontier: FrontierWorld) -> None:
    """A take-over whose answer was lost is repeated."""
    await frontier.open()
    await frontier.accept(page("x"))

    taken = await frontier.working_set.take_over(SHARD, EPOCH)

    assert taken.is_ready
    assert await frontier.released() == ["x"]


async def test_a_shard_that_was_never_built_is_not_ready_when_taken(frontier: FrontierWorld) -> None:
    """So that the owner rebuilds it from the log."""
    taken = await frontier.working_set.take_over(SHARD, EPOCH)

    assert not taken.is_ready


async def test_a_rebuild_that_an_older_owner_began_is_begun_again(frontier: FrontierWorld) -> None:
    """What it loaded may lack what was committed since."""
    await frontier.working_set.take_over(SHARD, EPOCH)
    await frontier.working_set.begin_rebuild(SHARD, EPOCH)
    await frontier.working_set.load(SHARD, EPOCH, queued=[recorded(page("x"))])

    taken = await frontier.working_set.take_over(SHARD, EPOCH + 1)

    assert not taken.is_ready
    with pytest.raises(ShardNotReady):
        await frontier.working_set.load(SHARD, EPOCH + 1, queued=[recorded(page("y"))])


async def test_shards_know_nothing_of_each_other(frontier: FrontierWorld) -> None:
    """They have different owners."""
    await frontier.open()
    await frontier.accept(page("x"))
    other = SHARD + 1
    await frontier.working_set.take_over(other, 1)
    await frontier.working_set.begin_rebuild(other, 1)
    await frontier.working_set.finish_rebuild(other, 1, groups=[], sequence=0)

    assert (await frontier.working_set.release(other, 1, limit=9, lease_ms=9)).leases == []
    assert await frontier.asked(page("x"), shard=other) == [False]
    assert await frontier.released() == ["x"]


async def test_letting_go_of_a_shard_leaves_the_set(frontier: FrontierWorld) -> None:
    """The next owner finds it."""
    await frontier.open()
    await frontier.accept(page("x"))

    await frontier.working_set.discard_cache(SHARD)

    assert await frontier.released() == ["x"]


async def test_a_rebuild_drops_all_there_was(frontier: FrontierWorld) -> None:
    """What the log does not say is not so."""
    await frontier.open()
    await frontier.accept(page("old", seed_token="seeds-submitted/0/1"), page("done"))
    lease = await frontier.release_one()
    await frontier.conclude(lease, EntryDisposition.CLOSE)

    await frontier.open()

    assert await frontier.figures() == (0, 0, 0)
    assert (await frontier.look(page("old"))).status == "unknown"
    assert (await frontier.look(page("old"))).seed_token == ""
    assert await frontier.asked(page("done")) == [False]
    assert await frontier.working_set.run_counts(SHARD, EPOCH) == {}
