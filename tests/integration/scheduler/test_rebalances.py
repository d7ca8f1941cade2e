"""Schedulers that come and go: a rebalance costs the shards that it moves, and no others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from strider.runtime.observability import log_events as runtime_events
from strider.scheduler import log_events
from tests.figures import record_figure

from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess
from .test_fencing import epochs
from .test_process import check, until_asked

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def processes(place: CrawlOnServers, tmp_path: Path) -> Iterator[list[SchedulerProcess]]:
    """Two schedulers; the second one is started by `start_second`."""
    with ExitStack() as running:
        found: list[SchedulerProcess] = []
        running.callback(lambda: [each.close() for each in found])
        found.append(SchedulerProcess(place.bootstrap, place.redis_url, tmp_path / "first.log"))
        yield found


def resumed(process: SchedulerProcess) -> int:
    return len(process.log_lines(log_events.SHARD_RESUMED.text))


@pytest.mark.fault("B3")
async def test_shards_that_stay_change_neither_epoch_nor_owner(
    place: CrawlOnServers, processes: list[SchedulerProcess], tmp_path: Path
) -> None:
    """A second scheduler joins in the middle of a crawl, and leaves again."""
    first = processes[0]
    await until_asked(place, 15)

    async def is_ready() -> bool:
        return first.shards_taken() == SHARDS

    await place.until(is_ready)
    before = await epochs(place)
    second = SchedulerProcess(place.bootstrap, place.redis_url, tmp_path / "second.log")
    processes.append(second)

    async def is_shared() -> bool:
        return second.shards_taken() == SHARDS // 2 and resumed(first) == SHARDS // 2

    await place.until(is_shared)
    shared = await epochs(place)
    await until_asked(place, 40)
    assert second.end(signal.SIGTERM) == 0

    async def is_alone() -> bool:
        return first.shards_taken() == SHARDS + SHARDS // 2 and resumed(first) == SHARDS

    await place.until(is_alone)
    alone = await epochs(place)
    await place.until_closed()

    check(place)
    record_figure(
        f"two rebalances of {SHARDS} shards: taken={first.shards_taken() + second.shards_taken() - SHARDS}"
    )
    moved = [number for number in range(SHARDS) if shared[number] != before[number]]
    assert len(moved) == SHARDS // 2
    assert [number for number in range(SHARDS) if alone[number] != shared[number]] == moved
    assert first.log_lines(runtime_events.SHARDS_NOT_CLOSED.text) == []
