"""How far the work of runs is, by state: what the tables know, and what only the working set knows.

Tables are a moment behind, and know nothing of requests that are on their way: these are counted in the
working set, and taken from what seems to wait.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from strider.contracts.entry_states import TaskState
from strider.frontier.redis.inspection import OutstandingRequests, ShardInspector
from strider.localstack.plan.endpoints import read_endpoints
from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Postgres, PostgresOptions

from .topics_broker import Target
from .working_set import open_working_set

_COUNT: Final = """SELECT execution_id, task_state, count(*) AS urls FROM tasks
    WHERE execution_id = ANY($1) GROUP BY execution_id, task_state"""


async def count_tasks(target: Target, runs: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count tasks by run and state; nothing, and a word about it, where nobody can say."""
    places = read_endpoints(os.environ, Path.cwd())
    try:
        by_run = await _stored(places.get("postgres", ""), runs)
        requests = await _under_way(places.get("redis", ""), target.settings.run.shards)
    except Unavailable as failure:
        print(f"strider: tasks are not counted: {failure}", file=sys.stderr)
        return {}
    return {run: tasks_of(by_run.get(run, {}), requests.get(run, OutstandingRequests())) for run in runs}


def tasks_of(stored: Mapping[str, int], requests: OutstandingRequests) -> dict[str, int]:
    """Put together what the tables and the working set say, in the order of a task's life."""
    under_way = {TaskState.QUEUED: requests.issued, TaskState.CRAWLING: requests.started}
    counts = {state.value: stored.get(state, 0) + under_way.get(state, 0) for state in TaskState}
    counts[TaskState.PENDING] = max(0, counts[TaskState.PENDING] - sum(under_way.values()))
    return counts


async def _stored(dsn: str, runs: Sequence[str]) -> dict[str, dict[str, int]]:
    if not dsn:
        raise Unavailable("postgres", "no database is named: set POSTGRES_DSN, or run strider up")
    postgres = Postgres(PostgresOptions(dsn, application="strider-crawls", max_connections=1))
    try:
        rows = await postgres.fetch(_COUNT, list(runs))
    except StoreRejected as refusal:
        raise Unavailable("postgres", f"{refusal.detail}; run: strider migrate up") from refusal
    finally:
        await postgres.close()
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["execution_id"], {})[row["task_state"]] = row["urls"]
    return found


async def _under_way(url: str, shards: int) -> Mapping[str, OutstandingRequests]:
    redis = open_working_set(url)
    try:
        return await ShardInspector(redis).outstanding_requests(range(shards))
    finally:
        await redis.close()
