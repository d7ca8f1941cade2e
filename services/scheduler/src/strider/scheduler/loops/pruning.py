"""Groups that are idle -> forgotten by the working set.

Whoever owns the shard tells such a group anew before it matters: a group that is forgotten and released
from is told of its delay before its request has ended. That holds between two looks at the queues only.
"""

from __future__ import annotations

from strider.scheduler.shard.shard import OwnedShard


async def prune(shard: OwnedShard) -> None:
    """Have the working set forget some groups that are idle."""
    try:
        with shard.require_ready():
            gone = await shard.working_set.prune_host_groups(shard.number, shard.epoch)
    except BaseException:
        shard.host_groups.untold()  # the answer may be lost, and nobody knows which they were
        raise
    shard.host_groups.untold(gone)
