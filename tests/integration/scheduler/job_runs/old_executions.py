"""Jobs with a long history, stored before the first scheduler starts, as months of runs leave them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from strider.jobs.models import NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.storage.postgres import Postgres

OFTEN: Final = "ran-often"
"""A job of 130 executions, all of the last 30 days."""
SELDOM: Final = "ran-seldom"
"""A job of 20 executions, one every third day."""
OFTEN_COUNT: Final = 130
SELDOM_COUNT: Final = 20

_ADD: Final = """
    INSERT INTO job_executions (id, job_id, execution_number, status, started_at, completed_at)
    SELECT $1 || '-' || n, $1, n, 'completed', ended - interval '1 minute', ended
      FROM generate_series(1, $2::int) AS n,
   LATERAL (SELECT now() - ($2::int - n) * $3::interval AS ended) AS t
"""

_END: Final = "UPDATE jobs SET status = 'completed', next_run_at = NULL, execution_count = $2 WHERE id = $1"


async def add_old_executions(postgres: Postgres) -> None:
    """Store both jobs, with executions that end with one of now."""
    store = PostgresJobStore(postgres)
    now_ms = await store.now_ms()
    for job_id, count, hours in ((OFTEN, OFTEN_COUNT, 1), (SELDOM, SELDOM_COUNT, 72)):
        await store.create(NewJob(job_id=job_id, url="http://history.test/"), now_ms=now_ms)
        await postgres.fetch(_ADD, job_id, count, timedelta(hours=hours))
        await postgres.fetch(_END, job_id, count)
