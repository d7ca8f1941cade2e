"""Dead letters as rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from strider.contracts.generated.events import DeadLetter
from strider.storage.error_logs import MAX_TEXT_CHARACTERS, UPSERT, error_log_row


def _letter(**more: object) -> DeadLetter:
    values = {
        "service": "parser",
        "group": "parser",
        "topic": "pages-fetched",
        "partition": 3,
        "offset": 42,
        "reason": "handler_crashed",
        "category": "handler",
        "occurred_at_ms": 1_795_000_000_123,
        "task_id": "job-1:abc",
        "error_class": "KeyError",
        "error_message": "'x'",
        "stack_trace": "Traceback …",
        "trace_id": "t",
    }
    return DeadLetter(**(values | more))  # type: ignore[arg-type]


@pytest.mark.req("S4.6.3")
def test_a_dead_letter_becomes_a_row() -> None:
    """Task id, type, message, trace, moment and category, by the coordinates that name it."""
    row = dict(zip((name for name, _ in UPSERT.columns), error_log_row(_letter()), strict=True))

    assert row == {
        "topic": "pages-fetched",
        "partition": 3,
        "offset": 42,
        "consumer_group": "parser",
        "service": "parser",
        "task_id": "job-1:abc",
        "execution_id": "",
        "category": "handler",
        "reason": "handler_crashed",
        "type": "KeyError",
        "message": "'x'",
        "stack_trace": "Traceback …",
        "trace_id": "t",
        "occurred_at": datetime(2026, 11, 18, 11, 6, 40, 123_000, tzinfo=UTC),
    }


def test_the_end_of_a_long_trace_is_kept() -> None:
    """The innermost frame and the exception stand last."""
    trace = error_log_row(_letter(stack_trace="a" * 100_000 + "KeyError"))[11]

    assert len(trace) == MAX_TEXT_CHARACTERS
    assert trace.startswith("…a")
    assert trace.endswith("KeyError")
