"""Prometheus evaluates the alerts: each fires when it should, and is silent when it should not fire.

`promtool` runs the rules of `deploy/prometheus/alerts.yaml` over series that are written here, a sample a
minute (`3x20`: 3, and 20 times more; `_`: no sample). Debian's package `prometheus` has it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from strider.runtime.observability.metrics import OTHER

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "alerts.yaml"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is missing: apt install prometheus")


class AlertCase(NamedTuple):
    """Series of an alert's metrics, and the labels of the alerts that fire at a minute."""

    series: Mapping[str, str]
    minute: int
    fires: tuple[Mapping[str, str], ...] = ()


def _rising_counter(metric: str, **labels: str) -> dict[str, AlertCase]:
    """Return the cases of a counter that must not rise."""
    written = ",".join(f'{name}="{value}"' for name, value in labels.items())
    name = f"{metric}{{{written}}}"
    return {
        "fires-when-it-appears": AlertCase({name: "_x9 1x5"}, 11, (labels,)),
        "fires-when-it-rises": AlertCase({name: "3x30 4x9"}, 32, (labels,)),
        "silent-while-it-stands": AlertCase({name: "3x60"}, 30),
        "silent-a-while-after-a-rise": AlertCase({name: "3x30 4x60"}, 60),
        "silent-without-one": AlertCase({}, 30),
    }


def _responses(*, ok: int, failed: int) -> dict[str, str]:
    """Return series of so many responses a minute."""
    name = 'crawler_http_status_total{{status="{}"}}'
    return {name.format(200): f"0+{ok}x20", name.format(404): f"0+{failed}x20"}


def _threshold(metric: str, *, good: str, bad: str, minutes: int) -> dict[str, AlertCase]:
    """Return the cases of a gauge that must not stay beyond a limit for so many minutes."""
    return {
        "fires-when-it-stays": AlertCase({metric: f"{bad}x{minutes + 5}"}, minutes, ({},)),
        "silent-before": AlertCase({metric: f"{bad}x{minutes + 5}"}, minutes - 1),
        "silent-when-it-passes": AlertCase({metric: f"{bad}x{minutes - 1} {good}x9"}, minutes + 2),
        "silent-while-it-is-good": AlertCase({metric: f"{good}x{minutes + 9}"}, minutes + 5),
    }


CASES: Mapping[str, Mapping[str, AlertCase]] = {
    "PlacesFull": {
        "fires-after-five-minutes": AlertCase(
            {'strider_place_wait_seconds{group="fetcher",senders="owners"}': "11x10"},
            5,
            ({"group": "fetcher", "senders": "owners"},),
        ),
        "silent-after-four": AlertCase(
            {'strider_place_wait_seconds{group="fetcher",senders="owners"}': "11x4 2x9"}, 5
        ),
        "silent-when-waits-are-short": AlertCase({'strider_place_wait_seconds{senders="raw"}': "10x20"}, 20),
    },
    "DeadLetters": _rising_counter("strider_dead_letters_total", topic="pages-fetched", reason="bad_avro"),
    "MessagesLost": _rising_counter("strider_loss_events_total", topic="pages-fetched"),
    "BatchesSkipped": _rising_counter("strider_skipped_batches_total", topic=OTHER),
    "LogTruncated": _rising_counter("strider_truncated_logs_total", topic="hosts"),
    "ProcessStalled": _rising_counter("strider_stalls_total", kind="loop"),
    "DependencyUnavailable": {
        "fires-after-five-minutes": AlertCase(
            {'strider_dependency_up{part="redis"}': "1x3 0x9", 'strider_dependency_up{part="kafka"}': "1x12"},
            9,
            ({"part": "redis"},),
        ),
        "silent-when-it-is-back": AlertCase({'strider_dependency_up{part="redis"}': "1 0x3 1x9"}, 6),
    },
    "ManyErrorResponses": {
        "fires-above-a-fifth": AlertCase(
            _responses(ok=70, failed=30),
            12,
            ({},),
        ),
        "silent-below-a-fifth": AlertCase(
            _responses(ok=85, failed=15),
            12,
        ),
        "silent-without-requests": AlertCase({'crawler_http_status_total{status="500"}': "7x20"}, 12),
    },
    "PagesGivenUp": {
        "fires-with-the-first": AlertCase(
            {'strider_parser_given_up_total{senders="owners"}': "0x9 1x9"}, 12, ({"senders": "owners"},)
        ),
        "silent-while-it-stands": AlertCase({'strider_parser_given_up_total{senders="raw"}': "7x60"}, 40),
    },
    "JobsLate": _threshold("strider_jobs_late_seconds", good="119", bad="121", minutes=5),
    "JobsFail": _threshold("strider_job_success_ratio", good="0.8", bad="0.79", minutes=5),
    "StaleJobLocks": {
        "fires-when-it-is-repeated": AlertCase(
            {"strider_job_stale_locks_cleared_total": "0x9 1x29 2x20"}, 55, ({},)
        ),
        "silent-after-one": AlertCase({"strider_job_stale_locks_cleared_total": "0x39 3x20"}, 55),
        "silent-long-after": AlertCase({"strider_job_stale_locks_cleared_total": "0x9 1x29 2x90"}, 120),
    },
    "JobsUneven": _threshold("strider_job_distribution_score", good="0.7", bad="0.69", minutes=60),
}


def _rules() -> dict[str, Any]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    assert list(CASES) == list(_rules())
    for cases in CASES.values():
        assert {bool(case.fires) for case in cases.values()} == {True, False}


@needs_promtool
def test_the_rules_are_valid() -> None:
    assert PROMTOOL is not None
    checked = subprocess.run(
        [PROMTOOL, "check", "rules", RULES], capture_output=True, text=True, check=False, timeout=60
    )

    assert (checked.returncode, f"{len(CASES)} rules found" in checked.stdout) == (0, True), checked.stderr


@needs_promtool
@pytest.mark.parametrize(
    ("alert", "case"),
    [
        pytest.param(alert, case, id=f"{alert}-{name}")
        for alert, cases in CASES.items()
        for name, case in cases.items()
    ],
)
def test_an_alert_fires_when_it_should(alert: str, case: AlertCase, tmp_path: Path) -> None:
    failure = _evaluate(alert, case, tmp_path)

    assert failure == ""


@needs_promtool
def test_the_evaluation_can_fail(tmp_path: Path) -> None:
    """An expected alert that does not fire is reported, and so is one that was not expected."""
    fires = CASES["PlacesFull"]["fires-after-five-minutes"]
    silent = CASES["PlacesFull"]["silent-after-four"]

    for wrong in (silent._replace(fires=fires.fires), fires._replace(fires=())):
        assert "FAILED" in _evaluate("PlacesFull", wrong, tmp_path)


def _evaluate(alert: str, case: AlertCase, folder: Path) -> str:
    """Return the complaint of promtool about a case, or nothing."""
    assert PROMTOOL is not None
    annotations = _rules()[alert]["annotations"]
    expected = [{"exp_labels": dict(labels), "exp_annotations": annotations} for labels in case.fires]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {"eval_time": f"{case.minute}m", "alertname": alert, "exp_alerts": expected},
        ],
    }
    file = folder / "case.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]})
    )
    run = subprocess.run(
        [PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False, timeout=60
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr
