"""Numbers for what many entries of a shard share, given by the shard and remembered here.

A number is given once for the life of a working set, so whoever owns the shard reads what others
packed. What is remembered here is dropped when the shard is taken, emptied or let go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strider.contracts.generated.events import EntryRecorded
from strider.stores.keys import FRONTIER_SHAPES
from strider.stores.redis import Redis

from .packing import Shape, Shared, pack_tail, shape_from, shape_of, shape_text
from .ports import NotReady
from .redis_calls import ShardCalls
from .redis_tending import RedisTending

_NAMES_A_CALL = 1000


@dataclass(slots=True)
class Names:
    """Of one shard."""

    numbers: dict[str, int] = field(default_factory=dict)
    """By text: shapes are JSON arrays, executions JSON strings."""
    packers: dict[Shape, tuple[int, int]] = field(default_factory=dict)
    """Number of the shape, and of its execution."""
    shapes: dict[int, Shared] = field(default_factory=dict)
    executions: dict[int, str] = field(default_factory=dict)

    def pack(self, entry: EntryRecorded) -> bytes:
        """Pack an entry whose shape has its number."""
        shape, execution = self.packers[shape_of(entry)]
        return pack_tail(entry, shape=shape, execution=execution)

    def learn(self, number: int, text: str) -> None:
        """Remember a number."""
        self.numbers[text] = number
        if text.startswith("["):
            self.shapes[number] = shape_from(text)
        else:
            self.executions[number] = json.loads(text)


class NamesOfShards:
    """Asks the shards for numbers that are not known yet: one call for a new execution or state."""

    def __init__(self, redis: Redis, calls: ShardCalls) -> None:
        self._redis = redis
        self._calls = calls
        self._names: dict[int, Names] = {}

    def forget(self, shard: int) -> None:
        """Let go of a shard's numbers."""
        self._names.pop(shard, None)

    async def ready_to_pack(self, shard: int, epoch: int, entries: Iterable[EntryRecorded]) -> Names:
        """Give the names of a shard, with all that these entries need."""
        return await self.ready_for(shard, epoch, map(shape_of, entries))

    async def ready_for(self, shard: int, epoch: int, shapes: Iterable[Shape]) -> Names:
        """Give the names of a shard, with all that these shapes need."""
        names = self._names.setdefault(shard, Names())
        new = {shape: None for shape in shapes if shape not in names.packers}
        if not new:
            return names
        wanted = {shape: (shape_text(shape), json.dumps(shape[1])) for shape in new}
        texts = [text for pair in wanted.values() for text in pair if text not in names.numbers]
        texts = list(dict.fromkeys(texts))
        for first in range(0, len(texts), _NAMES_A_CALL):
            part = texts[first : first + _NAMES_A_CALL]
            numbers = await self._calls.run("name", shard, epoch, args=part)
            for number, text in zip(numbers, part, strict=True):
                names.learn(number, text)
        for shape, (shape_name, execution) in wanted.items():
            names.packers[shape] = names.numbers[shape_name], names.numbers[execution]
        return names

    async def shapes(self, shard: int, numbers: Iterable[int]) -> Mapping[int, Shared]:
        """Give shapes by their numbers."""
        names = self._names.setdefault(shard, Names())
        await self._learn(shard, names, {number for number in numbers if number not in names.shapes})
        return names.shapes

    async def executions(self, shard: int, numbers: Iterable[int]) -> Mapping[int, str]:
        """Give executions by their numbers."""
        names = self._names.setdefault(shard, Names())
        await self._learn(shard, names, {number for number in numbers if number not in names.executions})
        return names.executions

    async def _learn(self, shard: int, names: Names, unknown: set[int]) -> None:
        if not unknown:
            return
        wanted = sorted(unknown)
        texts = await self._redis.command("HMGET", FRONTIER_SHAPES(shard), *wanted)
        for number, text in zip(wanted, texts, strict=True):
            if text is None:  # nobody should have forgotten it: the log knows better
                await RedisTending(self._redis).void(shard)
                raise NotReady(shard, f"it does not know its own number {number}")
            names.learn(number, text.decode())
