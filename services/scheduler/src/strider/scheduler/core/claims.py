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

from .account import Account
from .quota import BEGAN, EPOCH, LIMITS, SCRAP, USED, WORD, Ledger, Measure, Share

IDLE_SECONDS: Final = 1.0
"""How long nothing was asked for, before a shard gives back what others wait for."""

ASKS_SECONDS: Final = 5.0
"""How long ago somebody was sent away who still waits: longer, and the entries are gone, or rest."""

PARTS: Final = 4
"""A shard asks for so many parts of what would be its own if all had the same."""


@dataclass(frozen=True, slots=True)
class Owner:
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


def claim(run: str, account: Account, owner: Owner, ledger: Ledger, *, now: float) -> Claim | None:
    """Say what is to be said; None for nothing."""
    is_heard = ledger.is_heard(run, owner.shard, owner.epoch)
    shares = {each: ledger.share(run, owner.shard, each) for each in account.limited}
    is_told = is_heard and (bool(account.holds) or _are_told(account, shares))
    if account.is_waiting and now - account.asked_at < ASKS_SECONDS:
        if is_heard and _is_in_the_way(run, account, owner.shard, ledger):
            return _returned(account)
        needs = {each: account.taken_of(each) + account.least_of(each) for each in shares}
        if is_told and all(share.wanted >= needs[each] for each, share in shares.items()):
            return None
        blocks = {each: account.most[each] // (PARTS * owner.shards) for each in shares}
        wanted = {each: max(needs[each], account.taken_of(each) + blocks[each]) for each in shares}
        return _claim(What.QUOTA_WANTED, account, wanted)
    if account.holds or now - account.asked_at < IDLE_SECONDS:
        return None
    has_nothing = all(
        max(share.allowed, share.wanted) <= account.used_of(each) for each, share in shares.items()
    )
    if (is_told and has_nothing) or not any(ledger.pool(run, each).is_short for each in Measure):
        return None
    return _returned(account)


def spoken(word: Claim, run: str, account: Account, owner: Owner, ledger: Ledger, *, now_ms: int) -> JobEvent:
    """Put a claim into words; the account knows that it was said."""
    number = account.words = 1 + max(account.words, ledger.share(run, owner.shard).word)
    if word.what == What.QUOTA_RETURNED:
        account.returned_by = number
    return JobEvent(
        event_id=f"{run}/{owner.shard}/{owner.epoch}/{word.what}/{number}",
        what=word.what,
        is_wish=False,
        at_ms=now_ms,
        by="scheduler",
        execution_id=run,
        shard=owner.shard,
        pages=word.pages,
        bytes=word.bytes,
        counts={
            EPOCH: owner.epoch,
            WORD: number,
            BEGAN: ledger.began_ms(run) or now_ms,
            SCRAP: account.scrap_bytes,
            LIMITS[Measure.PAGES]: account.most[Measure.PAGES],
            LIMITS[Measure.BYTES]: account.most[Measure.BYTES],
            USED[Measure.PAGES]: word.used_pages,
            USED[Measure.BYTES]: word.used_bytes,
        },
    )


def _are_told(account: Account, shares: Mapping[Measure, Share]) -> bool:
    return all(share.used == account.used_of(each) for each, share in shares.items())


def _is_in_the_way(run: str, account: Account, shard: int, ledger: Ledger) -> bool:
    """Say whether a part is too small for a request, while a shard before this one waits for more, too."""
    if account.holds or not account.most[Measure.BYTES]:
        return False
    allowed, used = ledger.share(run, shard, Measure.BYTES).allowed, account.used.bytes
    first = ledger.pool(run, Measure.BYTES).first_waiting
    return used < allowed < used + account.least_of(Measure.BYTES) and first is not None and first < shard


def _returned(account: Account) -> Claim:
    return _claim(What.QUOTA_RETURNED, account, {each: account.used_of(each) for each in Measure})


def _claim(what: What, account: Account, named: Mapping[Measure, int]) -> Claim:
    used = account.used
    pages, size = named.get(Measure.PAGES, 0), named.get(Measure.BYTES, 0)
    return Claim(what.value, pages, size, used.pages, used.bytes)
