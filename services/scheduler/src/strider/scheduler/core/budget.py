"""How many pages may a run still fetch from a shard?

A place is reserved when a page is asked for, used when it came, given back when it did not. So a run
never fetches more pages than it may, and failures do not eat its budget. Repeats change nothing:
places are known by their lease, pages by their entry. How much of a run's budget a shard has is
`quota`'s; what a shard says about that is decided here, because here is known what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.words import JobEvent as What

from .quota import EPOCH, LIMIT, USED, Ledger

IDLE_SECONDS: Final = 1.0
"""How long nothing was asked for, before a shard gives back what others wait for."""

ASKS_SECONDS: Final = 5.0
"""How long ago somebody was sent away who still waits: longer, and the entries are gone, or rest."""

AGAIN_SECONDS: Final = 5.0
"""After which a word that was not heard is said again."""

NOTHING: Final[Mapping[str, tuple[str, str]]] = {}

PARTS: Final = 4
"""A shard asks for so many parts of what would be its own if all had the same."""


class Grant(StrEnum):
    """Answer to asking for a page."""

    GIVEN = "given"
    FULL = "full"
    """All that the shard has is under way, or more is asked for."""
    USED_UP = "used_up"


@dataclass(frozen=True, slots=True)
class Owner:
    """A shard, and the epoch of who has it."""

    shard: int
    epoch: int
    shards: int
    """How many there are."""


@dataclass(slots=True)
class _Account:
    used: set[str] = field(default_factory=set)
    """Entries whose page came."""
    reserved: dict[str, str] = field(default_factory=dict)
    """Leases under way by their sequences, with their entries."""
    most: int = 0
    is_waiting: bool = False
    """Whether the last one that asked was sent away."""
    asked_at: float = 0.0
    said: tuple[str, int, int] = ("", 0, 0)
    said_at: float = 0.0

    @property
    def taken(self) -> int:
        return len(self.used) + len(self.reserved)


class PageBudgets:
    """The page budgets of all runs that have one, in the shards that this process owns."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()
        self._accounts: dict[tuple[int, str], _Account] = {}
        self._uncounted: dict[int, float] = {}
        """Until when a shard asks for nothing of runs with a budget: till its pages are counted."""

    def reserve(  # one an answer
        self, execution_id: str, lease_id: str, entry_id: str, *, most: int, owner: Owner, now: float
    ) -> Grant:
        """Ask for a place; `most` 0 is no limit."""
        if most <= 0:
            return Grant.GIVEN
        if now < self._uncounted.get(owner.shard, 0.0):
            return Grant.FULL
        account = self._account(owner.shard, execution_id, most)
        account.asked_at = now
        if entry_id in account.used or place_of(lease_id) in account.reserved:
            return Grant.GIVEN
        if self.ledger.pool(execution_id).is_spent:
            return Grant.USED_UP
        share = self.ledger.share(execution_id, owner.shard)
        if share.epoch == owner.epoch and account.taken < share.allowed:
            account.reserved[place_of(lease_id)] = entry_id
            account.is_waiting = False
            return Grant.GIVEN
        account.is_waiting = True
        return Grant.FULL

    def is_used_up(self, execution_id: str, *, most: int) -> bool:
        """Say whether a new entry could not be fetched any more."""
        return most > 0 and self.ledger.pool(execution_id).is_spent

    def use(self, shard: int, execution_id: str, entry_id: str, *, most: int, lease_id: str = "") -> None:
        """Note that a page came; of runs without a limit nothing is kept, since they may never end."""
        if most > 0:
            account = self._account(shard, execution_id, most)
            account.reserved.pop(place_of(lease_id), None)
            account.used.add(entry_id)

    def give_back(self, shard: int, execution_id: str, lease_id: str) -> None:
        """Note that a lease ended without a page."""
        if (account := self._accounts.get((shard, execution_id))) is not None:
            account.reserved.pop(place_of(lease_id), None)

    def begin_count(self, shard: int) -> None:
        """Forget what was known of a shard: its pages are counted anew, from its truth."""
        self.give_back_shard(shard)
        self._uncounted[shard] = inf

    def is_to_count(self, shard: int) -> bool:
        """Say whether nobody has counted its pages yet."""
        return self._uncounted.get(shard) == inf

    def end_count(self, shard: int, *, at: float, leased: Mapping[str, tuple[str, str]] = NOTHING) -> None:
        """Go on at that time with what was counted; `leased` are run and entry of leases, by sequence."""
        for place, (execution_id, entry_id) in leased.items():
            account = self._account(shard, execution_id, 0)
            if entry_id not in account.used:
                account.reserved[place] = entry_id
        if shard in self._uncounted:
            self._uncounted[shard] = at

    def give_back_shard(self, shard: int) -> None:
        """Note that the shard is somebody else's now."""
        self._uncounted.pop(shard, None)
        for name in [name for name in self._accounts if name[0] == shard]:
            del self._accounts[name]

    def words(self, owner: Owner, *, now: float, now_ms: int) -> Iterator[JobEvent]:
        """Give what the shard has to say about its parts of budgets."""
        if now < self._uncounted.get(owner.shard, 0.0):
            return
        names = {execution_id for shard, execution_id in self._accounts if shard == owner.shard}
        for execution_id in sorted(names | set(self.ledger.held_by(owner.shard))):
            pool = self.ledger.pool(execution_id)
            if pool.is_spent:
                continue
            account = self._account(owner.shard, execution_id, pool.limit)
            word = self._word(execution_id, account, owner, now)
            if word is None or (word == account.said and now - account.said_at < AGAIN_SECONDS):
                continue
            account.said, account.said_at = word, now
            what, pages, used = word
            yield JobEvent(
                event_id=f"{execution_id}/{owner.shard}/{owner.epoch}/{what}/{pages}/{used}",
                what=what,
                is_wish=False,
                at_ms=now_ms,
                by="scheduler",
                execution_id=execution_id,
                shard=owner.shard,
                pages=pages,
                counts={LIMIT: account.most, EPOCH: owner.epoch, USED: used},
            )

    def _word(
        self, execution_id: str, account: _Account, owner: Owner, now: float
    ) -> tuple[str, int, int] | None:
        share, used = self.ledger.share(execution_id, owner.shard), len(account.used)
        is_heard = share.epoch == owner.epoch
        is_told = is_heard and (share.used == used or bool(account.reserved))
        if account.is_waiting and now - account.asked_at < ASKS_SECONDS:
            wanted = account.taken + max(1, account.most // (PARTS * owner.shards))
            is_enough = is_heard and share.wanted >= account.taken + 1
            return None if is_enough and is_told else (What.QUOTA_WANTED.value, wanted, used)
        if account.reserved or now - account.asked_at < IDLE_SECONDS:
            return None
        has_all_told = is_told and share.allowed == used and share.wanted <= used
        if has_all_told or not self.ledger.pool(execution_id).is_short:
            return None
        return What.QUOTA_RETURNED.value, used, used

    def _account(self, shard: int, execution_id: str, most: int) -> _Account:
        account = self._accounts.setdefault((shard, execution_id), _Account())
        account.most = max(most, account.most)
        return account


def place_of(lease_id: str) -> str:
    """Name a lease within its shard: its sequence, which is never given twice."""
    return lease_id.rpartition("-")[2]
