"""Libraries of functions of versions that ran once, on a real server."""

from __future__ import annotations

from typing import Final

from strider.frontier.redis.admin import ShardAdmin
from strider.frontier.redis.function_library import LIBRARY_PREFIX, frontier_function, library_name
from strider.frontier.redis.function_library_gc import UNUSED_SECONDS, FunctionLibraryCollector
from strider.runtime.clocks import SystemClock
from strider.storage.keys import FUNCTION_LIBRARIES
from strider.storage.redis import Redis

OLD: Final = f"{LIBRARY_PREFIX}000000000000"
OTHERS: Final = "somebody_elses"
KEY: Final = FUNCTION_LIBRARIES("frontier")


async def load(redis: Redis, name: str) -> None:
    body = f"redis.register_function('{name}_f', function() return 1 end)"
    await redis.command("FUNCTION", "LOAD", "REPLACE", f"#!lua name={name}\n{body}")


async def names(redis: Redis) -> set[str]:
    told = await redis.command("FUNCTION", "LIST")
    found = {str(each) for each in (OLD, OTHERS, library_name()) if each.encode() in repr(told).encode()}
    assert told
    return found


async def age(redis: Redis, name: str) -> None:
    """Let a week pass for one of them."""
    spoken_at = float(await redis.command("ZSCORE", KEY, name))
    await redis.command("ZADD", KEY, spoken_at - UNUSED_SECONDS - 1, name)


async def test_a_library_that_is_unused_for_a_week_is_removed(redis: Redis) -> None:
    """Only of ours, only after its week, and never the one that is used here, however late that is."""
    await ShardAdmin(redis).invalidate(0)
    for name in (OLD, OTHERS):
        await load(redis, name)
    libraries = FunctionLibraryCollector(
        redis, own=library_name(), prefix=LIBRARY_PREFIX, clock=SystemClock()
    )

    first = await libraries.collect()
    for name in (OLD, library_name()):
        await age(redis, name)
    second, third = await libraries.collect(), await libraries.collect()

    assert (first, second, third) == ([], [OLD], [])
    assert await names(redis) == {OTHERS, library_name()}
    await redis.command("FUNCTION", "DELETE", OTHERS)


async def test_a_process_that_still_used_it_loads_it_again(redis: Redis) -> None:
    """So a mistake costs one call, and no answer is wrong."""
    tending = ShardAdmin(redis)
    await tending.invalidate(0)
    await redis.command("FUNCTION", "DELETE", library_name())

    assert await tending.expire_leases(0, older_than_ms=0) == 0
    assert library_name() in await names(redis)
    assert frontier_function("expire_leases").is_function
