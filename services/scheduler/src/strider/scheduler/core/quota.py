"""Who may fetch how many pages of a run's budget? The log decides, and everybody reads it alike.

A shard says what its part shall be raised to, or lowered to; each such word names the whole part, so a
repeat changes nothing. Every scheduler takes the words in the order of the log and so comes to the same
parts, whose sum never exceeds the budget. No shard owns the budget, so none can lose it.

An owner of a shard gives only what a word of its own epoch has been heard for; what an earlier owner still
says is then ignored. Parts that are fetched are told too: when they add up to the budget it is spent, and
until then somebody may still give back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.words import JobEvent as What

LIMIT: Final = "limit"
EPOCH: Final = "epoch"
USED: Final = "used"


@dataclass(slots=True)
class Share:
    """The part of one shard."""

    allowed: int = 0
    wanted: int = 0
    """What it asked to be raised to."""
    used: int = 0
    """Pages that it has told to have come."""
    epoch: int = -1
    """Of the owner that was heard last."""


@dataclass(slots=True)
class Pool:
    """The budget of one run."""

    limit: int = 0
    shares: dict[int, Share] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """What nobody has."""
        return max(0, self.limit - sum(share.allowed for share in self.shares.values()))

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for what others have."""
        return any(share.wanted > share.allowed for share in self.shares.values())

    @property
    def is_spent(self) -> bool:
        """Whether every page of it has come."""
        return 0 < self.limit <= sum(share.used for share in self.shares.values())

    def share_out(self) -> None:
        """Give what is free to who waits, in the order of the shards."""
        free = self.free
        for _, share in sorted(self.shares.items()):
            given = min(max(0, share.wanted - share.allowed), free)
            share.allowed += given
            free -= given


class Ledger:
    """The budgets of all runs that have one, as the log has them."""

    def __init__(self) -> None:
        self._pools: dict[str, Pool] = {}

    def take(self, event: JobEvent) -> bool:
        """Take in one event; says whether it was about a budget."""
        if event.what not in {What.QUOTA_WANTED, What.QUOTA_RETURNED} or event.is_wish:
            return False
        pool = self._pools.setdefault(event.execution_id, Pool())
        share = pool.shares.setdefault(event.shard, Share())
        epoch = event.counts.get(EPOCH, 0)
        if epoch < share.epoch:
            return False
        share.epoch = epoch
        share.used = event.counts.get(USED, 0)
        pool.limit = event.counts.get(LIMIT, 0)
        if event.what == What.QUOTA_RETURNED:
            share.allowed = share.wanted = min(share.allowed, event.pages)
        else:
            share.wanted = event.pages
        pool.share_out()
        return True

    def pool(self, execution_id: str) -> Pool:
        """Give the budget of a run."""
        return self._pools.get(execution_id) or Pool()

    def share(self, execution_id: str, shard: int) -> Share:
        """Give a shard's part of it."""
        return self.pool(execution_id).shares.get(shard) or Share()

    def held_by(self, shard: int) -> Iterator[str]:
        """Name the runs that a shard has a part of."""
        return (name for name, pool in self._pools.items() if shard in pool.shares)
