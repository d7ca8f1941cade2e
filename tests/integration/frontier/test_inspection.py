"""Where entries are between two of their records, as read by a process that owns no shard."""

from __future__ import annotations

import pytest

from strider.frontier.redis.inspection import OutstandingRequests, ShardInspector
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.storage.redis import Redis

from .shards import EPOCH, LEASE_MS, SHARD, accepted, opened, question


@pytest.mark.req("S4.12.10", "S4.12.11")
async def test_requests_on_the_bus_and_at_fetchers_are_counted_apart(redis: Redis) -> None:
    """By entry and by run; robots.txt is no entry's request, and what was never taken is nowhere."""
    frontier, glance = await opened(redis), ShardInspector(redis)
    entries = [accepted(number, f"{name}.test") for number, name in enumerate("abcd")]
    names = [question(each).entry_id for each in (*entries, accepted(9, "e.test"))]
    await frontier.accept(SHARD, EPOCH, entries[:3])
    issued, begun, *_ = (await frontier.release(SHARD, EPOCH, limit=2, lease_ms=LEASE_MS)).leases
    await RedisLeaseMarks(redis).mark_started([(SHARD, begun.lease_id)], nonce="n", deadline_ms=30_000)
    await frontier.accept(SHARD, EPOCH, entries[3:])

    places = dict(zip(names, await glance.locations(SHARD, names), strict=True))
    requests = await glance.outstanding_requests([SHARD, SHARD + 1])

    where = {lease.entry.url_key: word for lease, word in ((issued, "issued"), (begun, "started"))}
    expected = [where.get(each.entry.url_key, "waiting") for each in entries]
    assert list(places.values()) == [*expected, ""]
    assert requests == {"news-1": OutstandingRequests(issued=1, started=1)}


async def test_a_group_without_live_state_has_the_delay_that_its_reader_knows(redis: Redis) -> None:
    """A group with a queue has its own, here that of its working set."""
    frontier, inspector = await opened(redis), ShardInspector(redis)
    await frontier.accept(SHARD, EPOCH, [accepted(1, "busy.test")])

    groups = [
        await inspector.host_group(SHARD, name, default_delay_ms=5_000) for name in ("busy.test", "idle.test")
    ]

    assert [(group.delay_ms, group.queued) for group in groups if group] == [(0, 1), (5_000, 0)]
