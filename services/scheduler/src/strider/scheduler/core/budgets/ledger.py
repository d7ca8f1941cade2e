"""Who may spend how much of a run's budget? The log decides, and everybody reads it alike.

A shard says what its parts shall be raised to, or lowered to; each such word names the whole parts, so a
repeat changes nothing. Every scheduler takes the words in the order of the log and so comes to the same
parts, whose sum never exceeds the budget. No shard owns the budget, so none can lose it.

An owner of a shard gives only what a word of its own epoch has been heard for; what an earlier owner still
says is then ignored. What is spent is told too: when it adds up to the budget that is used up, and until
then somebody may still give back. When the first word about a run was said is when its time began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.generated.events import JobEvent

EPOCH_COUNT: Final = "epoch"
STARTED_COUNT: Final = "began_ms"
CLAIM_NUMBER_COUNT: Final = "word"


class BudgetMeasure(StrEnum):
    """What shards have parts of. Time has none: it passes for all alike."""

    PAGES = "pages"
    BYTES = "bytes"


LIMITS: Final = {BudgetMeasure.PAGES: "limit", BudgetMeasure.BYTES: "limit_bytes"}
USED_COUNTS: Final = {BudgetMeasure.PAGES: "used", BudgetMeasure.BYTES: "used_bytes"}
SMALLEST_USEFUL_COUNT: Final = "scrap_bytes"
"""Names of counts in a word."""


@dataclass(slots=True)
class BudgetShare:
    """The part of one shard."""

    allowed: int = 0
    wanted: int = 0
    """What it asked to be raised to."""
    used: int = 0
    """What it has told to be spent."""
    epoch: int = -1
    """Of the owner that was heard last."""
    claim_number: int = 0
    """Number of its last word that was heard."""


@dataclass(slots=True)
class Pool:
    """The budget of one run, of one measure."""

    limit: int = 0
    scrap: int = 1
    """Less than that is not worth having."""
    shares: dict[int, BudgetShare] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """What nobody has."""
        return max(0, self.limit - sum(share.allowed for share in self.shares.values()))

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for what others have."""
        return self.limit > 0 and self.first_waiting is not None

    @property
    def first_waiting(self) -> int | None:
        """The first shard that waits, which gets what comes back."""
        waiting = (number for number, share in self.shares.items() if share.wanted > share.allowed)
        return min(waiting, default=None)

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing of it is left that is worth having."""
        return 0 < self.limit < sum(share.used for share in self.shares.values()) + self.scrap

    def holds_remainder(self, shard: int) -> bool:
        """Say whether all that is left of it is one shard's, so that nothing more can come."""
        others = (share for number, share in self.shares.items() if number != shard)
        return not self.free and all(share.allowed <= share.used for share in others)

    def hear(self, event: JobEvent, measure: BudgetMeasure) -> bool:
        """Take in one word; False for one of an earlier owner."""
        share = self.shares.setdefault(event.shard, BudgetShare())
        epoch = event.counts.get(EPOCH_COUNT, 0)
        if epoch < share.epoch:
            return False
        named = event.pages if measure is BudgetMeasure.PAGES else event.bytes
        share.epoch = epoch
        share.claim_number = event.counts.get(CLAIM_NUMBER_COUNT, 0)
        share.used = event.counts.get(USED_COUNTS[measure], 0)
        self.limit = event.counts.get(LIMITS[measure], 0)
        self.scrap = (
            max(1, event.counts.get(SMALLEST_USEFUL_COUNT, 1)) if measure is BudgetMeasure.BYTES else 1
        )
        if event.what == What.QUOTA_RETURNED:
            share.allowed = share.wanted = min(share.allowed, named)
        else:
            share.wanted = named
        self.distribute()
        return True

    def distribute(self) -> None:
        """Give what is free to who waits, in the order of the shards."""
        free = self.free
        for _, share in sorted(self.shares.items()):
            given = min(max(0, share.wanted - share.allowed), free)
            share.allowed += given
            free -= given


class Ledger:
    """The budgets of all runs that have one, as the log has them."""

    def __init__(self) -> None:
        self._pools: dict[str, dict[BudgetMeasure, Pool]] = {}
        self._began_ms: dict[str, int] = {}

    def apply(self, event: JobEvent) -> bool:
        """Take in one event; says whether it was about a budget."""
        if event.what not in {What.QUOTA_WANTED, What.QUOTA_RETURNED} or event.is_wish:
            return False
        run = event.execution_id
        pools = self._pools.setdefault(run, {measure: Pool() for measure in BudgetMeasure})
        began_ms = event.counts.get(STARTED_COUNT) or event.at_ms
        self._began_ms[run] = min(began_ms, self._began_ms.get(run, began_ms))
        heard = {measure: pool.hear(event, measure) for measure, pool in pools.items()}
        return all(heard.values())

    def pool(self, execution_id: str, measure: BudgetMeasure = BudgetMeasure.PAGES) -> Pool:
        """Give the budget of a run."""
        pools = self._pools.get(execution_id)
        return Pool() if pools is None else pools[measure]

    def share(
        self, execution_id: str, shard: int, measure: BudgetMeasure = BudgetMeasure.PAGES
    ) -> BudgetShare:
        """Give a shard's part of it."""
        return self.pool(execution_id, measure).shares.get(shard) or BudgetShare()

    def is_heard(self, execution_id: str, shard: int, epoch: int) -> bool:
        """Say whether a word of a shard's owner about a run stands in the log."""
        return self.share(execution_id, shard).epoch == epoch

    def started_ms(self, execution_id: str) -> int:
        """Say when a run's time began; 0 where nothing was said of it."""
        return self._began_ms.get(execution_id, 0)

    def exhausted_measure(self, execution_id: str) -> str:
        """Name the measure of which nothing is left; empty while there is something of each."""
        pools = self._pools.get(execution_id, {})
        return next((measure.value for measure, pool in pools.items() if pool.is_exhausted), "")

    def runs_of_shard(self, shard: int) -> Iterator[str]:
        """Name the runs that a shard has said something about."""
        return (name for name, pools in self._pools.items() if shard in pools[BudgetMeasure.PAGES].shares)
