"""How much room a frontier takes on a server, and what happens when there is none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256

import pytest

from strider.frontier.constants import VISITED_TTL_MS
from strider.frontier.models import (
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    EntryLookupResult,
    HostGroupState,
    LogPassPart,
    LookupStatus,
    QueueLimits,
    RefusedFingerprint,
    StartResult,
)
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.frontier.redis.seen import RedisSeenLookup
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.messaging.errors import Unavailable
from strider.storage.keys import ADAPTIVE_COPIES, FRONTIER_HEADER, KEY_FAMILIES
from strider.storage.redis import Redis
from strider.testing.stack import ServerStack

from .shards import EPOCH, LEASE_MS, SHARD, accepted, opened, question, remembered


@pytest.fixture
async def frontier(redis: Redis) -> RedisWorkingSet:
    return await opened(redis)


LOSSES = [
    pytest.param(Unavailable("redis", "the answer was lost"), id="lost"),
    pytest.param(asyncio.CancelledError(), id="cancelled"),
]


async def test_a_full_server_accepts_nothing_and_continues_with_the_rest(
    frontier: RedisWorkingSet, redis: Redis, stack: ServerStack
) -> None:
    """Settling and releasing give room back."""
    if not stack.redis.is_ours:
        pytest.skip("somebody else's server is not filled up")
    await frontier.accept(SHARD, EPOCH, [accepted(1), accepted(2)])
    await redis.command("CONFIG", "SET", "maxmemory", "1mb")
    try:
        with pytest.raises(Unavailable):
            await frontier.accept(SHARD, EPOCH, [accepted(3)])
        [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
        [mark] = await RedisLeaseMarks(redis).mark_started(
            [(SHARD, lease.lease_id)], nonce="n", deadline_ms=1
        )
        freed = [EndedRequest(lease.lease_id, 0, "a.test", question(accepted(1)).entry_id)]
        endings = await frontier.end_requests(SHARD, EPOCH, freed)
        credis = EntryConclusion(
            lease.entry, EntryDisposition.CLOSE, "news", accepted(1).fingerprint, lease.lease_id
        )
        await frontier.conclude(SHARD, EPOCH, [credis])
        figures = await frontier.stats(SHARD, EPOCH)
    finally:
        await redis.command("CONFIG", "SET", "maxmemory", "0")

    assert (mark.result, endings) == (StartResult.STARTED, ["current"])
    assert (figures.queued, figures.leased) == (1, 0)


@asynccontextmanager
async def filled(redis: Redis, percent: int) -> AsyncIterator[None]:
    """Limit the server so that it is about so full."""
    await redis.command("CONFIG", "SET", "maxmemory", str(await _used_memory(redis) * 100 // percent))
    try:
        yield
    finally:
        await redis.command("CONFIG", "SET", "maxmemory", "0")


async def test_on_a_nearly_full_server_entries_are_accepted_into_the_log_only(
    redis: Redis, stack: ServerStack
) -> None:
    """The crawl continues to discover, while what is queued is worked off; then they are queued."""
    if not stack.redis.is_ours:
        pytest.skip("somebody else's server is not filled up")
    frontier = await opened(redis, QueueLimits(memory_percent=80))
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    entries = [accepted(2).entry, accepted(3).entry]

    async with filled(redis, percent=88):
        await frontier.accept(SHARD, EPOCH, [accepted(2), accepted(3)])
        told = await frontier.stats(SHARD, EPOCH)
        [known] = await frontier.lookup(SHARD, EPOCH, [question(accepted(2))])
        refused = await frontier.refill(SHARD, EPOCH, entries, part=LogPassPart.WHOLE)
        [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
        closed = EntryConclusion(
            lease.entry, EntryDisposition.CLOSE, "news", accepted(1).fingerprint, lease.lease_id
        )
        await frontier.conclude(SHARD, EPOCH, [closed])
    refilled = await frontier.refill(SHARD, EPOCH, entries, part=LogPassPart.WHOLE)
    after = await frontier.stats(SHARD, EPOCH)

    assert (told.queued, told.overflow, told.refillable_groups) == (1, 2, 1)
    assert 80 <= told.memory_percent < 95
    assert known == EntryLookupResult(LookupStatus.OPEN)
    assert (refused, refilled) == (0, 2)
    assert (after.queued, after.overflow, after.refillable_groups, after.memory_percent) == (2, 0, 0, 0)


async def test_on_a_server_that_keeps_filling_up_what_is_queued_last_is_parked(
    redis: Redis, stack: ServerStack
) -> None:
    """What is parked takes room too: without this it would fill the server, and nothing more be accepted."""
    if not stack.redis.is_ours:
        pytest.skip("somebody else's server is not filled up")
    frontier = await opened(redis, QueueLimits(memory_percent=80, minimum_entries=6))
    pages = [accepted(number, f"{number % 2}.test") for number in range(16)]
    await frontier.accept(SHARD, EPOCH, pages)

    async with filled(redis, percent=93):
        await frontier.accept(SHARD, EPOCH, [])
        halved = await frontier.stats(SHARD, EPOCH)
        for _ in range(3):
            await frontier.accept(SHARD, EPOCH, [])
        least = await frontier.stats(SHARD, EPOCH)
        leases = (await frontier.release(SHARD, EPOCH, limit=99, lease_ms=LEASE_MS)).leases
    opened_again = await frontier.refill(SHARD, EPOCH, [each.entry for each in pages], part=LogPassPart.WHOLE)
    counts = await frontier.run_counts(SHARD, EPOCH)

    assert (halved.queued, halved.overflow, halved.refillable_groups) == (8, 8, 2)
    assert (least.queued, least.overflow) == (6, 10)
    first = {each.entry.url for each in pages[:6]}
    assert {lease.entry.url for lease in leases} <= first
    assert opened_again == 10
    assert (counts["news-1"].open, counts["news-1"].accepted) == (16, 16)


async def test_what_an_outcome_may_still_come_for_is_not_parked(redis: Redis, stack: ServerStack) -> None:
    """An outcome whose lease is gone counts where its entry is queued: it would be fetched once more."""
    if not stack.redis.is_ours:
        pytest.skip("somebody else's server is not filled up")
    frontier = await opened(redis, QueueLimits(memory_percent=80))
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=1, lease_ms=0)).leases
    [over] = (await frontier.release(SHARD, EPOCH, limit=1, lease_ms=0)).expired
    again = EntryConclusion(
        over.entry, EntryDisposition.QUEUE, "news", accepted(1).fingerprint, over.lease_id
    )
    await frontier.conclude(SHARD, EPOCH, [again])

    async with filled(redis, percent=93):
        await frontier.accept(SHARD, EPOCH, [])
        figures = await frontier.stats(SHARD, EPOCH)
    freed = [EndedRequest(lease.lease_id, 0, "a.test", question(accepted(1)).entry_id)]

    assert (figures.queued, figures.overflow) == (1, 0)
    assert await frontier.end_requests(SHARD, EPOCH, freed) == ["current"]


async def test_on_a_full_server_the_older_memory_of_what_was_seen_goes_first(
    redis: Redis, stack: ServerStack
) -> None:
    """A known link that counts as new costs a fetch; a frontier that stands costs the crawl."""
    if not stack.redis.is_ours:
        pytest.skip("somebody else's server is not filled up")
    frontier = await opened(redis, QueueLimits(memory_percent=80))
    now_ms = (await frontier.stats(SHARD, EPOCH)).now_ms
    await frontier.begin_rebuild(SHARD, EPOCH)
    old, new = remembered(1, now_ms - VISITED_TTL_MS), remembered(2, now_ms)
    await frontier.load(SHARD, EPOCH, seen_entries=[old, new])
    await frontier.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)
    before = (await frontier.stats(SHARD, EPOCH)).seen

    async with filled(redis, percent=97):
        await frontier.accept(SHARD, EPOCH, [], refused=[RefusedFingerprint("news", 3)])

    known = await frontier.lookup(SHARD, EPOCH, [question(accepted(1)), question(accepted(2))])
    assert before == 2
    assert [each.status for each in known] == [LookupStatus.UNKNOWN, LookupStatus.SEEN]


async def test_every_key_is_declared_and_only_what_was_seen_expires(
    redis: Redis,
) -> None:
    """Scripts spell keys themselves; an undeclared one would have no owner and no expiry."""
    frontier = await opened(redis, QueueLimits(entries_per_group=1))
    now_ms = (await frontier.stats(SHARD, EPOCH)).now_ms
    await frontier.accept(SHARD, EPOCH, [accepted(6, "parked.test"), accepted(7, "parked.test")])
    await frontier.accept(
        SHARD,
        EPOCH,
        [accepted(1, seed_token="s/0/1"), accepted(2), accepted(3, "b.test", due_at_ms=now_ms + LEASE_MS)],
    )
    await frontier.accept(SHARD, EPOCH, [accepted(4, "c.test"), accepted(5, "d.test", priority=3)])
    await frontier.release(SHARD, EPOCH, limit=1, lease_ms=0)
    await frontier.release(SHARD, EPOCH, limit=1, lease_ms=LEASE_MS)

    patterns = {
        re.compile(re.sub(r"<[a-z]+>", "[^{}]+", re.escape(family.pattern))): family
        for family in KEY_FAMILIES
        if (family.owner, family.entity) == ("scheduler", "shard") and family is not ADAPTIVE_COPIES
    }
    found = set()
    for key in await redis.command("KEYS", f"strider:shard:{{{SHARD}}}:*"):
        [family] = [family for pattern, family in patterns.items() if pattern.fullmatch(key.decode())]
        assert (await redis.command("PTTL", key) > 0) == (family.lifetime is not None), key
        found.add(family)
    assert found == {*patterns.values()}


@pytest.mark.req("S0.1.7")
@pytest.mark.req("S3.20.6", part="seven days by default; no setting")
async def test_what_was_seen_expires_between_one_week_and_two(
    frontier: RedisWorkingSet, redis: Redis
) -> None:
    """With nothing set, memory of what was seen is bounded by itself: two generations of seven days."""
    await frontier.accept(SHARD, EPOCH, [], refused=[RefusedFingerprint("news", 1)])

    keys = await redis.command("KEYS", f"strider:shard:{{{SHARD}}}:seen:*")
    lifetimes = [timedelta(milliseconds=await redis.command("PTTL", key)) for key in keys]

    assert lifetimes
    assert all(timedelta(days=7) < each <= timedelta(days=14) for each in lifetimes)


@pytest.mark.req("S0.1.1", part="the services, not `strider crawl`")
async def test_what_was_seen_takes_ten_bytes_a_url(frontier: RedisWorkingSet, redis: Redis) -> None:
    """Sets of integers stay packed because their number grows with what they hold."""
    count = 40_000
    fingerprints = [int(sha256(b"%d" % number).hexdigest()[:16], 16) for number in range(count)]
    for first in range(0, count, 1_000):
        seen = [RefusedFingerprint("news", each) for each in fingerprints[first : first + 1_000]]
        await frontier.accept(SHARD, EPOCH, [], refused=seen)

    keys = await redis.command("KEYS", f"strider:shard:{{{SHARD}}}:seen:*")
    encodings = {await redis.command("OBJECT", "ENCODING", key) for key in keys}
    sizes = [await redis.command("MEMORY", "USAGE", key) for key in keys]
    answer = await RedisSeenLookup(redis).find_seen({(SHARD, "news"): fingerprints})

    assert encodings == {b"intset"}
    assert sum(sizes) / count <= 10
    assert all(answer[SHARD, "news"])
    assert (await frontier.stats(SHARD, EPOCH)).seen == count


async def test_a_queued_entry_takes_three_hundred_bytes(frontier: RedisWorkingSet, redis: Redis) -> None:
    """With its places in queue and seen-set, and its share of its group."""
    await frontier.accept(
        SHARD, EPOCH, [accepted(number, f"www.host{number % 50}.test") for number in range(500)]
    )
    before = await _used_memory(redis)
    count = 16_000

    for first in range(500, 500 + count, 800):
        part = [accepted(number, f"www.host{number % 50}.test") for number in range(first, first + 800)]
        await frontier.accept(SHARD, EPOCH, part)

    assert (await _used_memory(redis) - before) / count <= 300


async def test_a_large_shard_is_dropped_whole(frontier: RedisWorkingSet, redis: Redis) -> None:
    """In pieces, so that the server answers others meanwhile."""
    groups = [HostGroupState(f"h{number}.test", 0) for number in range(4_500)]
    await frontier.set_host_groups(SHARD, EPOCH, groups)
    await frontier.accept(SHARD, EPOCH, [accepted(1, f"h{number}.test") for number in range(0, 4_500, 9)])
    for number in range(3):
        seen = [RefusedFingerprint(f"scope-{number}", fingerprint * 10**15) for fingerprint in range(900)]
        await frontier.accept(SHARD, EPOCH, [], refused=seen)

    await frontier.begin_rebuild(SHARD, EPOCH)

    assert await redis.command("KEYS", f"strider:shard:{{{SHARD}}}:*") == [FRONTIER_HEADER(SHARD).encode()]


async def _used_memory(redis: Redis) -> int:
    answer = await redis.command("INFO", "memory")
    return int(answer["used_memory"])
