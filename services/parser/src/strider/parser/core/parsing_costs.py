"""Costs of pages by sender, and the senders whose pages are too expensive.

Costs are processor time of workers. A sum is halved each minute, so that a sender who costs little again is
soon treated as such. Pure: the time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
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
    """Run and host group of a page."""

    execution_id: str
    group: str
    """Its host group."""

    @property
    def flow(self) -> int:
        """Return the flow of its run, as in the scheduler."""
        return flow_of(self.execution_id)

    @property
    def is_raw(self) -> bool:
        """Whether it is of a raw sender."""
        return is_raw_flow(self.flow)

    @property
    def cost_keys(self) -> tuple[str, ...]:
        """Return the names by which its cost is counted.

        Names of raw runs cost nothing, so a host counts by itself too; on a host of an owner's run only what
        that run has seen counts.
        """
        if self.is_raw:
            return f"raw {self.execution_id}", f"raw-host {self.group}"
        return (f"owner {self.execution_id} {self.group}",)


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

    def add(self, source: PageSender, seconds: float, *, now: float) -> None:
        """Add the cost of a page."""
        for sender in source.cost_keys:
            before = self._cost(sender, now)
            self._costs[sender] = _Cost(before.seconds + seconds, before.pages + 1, now)
            self._costs.move_to_end(sender)
        while len(self._costs) > MAX_SENDERS:
            self._costs.popitem(last=False)

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
        share = RAW_SHARE if source.is_raw else OWNER_SHARE
        return max(
            (
                cost.seconds
                for cost in self._known(source, now)
                if cost.seconds >= MIN_DEADLINES * self._page_seconds
                and cost.seconds >= share * self._page_seconds * cost.pages
            ),
            default=0.0,
        )

    def _known(self, source: PageSender, now: float) -> Iterable[_Cost]:
        return (self._cost(sender, now) for sender in source.cost_keys if sender in self._costs)

    def _cost(self, sender: str, now: float) -> _Cost:
        cost = self._costs.get(sender)
        if cost is None:
            return _Cost(0.0, 0.0, now)
        part = 0.5 ** (max(0.0, now - cost.at) / HALF_LIFE_SECONDS)
        return _Cost(cost.seconds * part, cost.pages * part, now)
