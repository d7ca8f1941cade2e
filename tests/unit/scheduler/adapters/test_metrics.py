"""Metrics of the scheduler, under the names of other crawlers."""

from __future__ import annotations

import pytest

from strider.frontier.models import ShardStats
from strider.runtime.observability.metrics import Metrics
from strider.scheduler.adapters.metrics import SchedulerMetrics


@pytest.mark.req("S3.14.5", "S3.14.6")
def test_denials_and_the_size_of_the_frontier_are_metrics() -> None:
    """What is parked is still to be fetched: a frontier must not look small because it is large."""
    metrics = Metrics(())
    meter = SchedulerMetrics(metrics)
    meter.count_decision("robots_denied", 3)
    meter.count_decision("accepted", 9)
    meter.set_fullness(
        4, ShardStats(5, leased=1, in_pipeline=2, host_groups=3, seen=9, now_ms=1, overflow=100, deferred=10)
    )
    meter.set_fullness(5, None)

    lines = metrics.render().decode().splitlines()
    assert "crawler_robots_denials_total 3.0" in lines
    assert [line for line in lines if line.startswith("crawler_frontier_size{")] == [
        'crawler_frontier_size{shard="4"} 115.0',
        'crawler_frontier_size{shard="5"} 0.0',
    ]
