"""Groups that are idle -> forgotten by the working set.

Whoever owns the shard tells such a group anew before it matters: a group that is forgotten and released
from is told of its delay before its request has ended. That holds between two looks at the queues only.
"""

from __future__ import annotations

from .shard import Shard


async def prune(shard: Shard) -> None:
    """Have the working set forget some groups that are idle."""
    try:
        with shard.ready():
            gone = await shard.working_set.prune_host_groups(shard.number, shard.epoch)
    except BaseException:
        shard.groups.untold()  # the answer may be lost, and nobody knows which they were
        raise
    shard.groups.untold(gone)
