"""When insights counts as stalled, on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from strider.insights.adapters import FaustMonitor
from strider.insights.adapters.monitor import CHECK_INTERVAL_SECONDS, FaustStalled
from strider.messaging.ports import TopicPartition
from strider.runtime.observability.metrics import LAG, Metrics
from strider.runtime.process.heartbeat import Heartbeat

PLACE = TopicPartition("numbers", 0)
THRESHOLD_SECONDS = 6 * CHECK_INTERVAL_SECONDS
ENOUGH_LOOKS = 20


class Enough(Exception):
    """Raised after enough checks without a finding."""


class World:
    """A fake of the monitored application and of the clock."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.heartbeat = Heartbeat(self)
        self.looks = 0
        self.waiting: Mapping[TopicPartition, int] = {PLACE: 5}
        self.joining = False
        self.progress = 0
        self.counts_on = False
        self.outside: list[str] = []
        self.is_silent = False

    async def watch(self) -> None:
        await self.watch_made().run()

    def watch_made(self) -> FaustMonitor:
        process: Any = SimpleNamespace(
            metrics=self.metrics,
            clock=self,
            heartbeat=self.heartbeat,
            readiness=SimpleNamespace(exempt_reasons=lambda: self.outside),
            settings=SimpleNamespace(run=SimpleNamespace(stall_threshold_seconds=THRESHOLD_SECONDS)),
        )
        return FaustMonitor(self, process, topics=["numbers"])

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.monotonic(), UTC)

    def monotonic(self) -> float:
        return 1000.0 + CHECK_INTERVAL_SECONDS * getattr(self, "looks", 0)

    async def sleep(self, seconds: float) -> None:
        assert seconds == CHECK_INTERVAL_SECONDS
        self.looks += 1
        if self.counts_on:
            self.heartbeat.beat()
        if self.looks > ENOUGH_LOOKS:
            raise Enough

    def waiting_for(self) -> Iterable[str]:
        return ["joining"] if self.joining else []

    def remaining_records(self) -> int:
        return self.progress * self.looks

    async def lag(self, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
        assert list(topics) == ["numbers"]
        if self.is_silent:
            raise ConnectionError("nobody answers")
        return self.waiting


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="messages-wait"),
        pytest.param({"is_silent": True}, id="unknown-backlog"),
        pytest.param({"waiting": {}, "joining": True}, id="the-group-is-never-joined"),
    ],
)
async def test_work_without_progress_is_a_stall(change):
    """The supervisor of the process restarts it."""
    world = World()
    for name, value in change.items():
        setattr(world, name, value)

    with pytest.raises(FaustStalled):
        await world.watch()

    assert world.looks == THRESHOLD_SECONDS / CHECK_INTERVAL_SECONDS


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"waiting": {PLACE: 0}}, id="nothing-waits"),
        pytest.param({"counts_on": True}, id="messages-are-counted"),
        pytest.param({"joining": True, "progress": 1}, id="the-table-is-being-read"),
        pytest.param({"outside": ["kafka: no answer"]}, id="the-broker-is-away"),
    ],
)
async def test_a_pause_with_a_reason_is_no_stall(change):
    world = World()
    for name, value in change.items():
        setattr(world, name, value)

    with pytest.raises(Enough):
        await world.watch()


async def test_the_lag_is_reported_while_the_partition_is_assigned():
    """Two processes that report one partition would add up."""
    world = World()
    world.counts_on = True
    watch = world.watch_made()
    with pytest.raises(Enough):
        await watch.run()
    assert world.metrics.value(LAG, "insights", "numbers", "0") == 5

    world.waiting, world.looks = {}, 0
    with pytest.raises(Enough):
        await watch.run()

    assert world.metrics.value(LAG, "insights", "numbers", "0") is None
