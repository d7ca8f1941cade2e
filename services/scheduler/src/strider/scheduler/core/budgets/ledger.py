"""Division of a run's budget among shards, derived from the log of job-events.

Each crawl spec of a run has a budget of its own: a spec never changes, so neither do the limits of what was
accepted under it, and an entry with another spec neither spends nor ends it.

A shard publishes what its shares are to be raised to, or lowered to; each claim names the whole share, so a
repeat changes nothing. Every scheduler applies the claims in the order of the log and comes to the same
shares, whose sum never exceeds the budget. No shard owns the budget, so none can lose it.

The owner of a shard spends only what a claim of its own epoch has confirmed; later claims of an earlier owner
are ignored. Claims carry what was spent: once that adds up to the limit, the budget is exhausted, and until
then a share may still be returned. A run's time starts with its first claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent

EPOCH_COUNT: Final = "epoch"
STARTED_COUNT: Final = "began_ms"
CLAIM_NUMBER_COUNT: Final = "word"


class BudgetKey(NamedTuple):
    """Entries that share a budget: those of one run under one crawl spec."""

    execution_id: str
    crawl_spec_id: str


class BudgetMeasure(StrEnum):
    """Measures that are divided into shares. Time is not: it passes for all shards alike."""

    PAGES = "pages"
    BYTES = "bytes"


LIMIT_COUNTS: Final = {BudgetMeasure.PAGES: "limit", BudgetMeasure.BYTES: "limit_bytes"}
USED_COUNTS: Final = {BudgetMeasure.PAGES: "used", BudgetMeasure.BYTES: "used_bytes"}
SMALLEST_USEFUL_COUNT: Final = "scrap_bytes"
"""Names of the counts in a claim's job event."""


@dataclass(slots=True)
class BudgetShare:
    """Share of one shard."""

    allowed: int = 0
    wanted: int = 0
    """Amount that the shard claims."""
    used: int = 0
    """Amount that the shard has published as spent."""
    epoch: int = -1
    """Epoch of the owner whose claim was applied last."""
    claim_number: int = 0
    """Number of the last claim applied."""


@dataclass(slots=True)
class BudgetPool:
    """One budget in one measure."""

    limit: int = 0
    smallest_useful: int = 1
    """A smaller remainder counts as nothing."""
    shares: dict[int, BudgetShare] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """Amount that no shard has."""
        return max(0, self.limit - sum(share.allowed for share in self.shares.values()))

    @property
    def is_short(self) -> bool:
        """Whether a shard waits for what others have."""
        return self.limit > 0 and self.first_waiting is not None

    @property
    def first_waiting(self) -> int | None:
        """First shard that waits, which gets what is returned."""
        waiting = (number for number, share in self.shares.items() if share.wanted > share.allowed)
        return min(waiting, default=None)

    @property
    def is_exhausted(self) -> bool:
        """Whether no useful amount is left."""
        return 0 < self.limit < sum(share.used for share in self.shares.values()) + self.smallest_useful

    def holds_remainder(self, shard: int) -> bool:
        """Whether one shard has all that is left, so that nothing more can be returned by others."""
        others = (share for number, share in self.shares.items() if number != shard)
        return not self.free and all(share.allowed <= share.used for share in others)

    def apply(self, event: JobEvent, measure: BudgetMeasure) -> bool:
        """Apply a claim; return False for one of an earlier owner."""
        share = self.shares.setdefault(event.shard, BudgetShare())
        epoch = event.counts.get(EPOCH_COUNT, 0)
        if epoch < share.epoch:
            return False
        named = event.pages if measure is BudgetMeasure.PAGES else event.bytes
        share.epoch = epoch
        share.claim_number = event.counts.get(CLAIM_NUMBER_COUNT, 0)
        share.used = event.counts.get(USED_COUNTS[measure], 0)
        self.limit = event.counts.get(LIMIT_COUNTS[measure], 0)
        self.smallest_useful = (
            max(1, event.counts.get(SMALLEST_USEFUL_COUNT, 1)) if measure is BudgetMeasure.BYTES else 1
        )
        if event.what == JobEventKind.QUOTA_RETURNED:
            share.allowed = share.wanted = min(share.allowed, named)
        else:
            share.wanted = named
        self.distribute()
        return True

    def distribute(self) -> None:
        """Distribute what is free among waiting shards, in the order of their numbers."""
        free = self.free
        for _, share in sorted(self.shares.items()):
            given = min(max(0, share.wanted - share.allowed), free)
            share.allowed += given
            free -= given


class BudgetLedger:
    """All budgets, as derived from the log."""

    def __init__(self) -> None:
        self._pools: dict[BudgetKey, dict[BudgetMeasure, BudgetPool]] = {}
        self._began_ms: dict[BudgetKey, int] = {}
        self._claimed_ms: dict[BudgetKey, int] = {}
        """Time of the latest claim."""

    def apply(self, event: JobEvent) -> bool:
        """Apply an event; return whether it changed a budget."""
        if event.what not in {JobEventKind.QUOTA_WANTED, JobEventKind.QUOTA_RETURNED} or event.is_wish:
            return False
        key = BudgetKey(event.execution_id, event.crawl_spec_id)
        pools = self._pools.setdefault(key, {measure: BudgetPool() for measure in BudgetMeasure})
        self._claimed_ms[key] = max(event.at_ms, self._claimed_ms.get(key, 0))
        began_ms = event.counts.get(STARTED_COUNT) or event.at_ms
        self._began_ms[key] = min(began_ms, self._began_ms.get(key, began_ms))
        applied = {measure: pool.apply(event, measure) for measure, pool in pools.items()}
        return all(applied.values())

    def pool(self, key: BudgetKey, measure: BudgetMeasure = BudgetMeasure.PAGES) -> BudgetPool:
        """Return a budget in one measure."""
        pools = self._pools.get(key)
        return BudgetPool() if pools is None else pools[measure]

    def share(self, key: BudgetKey, shard: int, measure: BudgetMeasure = BudgetMeasure.PAGES) -> BudgetShare:
        """Return the share of a shard."""
        return self.pool(key, measure).shares.get(shard) or BudgetShare()

    def is_recorded(self, key: BudgetKey, shard: int, epoch: int) -> bool:
        """Whether a claim of a shard's owner, by its epoch, stands in the log."""
        return self.share(key, shard).epoch == epoch

    def started_ms(self, key: BudgetKey) -> int:
        """Return when the time of a budget started; 0 before its first claim."""
        return self._began_ms.get(key, 0)

    def exhausted_measure(self, key: BudgetKey) -> str:
        """Return the measure that is exhausted; empty while something of each is left."""
        pools = self._pools.get(key, {})
        return next((measure.value for measure, pool in pools.items() if pool.is_exhausted), "")

    def budgets_claimed_before(self, before_ms: int) -> list[BudgetKey]:
        """Return the budgets whose latest claim is older."""
        return [key for key, claimed_ms in self._claimed_ms.items() if claimed_ms < before_ms]

    def is_known(self, key: BudgetKey) -> bool:
        """Whether there is a claim to a budget."""
        return key in self._claimed_ms

    def forget(self, key: BudgetKey) -> None:
        """Forget a budget whose claims the log no longer has."""
        for by_key in (self._pools, self._began_ms, self._claimed_ms):
            by_key.pop(key, None)

    def budgets_of_shard(self, shard: int) -> Iterator[BudgetKey]:
        """Yield the budgets for which a shard has published a claim."""
        return (name for name, pools in self._pools.items() if shard in pools[BudgetMeasure.PAGES].shares)
