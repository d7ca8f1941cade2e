"""Rows and objects that are too old are deleted in batches, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from strider.indexer.__main__ import kept_tables
from strider.indexer.adapters import PostgresTables
from strider.indexer.adapters.object_retention import ObjectRetentionLoop
from strider.indexer.adapters.retention import BATCH_ROWS, RowRetentionLoop
from strider.indexer.core import RowChanges, decision_rows, page_row
from strider.indexer.settings import IndexerSettings
from strider.runtime.clocks import SystemClock
from strider.storage.errors import ObjectMissing
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.postgres import Postgres
from tests.unit.indexer.events import a_decision, a_page

pytestmark = pytest.mark.fault("B5", part="tables and objects")

DAY_MS = 86_400_000


class ShiftedClock(SystemClock):
    """The system's clock, some days later or earlier."""

    def __init__(self, days: float) -> None:
        self._days = days

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=self._days)


def now_ms() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)


def retention(postgres: Postgres, tables: PostgresTables, **settings: Any) -> RowRetentionLoop:
    return RowRetentionLoop(
        postgres,
        kept_tables(IndexerSettings(**settings)),
        clock=SystemClock(),
        interval_seconds=1.0,
        on_deleted=tables.clear_cached_refusals,
    )


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def count(postgres: Postgres, table: str) -> int:
    [row] = await postgres.fetch(f"SELECT count(*) AS n FROM {table}")
    return int(row["n"])


async def test_old_decisions_are_deleted_in_batches_and_may_be_written_again(postgres: Postgres) -> None:
    tables = PostgresTables(postgres)
    old = a_decision(decided_at_ms=now_ms() - 91 * DAY_MS)
    [row] = decision_rows(old)
    many = [row._replace(id=f"{row.id}-{number}") for number in range(BATCH_ROWS + 10)]
    young = list(decision_rows(a_decision(decided_at_ms=now_ms() - 89 * DAY_MS)))
    await tables.write(RowChanges(decisions=[*many, *young]))
    loop = retention(postgres, tables)

    assert await loop.run_once() == len(many)
    assert await loop.run_once() == 0
    assert await count(postgres, "url_decisions") == len(young)

    await tables.write(RowChanges(decisions=many[:5]))  # also refusals that were cached as stored
    assert await count(postgres, "url_decisions") == len(young) + 5


async def test_pages_are_kept_unless_it_is_set_otherwise(postgres: Postgres) -> None:
    tables = PostgresTables(postgres)
    old = a_page(fetched_at_ms=now_ms() - 400 * DAY_MS)
    await tables.write(RowChanges(pages=[page_row(old, "")]))

    assert await retention(postgres, tables).run_once() == 0
    assert await retention(postgres, tables, keep_pages_days=399).run_once() == 1
    assert await count(postgres, "crawled_pages") == 0


async def test_objects_of_old_days_go_unless_a_row_refers_to_them(postgres: Postgres, tmp_path: Path) -> None:
    options = ObjectOptions(f"file://{tmp_path}/objects")
    then, now = (
        open_object_store(options, clock=ShiftedClock(-60)),
        open_object_store(options, clock=SystemClock()),
    )
    used, unused, young = [
        await then.put(b"used"), await then.put(b"unused"), await now.put(b"young")
    ]  # fmt: skip
    page = a_page(body_object=used)
    await PostgresTables(postgres).write(RowChanges(pages=[page_row(page, "")]))
    loop = ObjectRetentionLoop(now, postgres, keep_days=45, clock=SystemClock(), interval_seconds=1.0)

    assert await loop.run_once() == 1
    assert await loop.run_once() == 0

    assert files_below(tmp_path / "objects") == sorted([used, young])
    with pytest.raises(ObjectMissing):
        await now.get(unused)
    await then.close()
    await now.close()
