"""The least that the working set costs: its commands alone, with nothing decided by them.

The same keys, and values of the same size, as the frontier's functions write, from a script that reads no
header, fences no owner, reads no clock and keeps no counts. What these take beyond it is what their
promises cost; what this takes itself no script could save, as long as an entry has a record of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from strider.storage.redis import Redis

SLOT_BYTES: Final = 150
LEASE_BYTES: Final = 90
PLACE_BYTES: Final = 4
GROUP_BYTES: Final = 61
ID_BYTES: Final = 16
BUCKETS: Final = 300
"""Of a seen-set with some 60,000 members."""

_ADD: Final = """
local at, ids, pairs_of = 0, {}, {}
local slot, place, record = ARGV[2], ARGV[3], ARGV[4]
for index = 6, #ARGV do
  ids[index - 5] = ARGV[index]
  pairs_of[2 * index - 11], pairs_of[2 * index - 10] = ARGV[index], slot
end
redis.call('HMGET', KEYS[1], unpack(ids))
redis.call('HSET', KEYS[1], unpack(pairs_of))
local groups, each, buckets = {}, 8, {}
for first = 1, #ids, each do
  local places = {}
  for index = first, math.min(first + each - 1, #ids) do places[index - first + 1] = ids[index] .. place end
  local name = 'h' .. (tonumber(ARGV[1]) + first) % 5000
  redis.call('RPUSH', KEYS[1] .. ':queue:' .. name, unpack(places))
  groups[#groups + 1], groups[#groups + 2] = name, record
end
redis.call('HSET', KEYS[1] .. ':groups', unpack(groups))
for index = 1, #ids do
  local which = (index * 7919) % tonumber(ARGV[5])
  local list = buckets[which]
  local member = string.format('%.0f', tonumber(ARGV[1]) * 1000000 + 1000000000000000 + index)
  if list then list[#list + 1] = member else buckets[which] = {member} end
end
for which, list in pairs(buckets) do redis.call('SADD', KEYS[1] .. ':seen:' .. which, unpack(list)) end
return #ids
"""

_TAKE: Final = """
local most, lease, record = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local ends, slots, leases, groups, given = {}, {}, {}, {}, {}
for index = 1, most do
  local name = ARGV[index + 3]
  local item = redis.call('LPOP', KEYS[1] .. ':queue:' .. name)
  local id = string.sub(item, 1, 16)
  local slot = redis.call('HGET', KEYS[1], id)
  slots[2 * index - 1], slots[2 * index] = id, slot
  leases[2 * index - 1], leases[2 * index] = index, lease
  ends[2 * index - 1], ends[2 * index] = index, index
  groups[2 * index - 1], groups[2 * index] = name, record
  given[index] = slot
end
redis.call('HSET', KEYS[1], unpack(slots))
redis.call('HSET', KEYS[1] .. ':leases', unpack(leases))
redis.call('ZADD', KEYS[1] .. ':ends', unpack(ends))
redis.call('HSET', KEYS[1] .. ':groups', unpack(groups))
redis.call('ZADD', KEYS[1] .. ':due', unpack(ends))
return given
"""


class Floor:
    """Does what is written, and decides nothing."""

    KEY: Final = "floor"

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._calls = 0
        self._groups: list[str] = []

    async def add(self, calls: int, *, urls: int) -> None:
        """Write as many entries as so many calls queue."""
        for _ in range(calls):
            first = self._calls * urls
            self._calls += 1
            ids = [(first + number).to_bytes(ID_BYTES) for number in range(urls)]
            values = (os.urandom(SLOT_BYTES), os.urandom(PLACE_BYTES), os.urandom(GROUP_BYTES))
            await self._redis.command("EVAL", _ADD, 1, self.KEY, first, *values, BUCKETS, *ids)
            self._groups += [f"h{(first + number + 1) % 5000}" for number in range(0, urls, 8)]

    async def take(self, calls: int, *, urls: int) -> None:
        """Take as many as so many calls release, one of each host."""
        for _ in range(calls):
            names, self._groups = self._groups[:urls], self._groups[urls:]
            values: Sequence[str | bytes | int] = (urls, os.urandom(LEASE_BYTES), os.urandom(GROUP_BYTES))
            taken = await self._redis.command("EVAL", _TAKE, 1, self.KEY, *values, *names)
            assert len(taken) == urls
