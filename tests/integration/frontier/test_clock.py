"""The server's clock jumps by an hour: politeness, leases and waiting entries do not notice.

The header's offset is added to what the server shows, so changing it is what a jump of the clock is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from strider.frontier.models import EndedRequest, HostGroupState, Lease, StartResult
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.runtime.clocks import SystemClock
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.lua_files import LuaScript
from strider.storage.redis import Redis, RedisOptions, connect

from .shards import EPOCH, LEASE_MS, SHARD, accepted, opened, question

HOUR_MS = 3_600_000
ROUNDING_MS = 1
"""A clock is corrected by whole milliseconds."""
SLACK_MS = 1_500
"""How far a time may be off after a jump: what may pass unnoticed, and a slow machine."""

JUMPS = [pytest.param(HOUR_MS, id="forwards"), pytest.param(-HOUR_MS, id="back")]


@pytest.fixture
async def frontier(redis: Redis) -> RedisWorkingSet:
    frontier = await opened(redis)
    await frontier.stats(SHARD, EPOCH)
    return frontier


async def jump(redis: Redis, by_ms: int) -> None:
    await redis.command("HINCRBY", FRONTIER_HEADER(SHARD), "offset", by_ms)


async def release(frontier: RedisWorkingSet) -> list[Lease]:
    return list((await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases)


async def mark(redis: Redis, lease: Lease) -> StartResult:
    [answer] = await RedisLeaseMarks(redis).mark_started(
        [(SHARD, lease.lease_id)], nonce="n", deadline_ms=30_000
    )
    return answer.result


@pytest.mark.fault("F20", part="the clock of Redis")
@pytest.mark.parametrize("by_ms", JUMPS)
async def test_time_continues_where_it_was(frontier: RedisWorkingSet, redis: Redis, by_ms: int) -> None:
    before = (await frontier.stats(SHARD, EPOCH)).now_ms
    await jump(redis, by_ms)

    after = (await frontier.stats(SHARD, EPOCH)).now_ms

    assert 0 <= after - before < SLACK_MS


@pytest.mark.parametrize("by_ms", JUMPS)
async def test_a_resting_group_rests_as_long_as_it_would_have(
    frontier: RedisWorkingSet, redis: Redis, by_ms: int
) -> None:
    """Neither a burst nor a host that is never asked again."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    until_ms = (await frontier.stats(SHARD, EPOCH)).now_ms + 60_000
    await frontier.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", 0, blocked_until_ms=until_ms)])
    await jump(redis, by_ms)

    looked = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert looked.leases == []
    assert looked.next_due_ms == until_ms
    assert until_ms - looked.now_ms > 60_000 - SLACK_MS


@pytest.mark.parametrize("by_ms", JUMPS)
async def test_a_lease_lasts_as_long_as_it_would_have(
    frontier: RedisWorkingSet, redis: Redis, by_ms: int
) -> None:
    """An hour ahead it would run out while its request is under way; an hour back it would last an hour."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = await release(frontier)
    await jump(redis, by_ms)

    looked = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert looked.expired == []
    assert looked.next_due_ms == lease.expires_at_ms
    assert await mark(redis, lease) is StartResult.STARTED


@pytest.mark.parametrize("by_ms", JUMPS)
async def test_a_request_that_began_unnoticed_by_the_wrong_clock_is_put_right(
    frontier: RedisWorkingSet, redis: Redis, by_ms: int
) -> None:
    """A fetcher marks before the owner has looked; its lease must end when it should all the same."""
    await frontier.accept(SHARD, EPOCH, [accepted(1), accepted(2)])
    await frontier.set_host_groups(SHARD, EPOCH, [HostGroupState("a.test", 1_000)])
    [lease] = await release(frontier)
    if by_ms > 0:  # a lease that has run out by the wrong clock is not begun: nothing to put right
        await redis.command("HINCRBY", FRONTIER_HEADER(SHARD), "offset", by_ms)
        assert await mark(redis, lease) is StartResult.GONE
        await jump(redis, -by_ms)
    await jump(redis, 30_000 if by_ms > 0 else by_ms)
    assert await mark(redis, lease) is StartResult.STARTED

    looked = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert looked.leases == []
    assert looked.expired == []
    assert looked.next_due_ms is not None
    assert looked.next_due_ms - looked.now_ms == pytest.approx(35_000, abs=SLACK_MS)
    freed = EndedRequest(lease.lease_id, looked.now_ms, "a.test", question(accepted(1)).entry_id)
    await frontier.end_requests(SHARD, EPOCH, [freed])
    later = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    assert later.leases == []
    assert later.next_due_ms is not None
    assert later.next_due_ms - later.now_ms == pytest.approx(1_000, abs=SLACK_MS / 2)


async def test_a_clock_that_went_back_before_a_take_over_means_a_rebuild(
    frontier: RedisWorkingSet, redis: Redis
) -> None:
    """It is unknown how long the shard had no owner: what is in flight is waited for."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    before = (await frontier.stats(SHARD, EPOCH)).now_ms
    await jump(redis, -HOUR_MS)

    taken = await RedisWorkingSet(redis).take_over(SHARD, EPOCH + 1)

    assert not taken.is_ready
    assert taken.now_ms == pytest.approx(before, abs=SLACK_MS)


@pytest.mark.parametrize("by_ms", JUMPS)
async def test_time_continues_through_a_lost_store_and_its_rebuild(
    frontier: RedisWorkingSet, redis: Redis, by_ms: int
) -> None:
    """The log was written by the old clock: what it says must still mean what it did."""
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    await jump(redis, by_ms)
    before = (await frontier.stats(SHARD, EPOCH)).now_ms
    offset = int(await redis.command("HGET", FRONTIER_HEADER(SHARD), "offset"))
    assert abs(offset) < SLACK_MS
    await redis.command("DEL", FRONTIER_HEADER(SHARD))
    taken = await frontier.take_over(SHARD, EPOCH)
    await frontier.begin_rebuild(SHARD, EPOCH)
    await frontier.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    after = (await frontier.stats(SHARD, EPOCH)).now_ms

    assert -ROUNDING_MS <= taken.now_ms - before < SLACK_MS
    assert 0 <= after - before < SLACK_MS


class LateRedis(Redis):
    """Carries one call so slowly that by our clock it comes when it is long too late."""

    clock: LateClock

    async def run(
        self, script: LuaScript, *, keys: Sequence[str], args: Sequence[str | bytes | int] = ()
    ) -> Any:
        self.clock.behind_seconds = 0.0
        return await super().run(script, keys=keys, args=args)


class LateClock(SystemClock):
    """Stands behind until the call is on its way."""

    behind_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() - self.behind_seconds


async def test_a_call_that_comes_late_is_no_jump(redis_url: str) -> None:
    """A server that is only slow keeps its time, and the call is made again."""
    late = connect(RedisOptions(redis_url))
    late.__class__ = LateRedis
    assert isinstance(late, LateRedis)
    late.clock = LateClock()
    await opened(late)
    frontier = RedisWorkingSet(late, clock=late.clock)
    await frontier.take_over(SHARD, EPOCH)
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    late.clock.behind_seconds = 5.0

    leases = await release(frontier)

    assert len(leases) == 1
    assert await late.command("HGET", FRONTIER_HEADER(SHARD), "offset") in {None, b"0"}
    await late.close()
