"""Metrics of insights."""

from __future__ import annotations

from strider.insights.adapters import InsightsMetrics, RetentionLossReporter
from strider.insights.adapters.consumer import RetentionGap
from strider.insights.adapters.metrics import BUSIEST, HOSTS, MAX_NAMED_HOSTS, OUTCOMES
from strider.insights.core import HostCounts
from strider.messaging.ports import TopicPartition
from strider.runtime.observability.metrics import LOSSES, LOST_MESSAGES, Metrics


def counts(requests: int, *, hour: int = 1) -> HostCounts:
    return HostCounts(total={}, hour=hour, this_hour={"fetched": requests}, hour_before={})


def named(metrics: Metrics) -> dict[str, float]:
    lines = [line for line in metrics.render().decode().splitlines() if line.startswith(BUSIEST.name + "{")]
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in lines}


async def test_labels_and_hosts_are_counted():
    metrics = Metrics()
    meter = InsightsMetrics(metrics, host_count=lambda: 3)

    meter.on_label("fetched")
    meter.on_label("fetched")
    await meter.update_gauges()

    assert metrics.value(OUTCOMES, "fetched") == 2
    assert metrics.value(HOSTS) == 3


async def test_only_a_few_hosts_are_labels():
    """A crawl meets millions of hosts, and each label stays in memory."""
    metrics = Metrics()
    meter = InsightsMetrics(metrics, host_count=lambda: 0)

    for number in range(1, 100):
        meter.on_host(f"h{number}.test", counts(number))
        await meter.update_gauges()

    assert named(metrics) == {f"h{number}.test": number for number in range(100 - MAX_NAMED_HOSTS, 100)}


async def test_a_new_hour_starts_without_busy_hosts():
    """Late events of the hour before change nothing."""
    metrics = Metrics()
    meter = InsightsMetrics(metrics, host_count=lambda: 0)
    meter.on_host("a.test", counts(50))
    await meter.update_gauges()

    meter.on_host("b.test", counts(1, hour=2))
    meter.on_host("a.test", counts(51))
    await meter.update_gauges()

    assert named(metrics) == {"b.test": 1.0}


def test_a_retention_loss_is_reported_except_for_a_group_that_never_read():
    """Nothing is lost silently, but a new group has missed nothing."""
    metrics = Metrics()
    losses = RetentionLossReporter(metrics)

    losses.report(RetentionGap(TopicPartition("t", 0), 5, 25))
    losses.report(RetentionGap(TopicPartition("t", 1), None, 25))

    assert (metrics.value(LOSSES, "t"), metrics.value(LOST_MESSAGES, "t")) == (1, 20)
