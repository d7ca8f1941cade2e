"""A process that archives the logs of all runs, as a scheduler does those of the runs whose end it proved."""

from __future__ import annotations

import asyncio
import sys

from strider.runtime.clocks import SystemClock
from strider.scheduler.loops.log_archive import RunLogArchiveLoop
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.redis import RedisOptions, connect
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.redis_log import RedisRunLogs


async def archive(redis_url: str, objects_url: str) -> None:
    """Archive until there is nothing left to archive."""
    redis, clock = connect(RedisOptions(redis_url)), SystemClock()
    objects = open_object_store(ObjectOptions(objects_url), clock=clock)
    logs = RedisRunLogs(redis)
    loop = RunLogArchiveLoop(
        logs,
        RunLogArchive(objects),
        has_ended=lambda _run: True,
        clock=clock,
        keep_days=30,
        settle_seconds=0,
    )
    while await logs.quiet_runs(quiet_seconds=0, skip=0, count=1):
        await loop.run_once()
    await redis.close()
    await objects.close()


if __name__ == "__main__":
    asyncio.run(archive(*sys.argv[1:]))
