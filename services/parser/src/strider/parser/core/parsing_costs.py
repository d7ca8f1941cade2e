"""Costs of pages by sender, and the senders whose pages are too expensive.

Costs are processor time of workers. A sum is halved each minute, so that a sender who costs little again is
soon treated as such. Pure: the time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from strider.frontier.turns import flow_of, is_raw_flow

HALF_LIFE_SECONDS: Final = 60.0
MAX_SENDERS: Final = 10_000
"""Senders whose costs are known; those of the others count as usual."""

USUAL_SECONDS: Final = 0.02
"""Cost of a page of a sender of whom nothing is known."""

MIN_DEADLINES: Final = 3.0
"""A sender is expensive from this multiple of the page deadline on, within the last minutes."""
RAW_SHARE: Final = 0.25
"""Mean cost of a page, in deadlines, from which the pages of a raw sender are expensive."""
OWNER_SHARE: Final = 0.75
"""The same for pages of an owner's run: nearly all of them reach the deadline, and have no result anyway."""


class PageSender(NamedTuple):
    """Run and host group of a page, with what follows from them; made by `page_sender`."""

    execution_id: str
    group: str
    """Its host group."""
    flow: int
    """The flow of its run, as in the scheduler."""
    is_raw: bool
    """Whether it is of a raw sender."""
    cost_keys: tuple[str, ...]
    """The names by which its cost is counted.

    Names of raw runs cost nothing, so a host counts by itself too; on a host of an owner's run only what
    that run has seen counts.
    """


@lru_cache(maxsize=4_096)
def page_sender(execution_id: str, group: str) -> PageSender:
    """Return the sender of the pages of a run and host group."""
    flow = flow_of(execution_id)
    if is_raw_flow(flow):
        keys: tuple[str, ...] = f"raw {execution_id}", f"raw-host {group}"
        return PageSender(execution_id, group, flow, is_raw=True, cost_keys=keys)
    return PageSender(execution_id, group, flow, is_raw=False, cost_keys=(f"owner {execution_id} {group}",))


class _Cost(NamedTuple):
    seconds: float
    pages: float
    at: float


class CostHistory:
    """Costs of pages by sender."""

    def __init__(self, *, page_seconds: float) -> None:
        """`page_seconds` is the deadline of a page."""
        self._page_seconds = page_seconds
        self._costs: OrderedDict[str, _Cost] = OrderedDict()
        self._expensive: set[str] = set()
        """Senders that were expensive after their last page: only these may be so now."""

    def add(self, source: PageSender, seconds: float, *, now: float) -> None:
        """Add the cost of a page."""
        for sender in source.cost_keys:
            before = self._cost(sender, now)
            cost = self._costs[sender] = _Cost(before.seconds + seconds, before.pages + 1, now)
            self._costs.move_to_end(sender)
            if self._is_over(cost, is_raw=source.is_raw):
                self._expensive.add(sender)
            else:
                self._expensive.discard(sender)
        while len(self._costs) > MAX_SENDERS:
            self._expensive.discard(self._costs.popitem(last=False)[0])

    @property
    def has_expensive(self) -> bool:
        """Whether the pages of any sender may cost too much."""
        return bool(self._expensive)

    def expected_seconds(self, source: PageSender, *, now: float) -> float:
        """Return what a page will cost by the most expensive of its senders."""
        known = [cost for cost in self._known(source, now) if cost.pages > 0]
        return max((cost.seconds / cost.pages for cost in known), default=USUAL_SECONDS)

    def is_known(self, source: PageSender) -> bool:
        """Whether a page of the source was parsed lately."""
        return any(sender in self._costs for sender in source.cost_keys)

    def is_expensive(self, source: PageSender, *, now: float) -> bool:
        """Whether the pages of the source cost too much."""
        return self.expense(source, now=now) > 0.0

    def expense(self, source: PageSender, *, now: float) -> float:
        """Return the seconds that the most expensive of its senders has cost lately; 0 where none is."""
        if self._expensive.isdisjoint(source.cost_keys):
            return 0.0
        costs = (cost for cost in self._known(source, now) if self._is_over(cost, is_raw=source.is_raw))
        return max((cost.seconds for cost in costs), default=0.0)

    def _is_over(self, cost: _Cost, *, is_raw: bool) -> bool:
        share = RAW_SHARE if is_raw else OWNER_SHARE
        return cost.seconds >= self._page_seconds * max(MIN_DEADLINES, share * cost.pages)

    def _known(self, source: PageSender, now: float) -> Iterable[_Cost]:
        return (self._cost(sender, now) for sender in source.cost_keys if sender in self._costs)

    def _cost(self, sender: str, now: float) -> _Cost:
        cost = self._costs.get(sender)
        if cost is None:
            return _Cost(0.0, 0.0, now)
        part = 0.5 ** (max(0.0, now - cost.at) / HALF_LIFE_SECONDS)
        return _Cost(cost.seconds * part, cost.pages * part, now)
