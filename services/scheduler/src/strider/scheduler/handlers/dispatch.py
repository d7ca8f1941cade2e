"""Dispatch a batch to the owned shards of its partitions, and combine their effects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar, cast

from strider.messaging.effects import Effects
from strider.messaging.ports import Record
from strider.scheduler.shard.shard import OwnedShard

E = TypeVar("E")
T = TypeVar("T")


async def dispatch_by_shard(
    batch: Sequence[tuple[E, Record]],
    handle: Callable[[OwnedShard, Sequence[E]], Awaitable[Effects]],
    owned_shard: Callable[[int], OwnedShard],
) -> Effects:
    """Handle the events of each shard together; `owned_shard` raises Fenced for a lost shard."""
    events: dict[int, list[E]] = {}
    for event, record in batch:
        events.setdefault(record.partition, []).append(event)
    shards = [owned_shard(number) for number in events]
    return combine_effects(await _gather_all(handle(shard, events[shard.number]) for shard in shards))


def combine_effects(parts: Sequence[Effects]) -> Effects:
    """Combine the effects of several shards."""
    if len(parts) == 1:
        return parts[0]
    remembering = [part.after_ack for part in parts if part.after_ack is not None]

    async def remember() -> None:
        await _gather_all(each() for each in remembering)

    return Effects(
        publish=[say for part in parts for say in part.publish],
        after_ack=remember if remembering else None,
        outcome=next((part.outcome for part in parts if part.after_ack is not None), parts[0].outcome),
    )


async def _gather_all(work_items: Iterable[Awaitable[T]]) -> list[T]:
    """Await all, even where one fails: work still running in a shard must not meet its own repetition."""
    results = await asyncio.gather(*work_items, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast("list[T]", results)
