"""Numbers for values that entries of a shard share; assigned by the shard, cached here.

A number is assigned once for the life of a working set, so each owner of the shard reads what others encoded.
The cache is dropped when the shard is taken over, emptied or let go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.entry_encoding import (
    EntryShape,
    ShapeFields,
    pack_tail,
    parse_shape,
    shape_of,
    shape_text,
)
from strider.frontier.ports import ShardNotReady
from strider.storage.keys import FRONTIER_SHAPES
from strider.storage.redis import Redis

from .admin import ShardAdmin
from .calls import ShardCalls

_IDS_PER_CALL = 1000
MAX_CACHED_TEXTS: Final = 4_096
"""Of one shard, before its cache begins again: runs cost their senders nothing."""


@dataclass(slots=True)
class InternedIds:
    """Numbers of one shard."""

    numbers: dict[str, int] = field(default_factory=dict)
    """By text: shapes are JSON arrays, executions JSON strings."""
    packing_numbers: dict[EntryShape, tuple[int, int]] = field(default_factory=dict)
    """Numbers of a shape and of its execution."""
    shapes: dict[int, ShapeFields] = field(default_factory=dict)
    executions: dict[int, str] = field(default_factory=dict)

    def pack(self, entry: EntryRecorded) -> bytes:
        """Encode an entry whose shape has its number."""
        shape, execution = self.packing_numbers[shape_of(entry)]
        return pack_tail(entry, shape=shape, execution=execution)

    def add(self, number: int, text: str) -> None:
        """Cache a number."""
        self.numbers[text] = number
        if text.startswith("["):
            self.shapes[number] = parse_shape(text)
        else:
            self.executions[number] = json.loads(text)


class ShardIdInterning:
    """Assigns and fetches numbers that are not cached: one call for a new execution or state."""

    def __init__(self, redis: Redis, calls: ShardCalls) -> None:
        self._redis = redis
        self._calls = calls
        self._interned: dict[int, InternedIds] = {}

    def discard(self, shard: int) -> None:
        """Drop a shard's numbers."""
        self._interned.pop(shard, None)

    async def intern_entries(self, shard: int, epoch: int, entries: Iterable[EntryRecorded]) -> InternedIds:
        """Return the numbers of a shard, including all that these entries need."""
        return await self.intern_shapes(shard, epoch, map(shape_of, entries))

    async def intern_shapes(self, shard: int, epoch: int, shapes: Iterable[EntryShape]) -> InternedIds:
        """Return the numbers of a shard, including all that these shapes need."""
        names = self._cache_of(shard)
        new = {shape: None for shape in shapes if shape not in names.packing_numbers}
        if not new:
            return names
        wanted = {shape: (shape_text(shape), json.dumps(shape[1])) for shape in new}
        texts = [text for pair in wanted.values() for text in pair if text not in names.numbers]
        texts = list(dict.fromkeys(texts))
        for first in range(0, len(texts), _IDS_PER_CALL):
            part = texts[first : first + _IDS_PER_CALL]
            numbers = await self._calls.run("intern", shard, epoch, args=part)
            for number, text in zip(numbers, part, strict=True):
                names.add(number, text)
        for shape, (shape_name, execution) in wanted.items():
            names.packing_numbers[shape] = names.numbers[shape_name], names.numbers[execution]
        return names

    async def shapes(self, shard: int, numbers: Iterable[int]) -> Mapping[int, ShapeFields]:
        """Return shapes by their numbers."""
        names = self._cache_of(shard)
        await self._fetch(shard, names, {number for number in numbers if number not in names.shapes})
        return names.shapes

    async def executions(self, shard: int, numbers: Iterable[int]) -> Mapping[int, str]:
        """Return executions by their numbers."""
        names = self._cache_of(shard)
        await self._fetch(shard, names, {number for number in numbers if number not in names.executions})
        return names.executions

    def _cache_of(self, shard: int) -> InternedIds:
        """Return the numbers of a shard; an earlier object of it stays valid for its holders."""
        names = self._interned.setdefault(shard, InternedIds())
        if len(names.shapes) + len(names.executions) > MAX_CACHED_TEXTS:
            names = self._interned[shard] = InternedIds()
        return names

    async def _fetch(self, shard: int, names: InternedIds, unknown: set[int]) -> None:
        if not unknown:
            return
        wanted = sorted(unknown)
        texts = await self._redis.command("HMGET", FRONTIER_SHAPES(shard), *wanted)
        for number, text in zip(wanted, texts, strict=True):
            if text is None:  # a number was lost: rebuild from the log
                await ShardAdmin(self._redis).invalidate(shard)
                raise ShardNotReady(shard, f"number {number} of its own entries is unknown")
            names.add(number, text.decode())
