"""Alerts of metrics, and the rules for Prometheus that are rendered from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from strider.fetcher.adapters.state.metrics import FETCHER_METRICS
from strider.runtime.observability.metrics import RUNTIME_METRICS, Alert, Metric, Metrics

ROOT = Path(__file__).parents[4]
SAMPLES = re.compile(r"\b(?:strider|crawler|kafka)_\w+")


@pytest.fixture(scope="module")
def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    (group,) = document["groups"]
    return list(group["rules"])


def test_every_alert_has_one_rule(rules: list[dict[str, Any]]) -> None:
    declared = [each.alert.name for each in (*RUNTIME_METRICS, *FETCHER_METRICS) if each.alert]

    assert [rule["alert"] for rule in rules] == declared
    assert len(set(declared)) == len(declared)
    assert {"DeadLetters", "ManyErrorResponses"} <= set(declared)


def test_rules_read_samples_that_are_served(rules: list[dict[str, Any]]) -> None:
    """A counter is served under a name that ends in `_total`, whatever its declaration says."""
    metrics = Metrics((*RUNTIME_METRICS, *FETCHER_METRICS))
    for metric in (*RUNTIME_METRICS, *FETCHER_METRICS):
        labels = ["x"] * len(metric.labels)
        if metric.kind == "counter":
            metrics.count(metric, *labels)
        elif metric.kind == "gauge":
            metrics.set(metric, *labels, value=1)
    served = {line.partition("{")[0].partition(" ")[0] for line in metrics.render().decode().splitlines()}

    read = {name for rule in rules for name in SAMPLES.findall(rule["expr"])}
    assert read <= served
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
