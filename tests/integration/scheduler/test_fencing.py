"""Fencing: a scheduler frozen past its session wakes up after its shards were taken over."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from strider.contracts.entry_states import is_allowed_transition
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.frontier.redis.admin import ShardAdmin
from strider.scheduler import log_events
from tests.figures import record_figure
from tests.processes.broker import Broker

from .redis_monitor import RedisCallLog, monitored
from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess
from .test_process import check, until_asked


@pytest.fixture
async def broker(kafka_bootstrap: str, place: CrawlOnServers) -> AsyncIterator[Broker]:
    """Open once the topics are there."""
    broker = Broker(kafka_bootstrap, shards=SHARDS)
    await broker.open(FRONTIER, HOSTS)
    yield broker
    await broker.close()


FROZEN_SECONDS = 12.0
"""Twice the session; longer than a request with its margin, so that what was under way runs out meanwhile."""


async def epochs(place: CrawlOnServers) -> list[int]:
    tending = ShardAdmin(place.redis)
    return [(await tending.state(number)).epoch for number in range(SHARDS)]


@pytest.mark.fault("F3", "F29", part="a scheduler")
@pytest.mark.req("S5.2.2", "S1.2.20")
@pytest.mark.req("S5.2.1", part="the delay between requests, over a kill, a takeover and an emptied Redis")
async def test_a_zombie_writes_nothing(place: CrawlOnServers, broker: Broker, tmp_path: Path) -> None:
    """Frozen with all it had in flight, replaced, woken: what it says then changes nothing anywhere."""
    zombie = SchedulerProcess(place.bootstrap, place.redis_url, tmp_path / "zombie.log")
    heir = None
    began = {topic.name: await broker.ends(topic) for topic in (FRONTIER, HOSTS)}
    try:
        await until_asked(place, 20)
        zombie.signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        before = await epochs(place)
        # Comes to a process that does not run: it lies in its sockets, and is handled when it wakes.
        await place.pipeline.discover(sorted(place.web.expected()[0]), page=place.web.starts[0])
        heir = SchedulerProcess(place.bootstrap, place.redis_url, tmp_path / "heir.log")

        async def is_replaced() -> bool:
            now = await epochs(place)
            is_late = time.monotonic() - frozen_at > FROZEN_SECONDS
            return is_late and all(mine > theirs for mine, theirs in zip(now, before, strict=True))

        await place.until(is_replaced)
        after = await epochs(place)
        async with monitored(place.redis_url) as account:
            zombie.signal(signal.SIGCONT)
            await place.until_closed()
        check(place)
        now = await epochs(place)
        assert all(late >= early for late, early in zip(now, after, strict=True))
        assert heir.log_lines(log_events.SHARD_TAKEN_OVER.text)
    finally:
        zombie.close()
        if heir is not None:
            heir.close()
    tell(account, after)
    assert [call for call in account.older(after) if call.writes] == []
    assert account.older(after), "it did not even try"
    assert any(call.writes for call in account.calls), "what scripts do was not heard"
    await check_truth(broker, began, job_id=place.name)


def tell(account: RedisCallLog, after: Sequence[int]) -> None:
    """Record what the zombie tried."""
    tried = account.older(after)
    written = sum(len(call.writes) for call in tried)
    record_figure(f"calls={len(tried)} of {len(account.calls)} redis-writes={written}")


async def check_truth(broker: Broker, began: dict[str, dict[int, int]], *, job_id: str) -> None:
    """No record of an owner stands behind one of its heir, and each of this job follows the one before it."""
    hosts = await broker.read(HOSTS, began[HOSTS.name])
    by_shard: dict[int, list[int]] = {}
    for record, event in zip(hosts, broker.decode(HOSTS, hosts), strict=True):
        by_shard.setdefault(record.partition, []).append(event.epoch)
    stale = [one for told in by_shard.values() for one in pairwise(told) if one[1] < one[0]]
    last: dict[bytes, EntryRecorded] = {}
    wrong = []
    entries = [record for record in await broker.read(FRONTIER, began[FRONTIER.name]) if record.value]
    for record, entry in zip(entries, broker.decode(FRONTIER, entries), strict=True):
        if entry.job_id != job_id:
            continue  # of an earlier test: its first record lies before this one's
        if not is_allowed_transition(last.get(record.key), entry):
            wrong.append((last.get(record.key), entry))
        last[record.key] = entry
    assert last, "nothing of this job was read"
    assert (stale, wrong) == ([], [])
