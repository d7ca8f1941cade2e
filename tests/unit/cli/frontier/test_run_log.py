"""Selection and format of the log lines of a run."""

from __future__ import annotations

import json

import pytest

from strider.cli.frontier.run_log import belongs_to, line_text, possible_job_ids
from strider.runtime.observability.job_logs import JobLogLine
from strider.storage.job_logs import StoredLogLine

FIELDS = {
    "event": "Requests Failed",
    "job_id": "adhoc",
    "execution_id": "adhoc-20261119-44136fa355b3",
    "count": 4,
    "by_kind": {"timed_out": 3, "connect_refused": 1},
    "service": "scheduler",
    "level": "info",
    "ts": "2026-11-19T08:00:01.5Z",
}
TEXT = json.dumps(FIELDS)


def test_a_line_is_shown_for_people() -> None:
    """Time, level, service, event; then the other fields by name."""
    assert line_text(TEXT) == (
        "2026-11-19 08:00:01  info    scheduler      Requests Failed  "
        "run execution_id=adhoc-20261119-44136fa355b3 count=4 by_kind=timed_out:3,connect_refused:1"
    )
    assert line_text(TEXT[:40]) == TEXT[:40]


@pytest.mark.parametrize(
    ("run_id", "job_id", "is_told"),
    [
        ("adhoc", "adhoc", True),
        ("adhoc-20261119-44136fa355b3", "adhoc", True),
        ("adhoc-20261119-another", "adhoc", False),
    ],
)
def test_a_job_has_all_lines_and_a_run_its_own(run_id: str, job_id: str, is_told: bool) -> None:
    stored = StoredLogLine("1-0", JobLogLine("adhoc", "", "info", "Requests Failed", TEXT))

    assert belongs_to(stored, run_id, job_id) is is_told


def test_a_run_that_the_frontier_has_forgotten_is_looked_for_by_its_name() -> None:
    assert possible_job_ids("my-news-20261119-44136fa355b3") == ["my-news-20261119", "my-news", "my"]
    assert possible_job_ids("--") == []
