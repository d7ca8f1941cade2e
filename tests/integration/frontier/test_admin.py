"""What a person may do to shards, seen by their owner."""

from __future__ import annotations

import asyncio
import json

import pytest
from typer.testing import CliRunner

from strider.api.adapters import RedisLeaseRecovery
from strider.cli.commands.frontier import app
from strider.frontier.ports import ShardNotReady
from strider.frontier.redis.admin import ShardAdmin
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.storage.redis import Redis

from .shards import EPOCH, LEASE_MS, SHARD, accepted, opened, recorded


async def test_a_shard_that_must_be_rebuilt_refuses_its_owner(redis: Redis) -> None:
    frontier, tending = await opened(redis), ShardAdmin(redis)

    assert await tending.invalidate(SHARD)
    with pytest.raises(ShardNotReady, match="void"):
        await frontier.stats(SHARD, EPOCH)
    assert not (await frontier.take_over(SHARD, EPOCH)).is_ready
    await frontier.begin_rebuild(SHARD, EPOCH)
    await frontier.load(SHARD, EPOCH, queued=[recorded(1)])
    await frontier.report_progress(SHARD, EPOCH, 0.5)
    half = await tending.state(SHARD)
    await frontier.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)

    assert (half.state, half.share) == ("loading", 0.5)
    assert (await tending.state(SHARD)).state == "ready"


@pytest.mark.req("S3.19.28", part="requests that no fetcher started are given back on command")
async def test_only_requests_that_were_not_started_are_returned(redis: Redis) -> None:
    """A request that was begun may be under way: its host must not be asked beside it."""
    frontier, tending = await opened(redis), ShardAdmin(redis)
    await frontier.accept(SHARD, EPOCH, [accepted(1, "a.test"), accepted(2, "b.test")])
    begun, idle = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    await RedisLeaseMarks(redis).mark_started([(SHARD, begun.lease_id)], nonce="n", deadline_ms=30_000)

    early = await tending.expire_leases(SHARD, older_than_ms=LEASE_MS)
    late = await tending.expire_leases(SHARD, older_than_ms=0)
    release = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert (early, late) == (0, 1)
    assert [lease.lease_id for lease in release.expired] == [idle.lease_id]


@pytest.mark.req("S3.13.8")
async def test_the_api_returns_requests_that_were_not_started_in_any_shard(redis: Redis) -> None:
    """Shards that there are not, or not yet, have nothing to give back."""
    frontier, leases = await opened(redis), RedisLeaseRecovery(ShardAdmin(redis), shards=SHARD + 2)
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [idle] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases

    recovered = [await leases.recover(older_than_seconds=seconds) for seconds in (60, 0, 0)]
    release = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)

    assert recovered == [0, 1, 0]
    assert [lease.lease_id for lease in release.expired] == [idle.lease_id]


async def test_the_command_line_shows_the_state_of_shards(
    redis: Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened(redis)
    monkeypatch.setenv("REDIS_URL", redis_url)

    listed = await _invoke("list", "--shard", str(SHARD))
    late = await _invoke("rebuild", "--shard", str(SHARD), "--wait", "1s", "--yes")
    missing = await _invoke("list", "--shard", "99")
    told = await _invoke("list", "--shard", str(SHARD), "--json")
    absent = await _invoke("rebuild", "--shards", "99", "--shard", "77", "--wait", "0", "--yes")

    assert listed[0] == 0
    assert listed[1].splitlines()[1].split()[:5] == [str(SHARD), "ready", "0", "0", f"{EPOCH:x}"]
    assert late[0] == 1  # it has no owner
    assert missing[0] == 2
    assert [(state["shard"], state["epoch"]) for state in json.loads(told[1])] == [(SHARD, EPOCH)]
    assert (absent[0], "shards 77 have no working set yet" in absent[1]) == (1, True)


async def _invoke(*words: str) -> tuple[int, str]:
    result = await asyncio.to_thread(CliRunner().invoke, app, list(words))
    return result.exit_code, result.output
