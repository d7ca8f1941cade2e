"""Task counts of runs by state, from the tables and from the working set.

The tables lag behind by a moment and know nothing of requests under way: these are counted in the
working set, and subtracted from the pending ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from strider.cli.connections import (
    POSTGRES,
    REDIS,
    BrokerTarget,
    MissingAddress,
    open_postgres,
    open_redis,
    require_address,
    unavailable_text,
)
from strider.cli.output import warn
from strider.contracts.entry_states import TaskState
from strider.frontier.redis.inspection import OutstandingRequests, ShardInspector
from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected

_COUNT_TASKS: Final = """SELECT execution_id, task_state, count(*) AS urls FROM tasks
    WHERE execution_id = ANY($1) GROUP BY execution_id, task_state"""


async def count_tasks(target: BrokerTarget, runs: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count tasks by run and state; nothing, and a warning, where a server does not answer."""
    try:
        by_run = await _count_stored(runs)
        requests = await _count_requests(target.settings.run.shards)
    except (MissingAddress, StoreRejected) as failure:
        warn(f"tasks are not counted: {failure}")
        return {}
    except Unavailable as failure:
        warn(f"tasks are not counted: {unavailable_text(failure)}")
        return {}
    return {
        run: combine_counts(by_run.get(run, {}), requests.get(run, OutstandingRequests())) for run in runs
    }


def combine_counts(stored: Mapping[str, int], requests: OutstandingRequests) -> dict[str, int]:
    """Combine the counts of tables and working set, in the order of a task's states."""
    under_way = {TaskState.QUEUED: requests.issued, TaskState.CRAWLING: requests.started}
    counts = {state.value: stored.get(state, 0) + under_way.get(state, 0) for state in TaskState}
    counts[TaskState.PENDING] = max(0, counts[TaskState.PENDING] - sum(under_way.values()))
    return counts


async def _count_stored(runs: Sequence[str]) -> dict[str, dict[str, int]]:
    async with open_postgres(require_address(POSTGRES), application="strider-runs") as postgres:
        rows = await postgres.fetch(_COUNT_TASKS, list(runs))
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["execution_id"], {})[row["task_state"]] = row["urls"]
    return found


async def _count_requests(shards: int) -> Mapping[str, OutstandingRequests]:
    async with open_redis(require_address(REDIS)) as redis:
        return await ShardInspector(redis).outstanding_requests(range(shards))
