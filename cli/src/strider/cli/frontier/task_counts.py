"""Task states of URLs, and task counts of runs, from tables and working set.

The tables lag behind by a moment and know nothing of requests under way: these are counted in the
working set, and subtracted from the pending ones. The frontier's topic says when an entry was accepted,
fetched and closed; where its request is meanwhile is in the working set alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from strider.cli.connections import (
    POSTGRES,
    REDIS,
    BrokerTarget,
    MissingAddress,
    open_postgres,
    open_redis,
    rejected_text,
    require_address,
    unavailable_text,
)
from strider.cli.explain.facts import UrlFact
from strider.cli.output import warn
from strider.contracts.entry_states import TaskState, task_state
from strider.contracts.ids import entry_id
from strider.contracts.partitioning import shard_of_host
from strider.frontier.redis.inspection import OutstandingRequests, ShardInspector
from strider.messaging.errors import StartRefused, Unavailable
from strider.storage.errors import StoreRejected

_COUNT_TASKS: Final = """SELECT execution_id, task_state, count(*) AS urls FROM tasks
    WHERE execution_id = ANY($1) GROUP BY execution_id, task_state"""


async def count_tasks(target: BrokerTarget, runs: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count tasks by run and state; nothing, and a warning, where a server does not answer."""
    try:
        by_run = await _count_stored(runs)
        requests = await _count_requests(target.settings.run.shards)
    except MissingAddress as failure:
        warn(f"tasks are not counted: {failure}")
        return {}
    except StoreRejected as failure:
        warn(f"tasks are not counted: {rejected_text(failure)}")
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


async def add_task_states(facts: Sequence[UrlFact], *, url: str, host: str, shards: int) -> list[UrlFact]:
    """Add the task state to each entry; `url` is the address of Redis, empty where there is none."""
    entries = [fact for fact in facts if fact.kind == "frontier"]
    names = [entry_id(fact.job_id, str(fact.details["url_key"])) for fact in entries]
    shard = shard_of_host(host, shards) if entries else 0
    places = await _request_places(names, url=url, shard=shard) if entries and url else []
    by_fact = {id(fact): place for fact, place in zip(entries, places, strict=False)}
    read = {(fact.job_id, fact.details.get("fetch_sequence")) for fact in facts if fact.kind == "page"}
    return [
        with_task_state(
            fact, by_fact.get(id(fact), ""), is_read=(fact.job_id, fact.details["fetch_sequence"]) in read
        )
        if fact.kind == "frontier"
        else fact
        for fact in facts
    ]


def with_task_state(fact: UrlFact, place: str, *, is_read: bool) -> UrlFact:
    """Return the fact of an entry with its task state."""
    state = task_state(str(fact.details["state"]), place, is_read=is_read)
    details: Mapping[str, Any] = {**fact.details, "task_state": state.value}
    return replace(fact, text=f"{fact.text} Its task state is {state.value}.", details=details)


async def _request_places(names: Sequence[str], *, url: str, shard: int) -> Sequence[str]:
    try:
        async with open_redis(url) as redis:
            return await ShardInspector(redis).locations(shard, names)
    except (StartRefused, Unavailable):
        return []
