"""What a service consumes, and what it does besides: all that a ring in one process needs of a service.

Apart from `service_wiring`, so that a process without metrics, traces and health does not load their
libraries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from strider.messaging.effects import Subscription
from strider.messaging.ports import GroupSpec

from .ports import NoShardHooks, OnCaughtUp, OnGivenUp, ShardHooks, ignore_caught_up, say_nothing
from .spec import ConsumerSettings

AsyncStep: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """One consumer loop: a group, its topics, and who answers."""

    group: GroupSpec
    subscriptions: tuple[Subscription, ...]
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    shards: ShardHooks = field(default_factory=NoShardHooks)
    on_given_up: OnGivenUp = say_nothing
    on_caught_up: OnCaughtUp = ignore_caught_up


def consume(
    group: str,
    *subscriptions: Subscription,
    settings: ConsumerSettings | None = None,
    shards: ShardHooks | None = None,
    on_given_up: OnGivenUp = say_nothing,
    on_caught_up: OnCaughtUp = ignore_caught_up,
) -> ConsumerSpec:
    """Read topics as this group, in the way in which their declarations say that it reads them."""
    readers = [reader for each in subscriptions for reader in each.topic.read_by if reader.group == group]
    if len(readers) != len(subscriptions):
        named = ", ".join(each.topic.name for each in subscriptions)
        raise ValueError(f"not every one of {named} declares {group} as a group that reads it")
    if len({reader.sharded for reader in readers}) != 1:
        raise ValueError(f"{group} reads either all of its topics by shard or none")
    return ConsumerSpec(
        GroupSpec(group, tuple(each.topic.name for each in subscriptions), sharded=readers[0].sharded),
        subscriptions,
        settings=settings or ConsumerSettings(),
        shards=shards or NoShardHooks(),
        on_given_up=on_given_up,
        on_caught_up=on_caught_up,
    )
