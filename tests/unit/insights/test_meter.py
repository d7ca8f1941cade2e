"""What the process's metrics say."""

from __future__ import annotations

from strider.insights.adapters import Losses, ProcessMeter
from strider.insights.adapters.commits import Taken
from strider.insights.adapters.meter import BUSIEST, HOSTS, MOST_NAMED, OUTCOMES
from strider.insights.core import HostCounts
from strider.messaging.ports import TopicPartition
from strider.runtime.observability.metrics import LOSSES, LOST_MESSAGES, Metrics


def counts(requests: int, *, hour: int = 1) -> HostCounts:
    return HostCounts(total={}, hour=hour, this_hour={"fetched": requests}, hour_before={})


def named(metrics: Metrics) -> dict[str, float]:
    lines = [line for line in metrics.render().decode().splitlines() if line.startswith(BUSIEST.name + "{")]
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in lines}


async def test_words_and_hosts_are_counted():
    metrics = Metrics()
    meter = ProcessMeter(metrics, known=lambda: 3)

    meter.word("fetched")
    meter.word("fetched")
    await meter.show()

    assert metrics.value(OUTCOMES, "fetched") == 2
    assert metrics.value(HOSTS) == 3


async def test_only_a_few_hosts_are_labels():
    """A crawl meets millions of hosts, and each label stays in memory."""
    metrics = Metrics()
    meter = ProcessMeter(metrics, known=lambda: 0)

    for number in range(1, 100):
        meter.host(f"h{number}.test", counts(number))
        await meter.show()

    assert named(metrics) == {f"h{number}.test": number for number in range(100 - MOST_NAMED, 100)}


async def test_a_new_hour_begins_with_nobody():
    """And what comes late of the hour before changes nothing."""
    metrics = Metrics()
    meter = ProcessMeter(metrics, known=lambda: 0)
    meter.host("a.test", counts(50))
    await meter.show()

    meter.host("b.test", counts(1, hour=2))
    meter.host("a.test", counts(51))
    await meter.show()

    assert named(metrics) == {"b.test": 1.0}


def test_what_retention_took_is_said_but_not_of_a_group_that_never_read():
    """Nothing is dropped silently; but whoever comes for the first time has missed nothing."""
    metrics = Metrics()
    losses = Losses(metrics)

    losses.tell(Taken(TopicPartition("t", 0), 5, 25))
    losses.tell(Taken(TopicPartition("t", 1), None, 25))

    assert (metrics.value(LOSSES, "t"), metrics.value(LOST_MESSAGES, "t")) == (1, 20)
