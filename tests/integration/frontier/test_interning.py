"""Numbers of runs and states in a real Redis: the cache of a scheduler has a bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.frontier.redis import id_interning
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.storage.redis import Redis
from tests.contract.working_set.implementations.frontiers import accepted, page

SHARD, EPOCH = 0, 1
RUNS = id_interning.MAX_CACHED_TEXTS


@pytest.mark.fault("B5", part="numbers of made-up runs")
async def test_made_up_runs_do_not_fill_the_cache_of_a_shard(redis: Redis) -> None:
    """Each run has two texts; entries whose numbers are not cached any more are read as they were written."""
    working_set = RedisWorkingSet(redis, default_delay_ms=0)
    await working_set.take_over(SHARD, EPOCH)
    await working_set.begin_rebuild(SHARD, EPOCH)
    await working_set.finish_rebuild(SHARD, EPOCH, groups=(), sequence=0)
    entries = [replace(page(str(n), f"h{n}.test"), execution_id=f"raw.{n}") for n in range(RUNS)]
    for first in range(0, RUNS, 512):
        await working_set.accept(SHARD, EPOCH, [accepted(each) for each in entries[first : first + 512]])

    found: dict[str, str] = {}
    while leases := (await working_set.release(SHARD, EPOCH, limit=500, lease_ms=60_000, reserved=0)).leases:
        found |= {lease.entry.url_key: lease.entry.execution_id for lease in leases}

    cached = working_set._interning._interned[SHARD]
    assert len(cached.numbers) <= RUNS + 2 * 512
    assert found == {each.url_key: each.execution_id for each in entries}
