"""Count the entries of runs in an owned shard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strider.frontier.models import RunEntryCounts
from strider.frontier.ports import ShardNotReady
from strider.messaging.errors import ShardFenced, Unavailable
from strider.scheduler.core.runs.completion import ShardRunCount

from .shard import OwnedShard


async def read_run_counts(shard: OwnedShard) -> Mapping[str, RunEntryCounts] | None:
    """Return the entries of every run in a shard; None where it is not ready, or has another owner."""
    if not shard.is_ready:
        return None
    try:
        with shard.require_ready():
            return await shard.working_set.run_counts(shard.number, shard.epoch)
    except (
        Unavailable,
        ShardNotReady,
        ShardFenced,
    ):  # a shard that another process owns by now is counted there
        return None


async def count_run(shard: OwnedShard, execution_id: str) -> ShardRunCount:
    """Return the entries of one run in a shard."""
    counts = await count_runs(shard, [execution_id])
    return counts[execution_id]


async def count_runs(shard: OwnedShard, execution_ids: Iterable[str]) -> Mapping[str, ShardRunCount]:
    """Return the entries of some runs in a shard, with one request."""
    counted_by = _count_version(shard)
    counts = await read_run_counts(shard)
    if counts is None or counted_by != _count_version(shard):  # it is unknown which owner or rebuild counted
        return dict.fromkeys(execution_ids, ShardRunCount(is_ready=False))
    return {
        run: ShardRunCount(
            is_ready=True,
            open=counts[run].open if run in counts else 0,
            accepted=counts[run].accepted if run in counts else 0,
            counted_by=counted_by,
        )
        for run in execution_ids
    }


def _count_version(shard: OwnedShard) -> tuple[int, int]:
    return shard.epoch, shard.rebuilt_at_ms
