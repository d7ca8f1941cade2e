"""Dead letters in their table."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import DeadLetter
from strider.storage import error_logs
from strider.storage.migrations import upgrade
from strider.storage.postgres import Postgres


def _letter(offset: int, **more: object) -> DeadLetter:
    values = {
        "service": "parser",
        "group": "parser",
        "topic": "pages-fetched",
        "partition": 0,
        "offset": offset,
        "reason": "truncated",
        "category": "decode",
        "occurred_at_ms": 1_795_000_000_000,
    }
    return DeadLetter(**(values | more))  # type: ignore[arg-type]


@pytest.mark.req("S4.6.3", "S4.6.4")
async def test_a_dead_letter_is_one_row_however_often_it_comes(postgres: Postgres, postgres_dsn: str) -> None:
    """Published twice, read again, replayed from the beginning: one row. Another group's is another row."""
    await upgrade(postgres_dsn)
    letters = [_letter(1, error_message="a\x00b \ud800"), _letter(2), _letter(2), _letter(2, group="archive")]

    stored = [
        await postgres.upsert(error_logs.UPSERT, map(error_logs.error_log_row, letters)) for _ in range(2)
    ]

    assert stored == [3, 0]
    rows = await postgres.fetch(
        'SELECT "offset", consumer_group, category, message FROM error_logs ORDER BY "offset", consumer_group'
    )
    assert [tuple(row) for row in rows] == [
        (1, "parser", "decode", "a\ufffdb \ufffd"),
        (2, "archive", "decode", ""),
        (2, "parser", "decode", ""),
    ]
