"""What one shard has spent, and has under way, of one run's budget.

Repeats change nothing: what is under way is known by its lease, what is spent by entry and fetch. Knows
nothing of other shards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .allowance import LEAST_MS, NO_LIMITS, NOTHING, Allowance, Amount, scrap
from .quota import Measure

AGAIN_SECONDS: Final = 5.0
"""After which a word that was not heard is said again."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request that was made, or what the truth says of all that were made for an entry."""

    execution_id: str
    entry_id: str
    host: str
    limits: Allowance
    sequence: int
    has_page: bool
    cost: Amount
    """Its bytes and time."""
    lease_id: str = ""
    is_guess: bool = False
    """Nobody has written down what it cost: this is the most. Its outcome may still be read."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What is set aside for one request."""

    entry_id: str
    host: str
    amount: Amount
    is_cut: bool = False
    """Whether it may cost less than its crawl spec allows, because no more was left."""


@dataclass(slots=True)
class Account:
    """One run in one shard."""

    limits: Allowance = NO_LIMITS
    used: Amount = NOTHING
    held: Amount = NOTHING
    fetches: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """By entry: its latest fetch that is counted, and whether a page of it came."""
    guesses: dict[str, Amount] = field(default_factory=dict)
    """By entry: what its latest fetch may have cost, as long as its outcome is not read."""
    holds: dict[str, Hold] = field(default_factory=dict)
    """By lease."""
    orphans: dict[str, tuple[Fetch, float]] = field(default_factory=dict)
    """Of these, the ones whose pages have gone round without an outcome, and since when."""
    used_at: dict[str, Amount] = field(default_factory=dict)
    held_at: dict[str, Amount] = field(default_factory=dict)
    """The same, of each limited place."""
    most: Counter[Measure] = field(default_factory=Counter)
    """What all shards together may spend."""
    scrap_bytes: int = 1
    is_waiting: bool = False
    """Whether the last one that asked was sent away for want of a part."""
    asked_at: float = 0.0
    said: tuple[object, ...] = ()
    said_at: float = 0.0
    words: int = 0
    """How many were said."""
    returned_by: int = 0
    """The latest of them that gave something back: until it is heard, nobody knows what is left."""

    def heed(self, limits: Allowance) -> None:
        """Know what the run may spend; several crawl specs of one run count as the most generous."""
        self.limits = limits
        self.most[Measure.PAGES] = max(self.most[Measure.PAGES], limits.run.pages)
        self.most[Measure.BYTES] = max(self.most[Measure.BYTES], limits.run.bytes)
        if limits.run.bytes:
            self.scrap_bytes = scrap(self.most[Measure.BYTES], limits.request.bytes)

    def used_of(self, measure: Measure) -> int:
        """Say what is spent."""
        return self.used.pages if measure is Measure.PAGES else self.used.bytes

    def taken_of(self, measure: Measure) -> int:
        """Say what is spent or under way."""
        held = self.held.pages if measure is Measure.PAGES else self.held.bytes
        return self.used_of(measure) + held

    @property
    def limited(self) -> list[Measure]:
        """Name what the run has a limit of."""
        return [measure for measure in Measure if self.most[measure]]

    def least_of(self, measure: Measure) -> int:
        """Say what one more request needs."""
        return 1 if measure is Measure.PAGES else self.limits.request.bytes

    def is_news(self, word: tuple[object, ...], *, now: float) -> bool:
        """Say whether a word is to be said: it is another one, or seems not to have been heard."""
        if word == self.said and now - self.said_at < AGAIN_SECONDS:
            return False
        self.said, self.said_at = word, now
        return True

    def wish(self, entry_id: str) -> Amount:
        """Say what a request for an entry may cost; a page that came before is not counted twice."""
        _, has_page = self.fetches.get(entry_id, (0, False))
        return self.limits.request._replace(pages=0 if has_page else 1)

    def fit(self, wish: Amount, host: str) -> tuple[Amount, str] | None:
        """Cut a wish to what its host and domain have left, and name what is used up; None: wait."""
        for place, most in self.limits.places(host):
            used, held = self.used_at.get(place, NOTHING), self.held_at.get(place, NOTHING)
            pages = _fit(wish.pages, most.pages, used.pages, held.pages)
            size = _fit(wish.bytes, most.bytes, used.bytes, held.bytes, least=scrap(most.bytes, wish.bytes))
            ms = _fit(wish.ms, most.ms, used.ms, held.ms, least=min(LEAST_MS, wish.ms))
            if pages is None or size is None or ms is None:
                return None
            if wish.pages and not pages:
                return NOTHING, f"pages of {place}"
            if not size or not ms:
                return NOTHING, f"{'seconds' if size else 'bytes'} of {place}"
            wish = Amount(wish.pages, size, ms)
        return wish, ""

    def used_up(self, host: str) -> str:
        """Name the limit that a host has reached; empty while it has not."""
        for place, most in self.limits.places(host):
            used = self.used_at.get(place, NOTHING)
            spent = {"pages": used.pages, "bytes": used.bytes, "seconds": used.ms}
            limits = {"pages": most.pages, "bytes": most.bytes, "seconds": most.ms}
            for measure, limit in limits.items():
                if 0 < limit <= spent[measure]:
                    return f"{measure} of {place}"
        return ""

    def hold(self, place: str, hold: Hold) -> None:
        """Set something aside for a request."""
        self.holds[place] = hold
        self._move(hold, hold.amount)

    def let_go(self, place: str) -> Hold | None:
        """End what was set aside; None where nothing was."""
        self.orphans.pop(place, None)
        hold = self.holds.pop(place, None)
        if hold is not None:
            self._move(hold, NOTHING.minus(hold.amount))
        return hold

    def spend(
        self, entry_id: str, host: str, *, sequence: int, has_page: bool, cost: Amount, is_guess: bool = False
    ) -> None:
        """Note what a fetch cost; one that is counted already, or an earlier one, costs nothing."""
        last, had_page = self.fetches.get(entry_id, (-1, False))
        if sequence == last and entry_id in self.guesses and not is_guess:
            self._add(host, cost._replace(pages=0).minus(self.guesses.pop(entry_id)))
        if sequence <= last:
            return
        self.guesses.pop(entry_id, None)
        if is_guess:
            self.guesses[entry_id] = cost._replace(pages=0)
        self.fetches[entry_id] = sequence, had_page or has_page
        self._add(host, cost._replace(pages=int(has_page and not had_page)))

    def _add(self, host: str, amount: Amount) -> None:
        self.used = self.used.plus(amount)
        for place, _ in self.limits.places(host):
            self.used_at[place] = self.used_at.get(place, NOTHING).plus(amount)

    def _move(self, hold: Hold, amount: Amount) -> None:
        self.held = self.held.plus(amount)
        for place, _ in self.limits.places(hold.host):
            self.held_at[place] = self.held_at.get(place, NOTHING).plus(amount)


def _fit(wish: int, most: int, used: int, held: int, *, least: int = 1) -> int | None:
    """Give what may be had of a wish: all, what is left, 0 where that is nothing; None: wait for others."""
    left = most - used - held
    if most <= 0 or left >= wish:
        return wish
    if held:
        return None
    return left if left >= least else 0
