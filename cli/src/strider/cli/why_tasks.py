"""How far the work for a URL is, put to what the frontier's log says of it.

The log tells of an entry when it is taken, fetched and closed; where its request is meanwhile is asked of
the working set. Where that does not answer, the log's word stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from strider.contracts.entry_states import task_state
from strider.contracts.ids import entry_id
from strider.contracts.partitioning import shard_of_host
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.errors import StartRefused, Unavailable

from .why_facts import Fact
from .working_set import open_working_set


async def with_tasks(facts: Sequence[Fact], *, url: str, host: str, shards: int) -> list[Fact]:
    """Say of each entry how far its work is."""
    entries = [fact for fact in facts if fact.kind == "frontier"]
    names = [entry_id(fact.job_id, str(fact.details["url_key"])) for fact in entries]
    places = await _places(names, url=url, shard=shard_of_host(host, shards)) if entries and url else []
    by_fact = {id(fact): place for fact, place in zip(entries, places, strict=False)}
    read = {(fact.job_id, fact.details.get("fetch_sequence")) for fact in facts if fact.kind == "page"}
    return [
        told(fact, by_fact.get(id(fact), ""), is_read=(fact.job_id, fact.details["fetch_sequence"]) in read)
        if fact.kind == "frontier"
        else fact
        for fact in facts
    ]


def told(fact: Fact, place: str, *, is_read: bool) -> Fact:
    """Add the state of the task to an entry."""
    state = task_state(str(fact.details["state"]), place, is_read=is_read)
    details: Mapping[str, Any] = {**fact.details, "task_state": state.value}
    return replace(fact, says=f"{fact.says} As a task it is {state.value}.", details=details)


async def _places(names: Sequence[str], *, url: str, shard: int) -> Sequence[str]:
    try:
        redis = open_working_set(url)
    except StartRefused:
        return []
    try:
        return await ShardInspector(redis).locations(shard, names)
    except Unavailable:
        return []
    finally:
        await redis.close()
