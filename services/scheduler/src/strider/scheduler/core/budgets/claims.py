"""What does a shard say about its part of a run's budget?

    somebody was sent away         ──▶ wanted: enough for one more request, and a block beyond that
    others wait, and nothing asks  ──▶ returned: all that is not spent
    its part is too small for one  ──▶ returned, if a shard before it waits too: so one of them has enough

What is spent goes with each word. Decides nothing about who gets what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.generated.events import JobEvent

from .ledger import (
    CLAIM_NUMBER_COUNT,
    EPOCH_COUNT,
    LIMITS,
    SMALLEST_USEFUL_COUNT,
    STARTED_COUNT,
    USED_COUNTS,
    BudgetMeasure,
    BudgetShare,
    Ledger,
)
from .usage import ShardUsage

IDLE_SECONDS: Final = 1.0
"""How long nothing was asked for, before a shard gives back what others wait for."""

WAITING_SECONDS: Final = 5.0
"""How long ago somebody was sent away who still waits: longer, and the entries are gone, or rest."""

BLOCK_DIVISOR: Final = 4
"""A shard asks for so many parts of what would be its own if all had the same."""


@dataclass(frozen=True, slots=True)
class ShardOwner:
    """A shard, and the epoch of who has it."""

    shard: int
    epoch: int
    shards: int
    """How many there are."""


class Claim(NamedTuple):
    """What a shard has to say."""

    what: str
    pages: int
    bytes: int
    """What its parts shall be raised to, or lowered to."""
    used_pages: int
    used_bytes: int


def claim(run: str, usage: ShardUsage, owner: ShardOwner, ledger: Ledger, *, now: float) -> Claim | None:
    """Say what is to be said; None for nothing."""
    is_heard = ledger.is_heard(run, owner.shard, owner.epoch)
    shares = {each: ledger.share(run, owner.shard, each) for each in usage.limited_measures}
    is_told = is_heard and (bool(usage.reservations) or _are_published(usage, shares))
    if usage.is_waiting and now - usage.asked_at < WAITING_SECONDS:
        if is_heard and _blocks_earlier_shard(run, usage, owner.shard, ledger):
            return _return_claim(usage)
        needs = {each: usage.used_or_reserved_of(each) + usage.needed_for_request(each) for each in shares}
        if is_told and all(share.wanted >= needs[each] for each, share in shares.items()):
            return None
        blocks = {each: usage.run_limits[each] // (BLOCK_DIVISOR * owner.shards) for each in shares}
        wanted = {each: max(needs[each], usage.used_or_reserved_of(each) + blocks[each]) for each in shares}
        return _claim(What.QUOTA_WANTED, usage, wanted)
    if usage.reservations or now - usage.asked_at < IDLE_SECONDS:
        return None
    has_nothing = all(
        max(share.allowed, share.wanted) <= usage.used_of(each) for each, share in shares.items()
    )
    if (is_told and has_nothing) or not any(ledger.pool(run, each).is_short for each in BudgetMeasure):
        return None
    return _return_claim(usage)


def claim_event(
    claim: Claim, run: str, usage: ShardUsage, owner: ShardOwner, ledger: Ledger, *, now_ms: int
) -> JobEvent:
    """Put a claim into words; the account knows that it was said."""
    number = usage.claims_published = 1 + max(
        usage.claims_published, ledger.share(run, owner.shard).claim_number
    )
    if claim.what == What.QUOTA_RETURNED:
        usage.last_return = number
    return JobEvent(
        event_id=f"{run}/{owner.shard}/{owner.epoch}/{claim.what}/{number}",
        what=claim.what,
        is_wish=False,
        at_ms=now_ms,
        by="scheduler",
        execution_id=run,
        shard=owner.shard,
        pages=claim.pages,
        bytes=claim.bytes,
        counts={
            EPOCH_COUNT: owner.epoch,
            CLAIM_NUMBER_COUNT: number,
            STARTED_COUNT: ledger.started_ms(run) or now_ms,
            SMALLEST_USEFUL_COUNT: usage.smallest_useful_bytes,
            LIMITS[BudgetMeasure.PAGES]: usage.run_limits[BudgetMeasure.PAGES],
            LIMITS[BudgetMeasure.BYTES]: usage.run_limits[BudgetMeasure.BYTES],
            USED_COUNTS[BudgetMeasure.PAGES]: claim.used_pages,
            USED_COUNTS[BudgetMeasure.BYTES]: claim.used_bytes,
        },
    )


def _are_published(account: ShardUsage, shares: Mapping[BudgetMeasure, BudgetShare]) -> bool:
    return all(share.used == account.used_of(each) for each, share in shares.items())


def _blocks_earlier_shard(run: str, account: ShardUsage, shard: int, ledger: Ledger) -> bool:
    """Say whether a part is too small for a request, while a shard before this one waits for more, too."""
    if account.reservations or not account.run_limits[BudgetMeasure.BYTES]:
        return False
    allowed, used = ledger.share(run, shard, BudgetMeasure.BYTES).allowed, account.used.bytes
    first = ledger.pool(run, BudgetMeasure.BYTES).first_waiting
    return (
        used < allowed < used + account.needed_for_request(BudgetMeasure.BYTES)
        and first is not None
        and first < shard
    )


def _return_claim(account: ShardUsage) -> Claim:
    return _claim(What.QUOTA_RETURNED, account, {each: account.used_of(each) for each in BudgetMeasure})


def _claim(what: What, account: ShardUsage, named: Mapping[BudgetMeasure, int]) -> Claim:
    used = account.used
    pages, size = named.get(BudgetMeasure.PAGES, 0), named.get(BudgetMeasure.BYTES, 0)
    return Claim(what.value, pages, size, used.pages, used.bytes)
