"""What only a server can do to a frontier: lose answers, be replaced, be full, be gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from strider.frontier.models import (
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    LeaseSwap,
    RunEntryCounts,
    StartResult,
)
from strider.frontier.ports import ShardNotReady
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.frontier.redis.seen import RedisSeenLookup
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.messaging.errors import Unavailable
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.lua_files import LuaScript
from strider.storage.redis import Redis, RedisOptions, connect

from .shards import EPOCH, LEASE_MS, SHARD, accepted, opened, question, recorded


class LosingRedis(Redis):
    """Forwards its calls, and loses replies when a test requires it."""

    failure: BaseException | None = None

    async def run(
        self, script: LuaScript, *, keys: Sequence[str], args: Sequence[str | bytes | int] = ()
    ) -> Any:
        answer = await super().run(script, keys=keys, args=args)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return answer


@pytest.fixture
async def losing(redis_url: str) -> AsyncIterator[LosingRedis]:
    opened = connect(RedisOptions(redis_url))
    opened.__class__ = LosingRedis
    yield opened  # type: ignore[misc]  # its class was changed above
    await opened.close()


@pytest.fixture
async def frontier(losing: LosingRedis) -> RedisWorkingSet:
    return await opened(losing)


LOSSES = [
    pytest.param(Unavailable("redis", "the answer was lost"), id="lost"),
    pytest.param(asyncio.CancelledError(), id="cancelled"),
]


@pytest.mark.parametrize("loss", LOSSES)
async def test_leases_of_a_lost_reply_are_returned_by_the_next_call(
    frontier: RedisWorkingSet, losing: LosingRedis, loss: BaseException
) -> None:
    """Else each lost answer would cost its groups the time of a lease."""
    await frontier.accept(SHARD, EPOCH, [accepted(1, "a.test"), accepted(2, "b.test")])
    losing.failure = loss
    with pytest.raises(type(loss)):
        await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    again = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    empty = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert sorted(lease.entry.group for lease in again.leases) == ["a.test", "b.test"]
    assert empty.leases == []
    assert (await frontier.stats(SHARD, EPOCH)).leased == 2


async def test_a_lost_reply_is_not_repeated_once_it_was_replaced(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    """Only what it named and still runs is given."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    losing.failure = Unavailable("redis", "the answer was lost")
    with pytest.raises(Unavailable):
        await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    [known] = await frontier.lookup(SHARD, EPOCH, [question(accepted(1))])
    assert known.entry is not None
    closing = EntryConclusion(known.entry, EntryDisposition.CLOSE, "news", accepted(1).fingerprint)
    await frontier.conclude(SHARD, EPOCH, [closing])

    assert (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases == []


async def test_a_swap_whose_reply_was_lost_is_repeated(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    swaps = [
        LeaseSwap(lease.lease_id, accepted(9, kind="robots").entry),
        LeaseSwap("nonsense", accepted(9).entry),
    ]
    losing.failure = Unavailable("redis", "the answer was lost")
    with pytest.raises(Unavailable):
        await frontier.swap(SHARD, EPOCH, swaps, lease_ms=LEASE_MS)

    robots, none = await frontier.swap(SHARD, EPOCH, swaps, lease_ms=LEASE_MS)

    assert robots is not None
    assert robots.entry.kind == "robots"
    assert robots.expires_at_ms == robots.issued_at_ms + LEASE_MS
    assert none is None
    assert (await frontier.stats(SHARD, EPOCH)).leased == 1


async def test_an_acceptance_whose_reply_was_lost_happens_once(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    """Even where its page was closed before the call was repeated."""
    await frontier.accept(SHARD, EPOCH, [accepted(2)])
    losing.failure = Unavailable("redis", "the answer was lost")
    with pytest.raises(Unavailable):
        await frontier.accept(SHARD, EPOCH, [accepted(1)])
    closing = EntryConclusion(accepted(1).entry, EntryDisposition.CLOSE, "news", accepted(1).fingerprint)
    other = RedisWorkingSet(losing, default_delay_ms=0)
    await other.conclude(SHARD, EPOCH, [closing])

    await frontier.accept(SHARD, EPOCH, [accepted(1)])

    assert await frontier.run_counts(SHARD, EPOCH) == {"news-1": RunEntryCounts(open=1, accepted=2)}


async def test_an_outcome_whose_reply_was_lost_is_repeated(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    freed = [EndedRequest(lease.lease_id, 0, "a.test", question(accepted(1)).entry_id)]
    losing.failure = Unavailable("redis", "the answer was lost")
    with pytest.raises(Unavailable):
        await frontier.end_requests(SHARD, EPOCH, freed)
    other = RedisWorkingSet(losing, default_delay_ms=0)
    await other.conclude(
        SHARD, EPOCH, [EntryConclusion(lease.entry, EntryDisposition.PIPELINE, "news", 1, lease.lease_id)]
    )

    assert await frontier.end_requests(SHARD, EPOCH, freed) == ["current"]


Call = Callable[[RedisWorkingSet], Awaitable[Any]]

CALLS: list[Any] = [
    pytest.param(lambda ws: ws.lookup(SHARD, EPOCH, []), id="look"),
    pytest.param(lambda ws: ws.accept(SHARD, EPOCH, [accepted(5)]), id="accept"),
    pytest.param(lambda ws: ws.release(SHARD, EPOCH, limit=9, lease_ms=9), id="release"),
    pytest.param(lambda ws: ws.swap(SHARD, EPOCH, [], lease_ms=9), id="swap"),
    pytest.param(lambda ws: ws.end_requests(SHARD, EPOCH, []), id="free"),
    pytest.param(lambda ws: ws.conclude(SHARD, EPOCH, []), id="conclude"),
    pytest.param(lambda ws: ws.set_host_groups(SHARD, EPOCH, []), id="set-groups"),
    pytest.param(lambda ws: ws.run_counts(SHARD, EPOCH), id="counts"),
    pytest.param(lambda ws: ws.stats(SHARD, EPOCH), id="figures"),
]

REPLACEMENTS = [
    pytest.param("run", "0" * 40, id="another-server"),
    pytest.param("layout", "0-ffffffff", id="another-version"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("field", "value"), REPLACEMENTS)
async def test_a_replaced_store_refuses_every_call(
    frontier: RedisWorkingSet, losing: LosingRedis, call: Call, field: str, value: str
) -> None:
    """A fail-over or a restart from an older snapshot looks whole and is not."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    await losing.command("HSET", FRONTIER_HEADER(SHARD), field, value)

    with pytest.raises(ShardNotReady):
        await call(frontier)

    assert not (await frontier.take_over(SHARD, EPOCH + 1)).is_ready


@pytest.mark.parametrize("call", CALLS)
async def test_a_store_that_came_back_older_refuses_every_call(
    frontier: RedisWorkingSet, losing: LosingRedis, call: Call
) -> None:
    """A split brain that ended, or a snapshot that was loaded: the same server, and not the same state."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    older = await losing.command("DUMP", FRONTIER_HEADER(SHARD))
    await frontier.accept(SHARD, EPOCH, [accepted(2)])
    await losing.command("RESTORE", FRONTIER_HEADER(SHARD), 0, older, "REPLACE")

    with pytest.raises(ShardNotReady, match="older"):
        await call(frontier)


async def test_a_store_that_came_back_older_can_be_rebuilt(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    """Its owner continues without a restart."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    await losing.command("HSET", FRONTIER_HEADER(SHARD), "call", 0)

    await frontier.take_over(SHARD, EPOCH)
    await frontier.begin_rebuild(SHARD, EPOCH)
    await frontier.load(SHARD, EPOCH, queued=[recorded(1)])
    await frontier.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    assert (await frontier.stats(SHARD, EPOCH)).queued == 1


async def test_neither_marks_nor_queries_succeed_on_a_replaced_store(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    await losing.command("HSET", FRONTIER_HEADER(SHARD), "run", "0" * 40)

    [mark] = await RedisLeaseMarks(losing).mark_started([(SHARD, lease.lease_id)], nonce="n", deadline_ms=1)
    answer = await RedisSeenLookup(losing).find_seen({(SHARD, "news"): [accepted(1).fingerprint]})

    assert mark.result is StartResult.GONE
    assert answer == {(SHARD, "news"): [False]}


async def test_fetchers_of_another_version_may_mark(frontier: RedisWorkingSet, losing: LosingRedis) -> None:
    """They read no entries; a rolling upgrade costs no fetch."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    layout = await losing.command("HGET", FRONTIER_HEADER(SHARD), "layout")
    await losing.command("HSET", FRONTIER_HEADER(SHARD), "layout", layout.split(b"-")[0] + b"-ffffffff")

    [mark] = await RedisLeaseMarks(losing).mark_started([(SHARD, lease.lease_id)], nonce="n", deadline_ms=1)

    assert mark.result is StartResult.STARTED


async def test_a_server_out_of_reach_is_unavailable() -> None:
    gone = connect(RedisOptions("redis://127.0.0.1:1", timeout_seconds=0.2))
    frontier = RedisWorkingSet(gone)

    with pytest.raises(Unavailable, match="redis"):
        await frontier.take_over(SHARD, EPOCH)
    with pytest.raises(Unavailable, match="redis"):
        await RedisLeaseMarks(gone).mark_started([(SHARD, "4-2-9")], nonce="n", deadline_ms=1)
    with pytest.raises(Unavailable, match="redis"):
        await RedisSeenLookup(gone).find_seen({(SHARD, "news"): [1]})
    await gone.close()


async def test_an_entry_whose_outcome_is_never_concluded_is_returned_again(
    frontier: RedisWorkingSet, losing: LosingRedis
) -> None:
    """The message was given up half-way; a minute later its lease counts as one that ran out."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    await RedisLeaseMarks(losing).mark_started([(SHARD, lease.lease_id)], nonce="n", deadline_ms=1)
    freed = EndedRequest(lease.lease_id, lease.issued_at_ms, "a.test", question(accepted(1)).entry_id)
    await frontier.end_requests(SHARD, EPOCH, [freed])
    early = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    await losing.command("HINCRBY", FRONTIER_HEADER(SHARD), "offset", 61_000)

    unaware = RedisWorkingSet(losing, default_delay_ms=0)  # of what time it was
    late = await unaware.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    again = await unaware.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    await unaware.conclude(
        SHARD, EPOCH, [EntryConclusion(lease.entry, EntryDisposition.QUEUE, "news", 1, lease.lease_id)]
    )
    queued = await unaware.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert early.expired == []
    assert [each.lease_id for each in late.expired] == [lease.lease_id]
    assert [each.lease_id for each in again.expired] == [lease.lease_id]
    assert (len(queued.leases), queued.expired) == (1, [])
