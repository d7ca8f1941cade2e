"""Dead letters as rows, for people who ask what went wrong.

A row is named by where its message was read and by which group, so that a dead letter that is
spoken twice, or read again, stays one row. The topics are the truth; this table is a view of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from strider.contracts.generated.events import DeadLetter

from .postgres import Postgres
from .upsert import Upsert

MAX_TEXT_CHARACTERS: Final = 32_768
"""Longest message or traceback that is kept in a row; the dead letter has the whole."""

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


class ErrorLogTable:
    """The table of what could not be handled."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def write(self, letters: Iterable[DeadLetter]) -> int:
        """Keep dead letters; gives how many were new."""
        return await self._postgres.upsert(UPSERT, map(error_log_row, letters))


def error_log_row(letter: DeadLetter) -> tuple[Any, ...]:
    """Turn a dead letter into a row, in the order of the statement's columns."""
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
        _clipped(letter.error_message),
        _clipped(letter.stack_trace),
        letter.trace_id,
        _EPOCH + timedelta(milliseconds=letter.occurred_at_ms),
    )


def _clipped(text: str) -> str:
    """Keep the end of what is too long: the innermost frame and the last words say most."""
    return text if len(text) <= MAX_TEXT_CHARACTERS else "…" + text[1 - MAX_TEXT_CHARACTERS :]
