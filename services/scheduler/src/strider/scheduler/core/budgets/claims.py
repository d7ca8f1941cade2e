"""Claims of a shard to its share of a run's budget.

    a request was refused           ──▶ wanted: enough for one more request, and a block beyond that
    others wait, and nothing asks   ──▶ returned: all that is not spent
    share too small for a request   ──▶ returned, if an earlier shard waits too: so one of them has enough

Each claim carries what the shard has spent. How shares are divided is `ledger`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent

from .ledger import (
    CLAIM_NUMBER_COUNT,
    EPOCH_COUNT,
    LIMIT_COUNTS,
    SMALLEST_USEFUL_COUNT,
    STARTED_COUNT,
    USED_COUNTS,
    BudgetKey,
    BudgetLedger,
    BudgetMeasure,
    BudgetShare,
)
from .usage import ShardUsage

IDLE_SECONDS: Final = 1.0
"""Seconds without a request after which a shard returns what others wait for."""

WAITING_SECONDS: Final = 5.0
"""Seconds for which a refused request counts as waiting; after that its entries are gone or blocked."""

BLOCK_DIVISOR: Final = 4
"""A shard claims this fraction of an equal share beyond what it needs."""


@dataclass(frozen=True, slots=True)
class ShardOwner:
    """A shard, and the epoch of its owner."""

    shard: int
    epoch: int
    shards: int
    """Number of shards."""


class BudgetClaim(NamedTuple):
    """Claim of a shard, as it is published."""

    what: str
    pages: int
    bytes: int
    """Amounts that its shares are to be raised to, or lowered to."""
    used_pages: int
    used_bytes: int


def next_claim(
    key: BudgetKey, usage: ShardUsage, owner: ShardOwner, ledger: BudgetLedger, *, now: float
) -> BudgetClaim | None:
    """Return the claim to publish; None for nothing."""
    is_recorded = ledger.is_recorded(key, owner.shard, owner.epoch)
    shares = {each: ledger.share(key, owner.shard, each) for each in usage.limited_measures}
    is_published = is_recorded and (bool(usage.reservations) or _are_published(usage, shares))
    if usage.is_waiting and now - usage.requested_at < WAITING_SECONDS:
        if is_recorded and _blocks_earlier_shard(key, usage, owner.shard, ledger):
            return _return_claim(usage)
        needs = {each: usage.used_or_reserved_of(each) + usage.needed_for_request(each) for each in shares}
        if is_published and all(share.wanted >= needs[each] for each, share in shares.items()):
            return None
        blocks = {each: usage.run_limits[each] // (BLOCK_DIVISOR * owner.shards) for each in shares}
        wanted = {each: max(needs[each], usage.used_or_reserved_of(each) + blocks[each]) for each in shares}
        return _make_claim(JobEventKind.QUOTA_WANTED, usage, wanted)
    if usage.reservations or now - usage.requested_at < IDLE_SECONDS:
        return None
    has_nothing = all(
        max(share.allowed, share.wanted) <= usage.used_of(each) for each, share in shares.items()
    )
    if (is_published and has_nothing) or not any(ledger.pool(key, each).is_short for each in BudgetMeasure):
        return None
    return _return_claim(usage)


def claim_event(
    claim: BudgetClaim,
    key: BudgetKey,
    usage: ShardUsage,
    owner: ShardOwner,
    ledger: BudgetLedger,
    *,
    now_ms: int,
) -> JobEvent:
    """Return the job event of a claim, and record in the usage that it was published."""
    number = usage.claims_published = 1 + max(
        usage.claims_published, ledger.share(key, owner.shard).claim_number
    )
    if claim.what == JobEventKind.QUOTA_RETURNED:
        usage.last_return = number
    return JobEvent(
        event_id=f"{key.execution_id}/{key.crawl_spec_id}/{owner.shard}/{owner.epoch}/{claim.what}/{number}",
        what=claim.what,
        is_wish=False,
        at_ms=now_ms,
        by="scheduler",
        execution_id=key.execution_id,
        crawl_spec_id=key.crawl_spec_id,
        shard=owner.shard,
        pages=claim.pages,
        bytes=claim.bytes,
        counts={
            EPOCH_COUNT: owner.epoch,
            CLAIM_NUMBER_COUNT: number,
            STARTED_COUNT: ledger.started_ms(key) or now_ms,
            SMALLEST_USEFUL_COUNT: usage.smallest_useful_bytes,
            LIMIT_COUNTS[BudgetMeasure.PAGES]: usage.run_limits[BudgetMeasure.PAGES],
            LIMIT_COUNTS[BudgetMeasure.BYTES]: usage.run_limits[BudgetMeasure.BYTES],
            USED_COUNTS[BudgetMeasure.PAGES]: claim.used_pages,
            USED_COUNTS[BudgetMeasure.BYTES]: claim.used_bytes,
        },
    )


def _are_published(usage: ShardUsage, shares: Mapping[BudgetMeasure, BudgetShare]) -> bool:
    return all(share.used == usage.used_of(each) for each, share in shares.items())


def _blocks_earlier_shard(key: BudgetKey, usage: ShardUsage, shard: int, ledger: BudgetLedger) -> bool:
    """Whether a share is too small for a request while an earlier shard waits as well."""
    if usage.reservations or not usage.run_limits[BudgetMeasure.BYTES]:
        return False
    allowed, used = ledger.share(key, shard, BudgetMeasure.BYTES).allowed, usage.used.bytes
    first = ledger.pool(key, BudgetMeasure.BYTES).first_waiting
    return (
        used < allowed < used + usage.needed_for_request(BudgetMeasure.BYTES)
        and first is not None
        and first < shard
    )


def _return_claim(usage: ShardUsage) -> BudgetClaim:
    return _make_claim(
        JobEventKind.QUOTA_RETURNED, usage, {each: usage.used_of(each) for each in BudgetMeasure}
    )


def _make_claim(what: JobEventKind, usage: ShardUsage, named: Mapping[BudgetMeasure, int]) -> BudgetClaim:
    used = usage.used
    pages, size = named.get(BudgetMeasure.PAGES, 0), named.get(BudgetMeasure.BYTES, 0)
    return BudgetClaim(what.value, pages, size, used.pages, used.bytes)
