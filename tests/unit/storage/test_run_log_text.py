"""Format of the log lines of a run."""

from __future__ import annotations

import json

from strider.storage.run_logs.plain_text import line_text

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


def test_what_a_terminal_obeys_is_escaped() -> None:
    assert line_text(json.dumps(FIELDS | {"event": "\x1b[2J"})).endswith("connect_refused:1")
    assert "\x1b" not in line_text(json.dumps(FIELDS | {"event": "\x1b[2J"}))
    assert "\x1b" not in line_text("{\x1b[2J")
