"""What a service consumes, and what it does besides: all that a ring in one process needs of a service.

Apart from `service_wiring`, so that a process without metrics, traces and health does not load their
libraries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .effects import Reads
from .loop_ports import CaughtUp, GivenUp, NoShards, ShardHooks, note_nothing, say_nothing
from .loop_settings import LoopSettings
from .ports import GroupSpec

Step: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Consumption:
    """One consumer loop: a group, its topics, and who answers."""

    spec: GroupSpec
    reads: tuple[Reads, ...]
    settings: LoopSettings = field(default_factory=LoopSettings)
    shards: ShardHooks = field(default_factory=NoShards)
    on_given_up: GivenUp = say_nothing
    on_caught_up: CaughtUp = note_nothing


def consume(
    group: str,
    *reads: Reads,
    settings: LoopSettings | None = None,
    shards: ShardHooks | None = None,
    on_given_up: GivenUp = say_nothing,
    on_caught_up: CaughtUp = note_nothing,
) -> Consumption:
    """Read topics as this group, in the way in which their declarations say that it reads them."""
    readers = [reader for each in reads for reader in each.topic.read_by if reader.group == group]
    if len(readers) != len(reads):
        named = ", ".join(each.topic.name for each in reads)
        raise ValueError(f"not every one of {named} declares {group} as a group that reads it")
    if len({reader.sharded for reader in readers}) != 1:
        raise ValueError(f"{group} reads either all of its topics by shard or none")
    return Consumption(
        GroupSpec(group, tuple(each.topic.name for each in reads), sharded=readers[0].sharded),
        reads,
        settings=settings or LoopSettings(),
        shards=shards or NoShards(),
        on_given_up=on_given_up,
        on_caught_up=on_caught_up,
    )
