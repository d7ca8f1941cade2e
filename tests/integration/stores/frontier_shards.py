"""A frontier shard on a server, and pages to fill it with."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.stores.frontier.ports import Accepted, Question, Recorded, Remembered, Room
from strider.stores.frontier.redis_workingset import RedisWorkingSet
from strider.stores.frontier.rules import UNLIMITED
from strider.stores.keys import FRONTIER_HEADER
from strider.stores.redis import Redis

SHARD, EPOCH = 4, 2
LEASE_MS = 60_000


def accepted(number: int, group: str = "a.test", **more: Any) -> Accepted:
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
    return Accepted(entry, "news", key_fingerprint(key))


def recorded(number: int) -> Recorded:
    """Make it up as its record has it."""
    return Recorded.of(accepted(number).entry)


def remembered(number: int, seen_at_ms: int) -> Remembered:
    """Make up a page that is closed."""
    page = accepted(number)
    return Remembered(question(page).entry_id, page.seen_scope, page.fingerprint, seen_at_ms)


def question(asked: Accepted) -> Question:
    return Question(entry_id(asked.entry.job_id, asked.entry.url_key), asked.seen_scope, asked.fingerprint)


async def opened(redis: Redis, room: Room = UNLIMITED) -> RedisWorkingSet:
    """Own an empty shard that is ready."""
    await redis.command("DEL", FRONTIER_HEADER(SHARD))  # a server of the environment is not emptied
    working_set = RedisWorkingSet(redis, default_delay_ms=0, room=room)
    await working_set.take(SHARD, EPOCH)
    await working_set.begin(SHARD, EPOCH)
    await working_set.ready(SHARD, EPOCH, groups=[], sequence=0)
    return working_set
