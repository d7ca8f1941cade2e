"""Shares of a limited amount: places of a worker pool, or bytes of memory.

A claim has a path, from a group of senders down to a single one; each level has a share of the level above
it. How large a share may grow depends on what is left (dynamic thresholds, as in packet switches): at each
level one part in `divisor` of what one claimant has together with what is still free stays free for others.
So one claimant alone gets nearly everything, two greedy ones the same amount each, and any newcomer finds
something, whatever the number of greedy ones. Pure.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

SharePath: TypeAlias = tuple[Hashable, ...]
"""Names of the levels of a claim, from the top; a name is used at one level and below one parent only."""


class Shares:
    """Amounts that the claimants of each level hold."""

    def __init__(self, total: int, *, divisors: Sequence[int]) -> None:
        """`divisors`: for each level, which part stays free for others; paths may have fewer levels."""
        self.total = total
        self.held = 0
        self._divisors = tuple(divisors)
        self._held: dict[Hashable, int] = {}

    def held_by(self, name: Hashable) -> int:
        """Return what a claimant holds, at whatever level it is."""
        return self._held.get(name, 0)

    def free_for(self, path: SharePath) -> int:
        """Return how much more a claim may take; less than 1 where its share is used up."""
        free = self.total - self.held
        for name, divisor in zip(path, self._divisors, strict=False):
            held = self._held.get(name, 0)
            most = free + held
            free = most - most // divisor - held
        return free

    def take(self, path: SharePath, amount: int = 1) -> None:
        """Count an amount as held; nothing is checked, as some of it cannot be refused any more."""
        self.held += amount
        for name in path:
            self._held[name] = self._held.get(name, 0) + amount

    def give_back(self, path: SharePath, amount: int = 1) -> None:
        """Return an amount; claimants that hold nothing are forgotten."""
        self.held -= amount
        for name in path:
            held = self._held[name] - amount
            if held:
                self._held[name] = held
            else:
                del self._held[name]
