"""Metrics: declared once, bounded, and what the loop counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from strider.runtime.clocks import SystemClock
from strider.runtime.observability import metrics as declared
from strider.runtime.observability.consumer_metrics import ConsumerMetrics
from strider.runtime.observability.metrics import OTHER, RUNTIME_METRICS, Metric, Metrics, metric_table
from strider.runtime.process.heartbeat import Heartbeat

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.req("S1.2.28")
def test_a_count_is_rendered_in_prometheus_format() -> None:
    metrics = Metrics()

    metrics.count(declared.MESSAGES, "echoes", "done")
    metrics.count(declared.MESSAGES, "echoes", "done", amount=2)
    metrics.set(declared.IN_FLIGHT, "tally", value=5)
    metrics.observe(declared.HANDLER_SECONDS, "echoes", value=0.002)

    text = metrics.render().decode()
    assert 'strider_messages_total{outcome="done",topic="echoes"} 3.0' in text
    assert 'strider_in_flight{group="tally"} 5.0' in text
    assert 'strider_handler_seconds_bucket{le="0.0025",topic="echoes"} 1.0' in text


def test_what_is_counted_between_two_renderings_is_shown_once() -> None:
    metrics = Metrics()

    for _ in range(3):
        metrics.count(declared.MESSAGES, "echoes", "done")
        metrics.render()
    metrics.count(declared.MESSAGES, "echoes", "done", amount=4)

    assert metrics.value(declared.MESSAGES, "echoes", "done") == 7
    assert 'strider_messages_total{outcome="done",topic="echoes"} 7.0' in metrics.render().decode()


def test_each_process_has_a_registry_of_its_own() -> None:
    """Several services may live in one process, and tests beside each other."""
    one, other = Metrics(), Metrics()

    one.count(declared.MESSAGES, "echoes", "done")

    assert other.value(declared.MESSAGES, "echoes", "done") is None


def test_labels_from_outside_cannot_fill_the_memory() -> None:
    seen = Metric("seen_total", "counter", "Things seen.", ("what",), max_series=3)
    metrics = Metrics([seen])

    for number in range(1000):
        metrics.count(seen, f"thing-{number}")

    assert metrics.value(seen, "thing-2") == 1
    assert metrics.value(seen, "thing-3") is None
    assert metrics.value(seen, OTHER) == 997
    assert len(metrics._series) == 3


def test_a_removed_series_frees_its_place() -> None:
    """Partitions come and go for months; their lag must not be shown by who has lost them."""
    lag = Metric("lag", "gauge", "Lag.", ("partition",), max_series=1)
    metrics = Metrics([lag])

    metrics.set(lag, "0", value=3)
    metrics.remove(lag, "0")
    metrics.remove(lag, "0")
    metrics.set(lag, "1", value=4)

    assert metrics.value(lag, "0") is None
    assert metrics.value(lag, "1") == 4


def test_one_name_is_declared_once() -> None:
    metrics = Metrics()

    with pytest.raises(ValueError, match="Duplicated"):
        metrics.declare(declared.MESSAGES)


def test_the_loop_is_counted_and_keeps_the_heart_beating() -> None:
    metrics, heartbeat = Metrics(), Heartbeat(SystemClock())
    meter = ConsumerMetrics(metrics, heartbeat, group="tally", clock=SystemClock())

    meter.handled("echoes", "counted", 0.01)
    meter.in_flight(7, 700, 2)
    meter.dead_lettered("echoes", "truncated")
    meter.lost("echoes", 3, 40)
    meter.lag("echoes", 3, 12)
    meter.paused("kafka", is_paused=True)
    meter.paused("kafka", is_paused=True)
    meter.rebalanced(4)
    meter.commit_failed("not_owned")
    meter.retried("kafka")

    values = {
        (metric.name, *labels): metrics.value(metric, *labels)
        for metric, labels in [
            (declared.MESSAGES, ("echoes", "counted")),
            (declared.IN_FLIGHT, ("tally",)),
            (declared.IN_FLIGHT_BYTES, ("tally",)),
            (declared.ACTIVE_WORKERS, ("tally",)),
            (declared.DEAD_LETTERS, ("echoes", "truncated")),
            (declared.LOSSES, ("echoes",)),
            (declared.LOST_MESSAGES, ("echoes",)),
            (declared.LAG, ("tally", "echoes", "3")),
            (declared.PAUSED, ("tally", "kafka")),
            (declared.PAUSES, ("kafka",)),
            (declared.REBALANCES, ("tally",)),
            (declared.COMMIT_FAILURES, ("tally", "not_owned")),
            (declared.RETRIES, ("kafka",)),
        ]
    }
    assert list(values.values()) == [1, 7, 700, 2, 1, 1, 40, 12, 1, 1, 1, 1, 1]
    assert heartbeat.consecutive_failures == 1
    assert heartbeat.last_success is not None


@pytest.mark.req("S2.1.3", "S2.5.2")
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda meter: meter.handled("echoes", "counted", 0.01), id="message-done"),
        pytest.param(lambda meter: meter.dead_lettered("echoes", "truncated"), id="message-given-up"),
        pytest.param(lambda meter: meter.rebalanced(4), id="rebalance"),
    ],
)
def test_each_action_of_the_loop_is_activity_for_the_watchdog(act: Callable[[ConsumerMetrics], None]) -> None:
    heartbeat = Heartbeat(SystemClock())
    meter = ConsumerMetrics(Metrics(), heartbeat, group="tally", clock=SystemClock())
    heartbeat.last_activity = 0.0

    act(meter)

    assert heartbeat.last_activity > 0


def test_a_partition_that_has_gone_shows_no_lag() -> None:
    metrics = Metrics()
    meter = ConsumerMetrics(metrics, Heartbeat(SystemClock()), group="tally", clock=SystemClock())

    meter.lag("echoes", 3, 12)
    meter.lag("echoes", 3, None)

    assert metrics.value(declared.LAG, "tally", "echoes", "3") is None


def test_the_documented_table_is_current() -> None:
    """Rendered from the declarations, the seed's names among them."""
    page = (ROOT / "docs/operations/processes.md").read_text(encoding="utf-8")

    assert metric_table() in page
    assert "crawler_active_workers" in {metric.name for metric in RUNTIME_METRICS}


def test_messages_that_are_given_up_are_no_successes() -> None:
    """The loop counts a message's end and its dead letter; together they are one failure."""
    heartbeat = Heartbeat(SystemClock())
    meter = ConsumerMetrics(Metrics(), heartbeat, group="tally", clock=SystemClock())

    for _ in range(50):
        meter.handled("echoes", "dead_lettered", 0.0)
        meter.dead_lettered("echoes", "bad_value")

    assert heartbeat.consecutive_failures == 50
