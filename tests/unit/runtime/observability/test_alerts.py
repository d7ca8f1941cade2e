"""Alerts of metrics, and the rules for Prometheus that are rendered from them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from strider.runtime.observability.metrics import RUNTIME_METRICS, Alert, Metric, Metrics

ROOT = Path(__file__).parents[4]
SAMPLES = re.compile(r"\b(?:strider|crawler|kafka)_\w+")


@pytest.fixture(scope="module")
def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    (group,) = document["groups"]
    return list(group["rules"])


def _declared() -> list[Metric]:
    """Return the metrics of every process and of every service, as the renderer finds them."""
    found = importlib.util.spec_from_file_location("metric_pages", ROOT / "tools" / "metric_pages.py")
    assert found is not None
    assert found.loader is not None
    pages = importlib.util.module_from_spec(found)
    found.loader.exec_module(pages)
    return [*RUNTIME_METRICS, *(each for metrics in pages.service_metrics().values() for each in metrics)]


def _served_names(metric: Metric) -> set[str]:
    metrics = Metrics((metric,))
    labels = ["x"] * len(metric.labels)
    if metric.kind == "counter":
        metrics.count(metric, *labels)
    elif metric.kind == "gauge":
        metrics.set(metric, *labels, value=1)
    return {line.partition("{")[0].partition(" ")[0] for line in metrics.render().decode().splitlines()}


def test_every_alert_has_one_rule(rules: list[dict[str, Any]]) -> None:
    alerts = [metric.alert.name for metric in _declared() if metric.alert]

    assert [rule["alert"] for rule in rules] == alerts
    assert len(set(alerts)) == len(alerts)
    assert {"DeadLetters", "ManyErrorResponses"} <= set(alerts)


def test_rules_read_samples_that_are_served(rules: list[dict[str, Any]]) -> None:
    """A counter is served under a name that ends in `_total`, whatever its declaration says."""
    served = {name for metric in _declared() for name in _served_names(metric)}

    assert {name for rule in rules for name in SAMPLES.findall(rule["expr"])} <= served
    assert "$metric" not in str(rules)
    assert all(rule["expr"].count("(") == rule["expr"].count(")") for rule in rules)


def test_a_counter_is_served_under_its_sample_name() -> None:
    denied = Metric("crawler_denials", "counter", "Denials.")
    metrics = Metrics((denied,))
    metrics.count(denied)

    assert denied.sample_name == "crawler_denials_total"
    assert "crawler_denials_total 1.0" in metrics.render().decode()


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        pytest.param("Lost", "strider_lost_messages_total > 0", id="another-metric"),
        pytest.param("It is lost", "$metric > 0", id="a-sentence"),
    ],
)
def test_an_alert_without_name_or_metric_is_refused(name: str, expression: str) -> None:
    with pytest.raises(ValueError, match="needs a name of letters and"):
        Alert(name, expression, 0, "Something was lost.")
