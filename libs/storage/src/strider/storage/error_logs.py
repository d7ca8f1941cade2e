"""The table `error_logs`: dead letters as rows.

A row is identified by the position of its message and the consumer group, so that a dead letter that is
published twice, or read again, stays one row. The topics are the source; this table is a view of them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from strider.contracts.generated.events import DeadLetter

from .upsert import Upsert

MAX_TEXT_CHARACTERS: Final = 32_768
"""Longest message or traceback in a row; the dead letter has the whole."""

UPSERT: Final = Upsert(
    "error_logs",
    columns=(
        ("topic", "text"),
        ("partition", "integer"),
        ("offset", "bigint"),
        ("consumer_group", "text"),
        ("service", "text"),
        ("task_id", "text"),
        ("execution_id", "text"),
        ("category", "text"),
        ("reason", "text"),
        ("type", "text"),
        ("message", "text"),
        ("stack_trace", "text"),
        ("trace_id", "text"),
        ("occurred_at", "timestamptz"),
    ),
    conflict=("topic", "partition", "offset", "consumer_group"),
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def error_log_row(letter: DeadLetter) -> tuple[Any, ...]:
    """Return a dead letter as a row, in the order of the statement's columns."""
    return (
        letter.topic,
        letter.partition,
        letter.offset,
        letter.group,
        letter.service,
        letter.task_id,
        letter.execution_id,
        letter.category,
        letter.reason,
        letter.error_class,
        _keep_end(letter.error_message),
        _keep_end(letter.stack_trace),
        letter.trace_id,
        _EPOCH + timedelta(milliseconds=letter.occurred_at_ms),
    )


def _keep_end(text: str) -> str:
    """Keep the end of a long text: the innermost frame and the final message say most."""
    return text if len(text) <= MAX_TEXT_CHARACTERS else "…" + text[1 - MAX_TEXT_CHARACTERS :]
