"""Task states of a URL's frontier entries.

The frontier's topic says when an entry was accepted, fetched and closed; where its request is meanwhile is
in the working set. Without that the topic alone decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from strider.cli.connections import open_redis
from strider.contracts.entry_states import task_state
from strider.contracts.ids import entry_id
from strider.contracts.partitioning import shard_of_host
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.errors import StartRefused, Unavailable

from .facts import UrlFact


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
