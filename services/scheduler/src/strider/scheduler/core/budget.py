"""How many pages may a run still fetch?

A place is reserved when a page is asked for, used when it came, given back when it did not. So a run
never fetches more pages than it may, and failures do not eat its budget. Repeats change nothing:
places are known by their lease, pages by their entry. Exact within one process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Grant(StrEnum):
    """Answer to asking for a page."""

    GIVEN = "given"
    FULL = "full"
    """All that is left is under way; some of it may come back."""
    USED_UP = "used_up"


@dataclass(slots=True)
class _Run:
    used: set[str] = field(default_factory=set)
    """Entries whose page came."""
    reserved: dict[str, str] = field(default_factory=dict)
    """Leases under way, with their entries."""


class PageBudgets:
    """The page budgets of all runs that have one."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    def reserve(self, execution_id: str, lease_id: str, entry_id: str, *, most: int) -> Grant:
        """Ask for a place; `most` 0 is no limit."""
        if most <= 0:
            return Grant.GIVEN
        run = self._runs.setdefault(execution_id, _Run())
        if entry_id in run.used or lease_id in run.reserved:
            return Grant.GIVEN
        if len(run.used) >= most:
            return Grant.USED_UP
        if len(run.used) + len(run.reserved) >= most:
            return Grant.FULL
        run.reserved[lease_id] = entry_id
        return Grant.GIVEN

    def is_used_up(self, execution_id: str, *, most: int) -> bool:
        """Say whether a new entry could not be fetched any more."""
        run = self._runs.get(execution_id)
        return most > 0 and run is not None and len(run.used) >= most

    def use(self, execution_id: str, entry_id: str, *, most: int, lease_id: str = "") -> None:
        """Note that a page came; of runs without a limit nothing is kept, since they may never end."""
        if most <= 0:
            return
        run = self._runs.get(execution_id)
        if run is None:
            run = self._runs[execution_id] = _Run()
        run.reserved.pop(lease_id, None)
        run.used.add(entry_id)

    def give_back(self, execution_id: str, lease_id: str) -> None:
        """Note that a lease ended without a page."""
        run = self._runs.get(execution_id)
        if run is not None:
            run.reserved.pop(lease_id, None)

    def give_back_shard(self, shard: int) -> None:
        """Note that nobody here will hear any more how the leases of a shard end."""
        mark = f"{shard}-"
        for run in self._runs.values():
            for lease_id in [lease_id for lease_id in run.reserved if lease_id.startswith(mark)]:
                del run.reserved[lease_id]

    def forget(self, execution_id: str) -> None:
        """Let go of a run that is over."""
        self._runs.pop(execution_id, None)
