"""A frontier shard on a server, and pages to fill it with."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.constants import NO_QUEUE_LIMITS
from strider.frontier.models import AcceptedEntry, EntryLookup, QueueLimits, SeenEntry
from strider.frontier.rebuild_records import RecordedEntry
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.storage.keys import FRONTIER_HEADER
from strider.storage.redis import Redis

SHARD, EPOCH = 4, 2
LEASE_MS = 60_000


def accepted(number: int, group: str = "a.test", **more: Any) -> AcceptedEntry:
    """Make up a page of the usual size; the same number is the same URL."""
    url = f"https://{group}/articles/2026/05/some-readable-title-{number}.html"
    key = sha256(url.encode()).hexdigest()
    values: dict[str, Any] = {
        "updated_at_ms": 1_795_018_180_635,
        "referrer": f"https://{group}/articles/2026/index.html",
        **more,
    }
    spec = "0" * 64
    entry = EntryRecorded("news", key, url, group, "pending", "news-1", spec, 0, **values)
    return AcceptedEntry(entry, "news", key_fingerprint(key))


def recorded(number: int) -> RecordedEntry:
    """Make it up as its record has it."""
    return RecordedEntry.of(accepted(number).entry)


def remembered(number: int, seen_at_ms: int) -> SeenEntry:
    """Make up a page that is closed."""
    page = accepted(number)
    return SeenEntry(question(page).entry_id, page.seen_scope, page.fingerprint, seen_at_ms)


def question(asked: AcceptedEntry) -> EntryLookup:
    return EntryLookup(entry_id(asked.entry.job_id, asked.entry.url_key), asked.seen_scope, asked.fingerprint)


async def opened(redis: Redis, room: QueueLimits = NO_QUEUE_LIMITS) -> RedisWorkingSet:
    """Own an empty shard that is ready."""
    await redis.command("DEL", FRONTIER_HEADER(SHARD))  # a server of the environment is not emptied
    working_set = RedisWorkingSet(redis, default_delay_ms=0, limits=room)
    await working_set.take_over(SHARD, EPOCH)
    await working_set.begin_rebuild(SHARD, EPOCH)
    await working_set.finish_rebuild(SHARD, EPOCH, groups=[], sequence=0)
    return working_set
