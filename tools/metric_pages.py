"""Metrics of services as a table, and the alerts of all metrics as rules for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from strider.contracts.codegen.layout import yaml_text
from strider.runtime.observability.metrics import RUNTIME_METRICS, Metric

NOTICE = "# Rendered from the metrics' declarations; do not edit. To write it again: make contracts\n"


def service_metrics() -> dict[str, tuple[Metric, ...]]:
    """Metrics by the service that declares them: in `adapters.py`, or in `metrics` below `adapters`."""
    entries = sorted(entry_points(group="strider.services"), key=lambda entry: entry.name)
    found = {entry.name: tuple(_declared(entry.module.rpartition(".")[0])) for entry in entries}
    return {name: metrics for name, metrics in found.items() if metrics}


def _declared(package: str) -> Iterator[Metric]:
    root = Path(next(iter(import_module(package).__path__)))
    for path in sorted([*root.glob("adapters.py"), *root.glob("adapters/**/metrics.py")]):
        module = import_module(".".join((package, *path.relative_to(root).with_suffix("").parts)))
        yield from (value for value in vars(module).values() if _is_own(value))


def _is_own(value: object) -> bool:
    return isinstance(value, Metric) and value not in RUNTIME_METRICS


def service_table() -> str:
    """Render the metrics of services as a table."""
    lines = ["| service | metric | kind | labels | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | `{each.sample_name}` | {each.kind} | {' '.join(each.labels) or '-'} | {each.help} |"
        for name, metrics in service_metrics().items()
        for each in metrics
    ]
    return "\n".join(lines) + "\n"


def alerting() -> list[Metric]:
    """Every metric that has an alert."""
    declared = (*RUNTIME_METRICS, *(each for metrics in service_metrics().values() for each in metrics))
    return [metric for metric in declared if metric.alert is not None]


def alert_table() -> str:
    """Render the alerts as a table."""
    lines = ["| alert | metric | for | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{alert.name}` | `{metric.sample_name}` | {alert.minutes} min | {alert.meaning} |"
        for metric in alerting()
        if (alert := metric.alert)
    ]
    return "\n".join(lines) + "\n"


def alert_rules() -> str:
    """Render the alerts as a rule file of Prometheus."""
    rules = [_rule(metric) for metric in alerting()]
    return NOTICE + yaml_text([{"groups": [{"name": "strider", "rules": rules}]}]).partition("\n")[2]


def _rule(metric: Metric) -> dict[str, Any]:
    alert = metric.alert
    assert alert is not None
    return {
        "alert": alert.name,
        "expr": alert.expression.replace("$metric", metric.sample_name),
        "for": f"{alert.minutes}m",
        "annotations": {"summary": alert.meaning},
    }
