"""Paces of the open entries of a host group in memory: how many entries count under each.

Decides the same as `frontier_part_paces.lua`. A pace counts while an entry under it is open, parked ones
included. Those of owners' runs count together, those of raw senders by flow.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from strider.frontier.constants import MAX_PACES, MAX_PACES_OF_FLOW
from strider.frontier.models import HostPace

OWNERS = 0
"""Flow of the paces of owners' runs."""


@dataclass(slots=True, eq=False)
class CountedPace:
    """A pace, and the open entries that count under it."""

    pace: HostPace
    flow: int
    """Flow of raw senders; 0 for runs of owners."""
    entries: int = 1


@dataclass(slots=True)
class OpenPaces:
    """All paces of one host group."""

    default_delay_ms: int
    counted: list[CountedPace] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.counted)

    @property
    def delay_ms(self) -> int:
        """Delay of the group: the longest of owners' runs; without any, of raw senders up to the default."""
        if owners := self._of_owners():
            return max(map(self._delay_ms, owners))
        default_ms = self.default_delay_ms
        return max((min(self._delay_ms(each), default_ms) for each in self.counted), default=default_ms)

    @property
    def max_in_flight(self) -> int:
        """Fewest requests in flight that they allow; those of owners' runs decide where there are any."""
        return min((each.pace.max_in_flight for each in self._of_owners() or self.counted), default=1)

    @property
    def patience_ms(self) -> int | None:
        """Shortest patience with a block."""
        shortest = min((each.pace.patience_seconds for each in self.counted), default=None)
        return None if shortest is None else shortest * 1000

    def flow_delay_ms(self, flow: int) -> int:
        """Return the longest delay that a flow of raw senders asks for; 0 for none."""
        return max((each.pace.delay_ms or 0 for each in self.counted if each.flow == flow), default=0)

    def open(self, pace: HostPace, flow: int) -> CountedPace:
        """Count an open entry under its pace, or where there are too many, under one that covers it."""
        if (known := self._find(pace, flow)) is not None:
            known.entries += 1
            return known
        own = [each for each in self.counted if each.flow == flow]
        if len(own) >= (MAX_PACES if flow == OWNERS else MAX_PACES_OF_FLOW):
            return self._share(pace, own)
        new = CountedPace(pace, flow)
        self.counted.append(new)
        return new

    def close(self, counted: CountedPace | None, flow: int) -> None:
        """End the count of an entry; an unknown pace is taken for the most frequent of its flow."""
        if counted is None or counted not in self.counted:
            own = [each for each in self.counted if each.flow == flow]
            if not own:
                return
            counted = max(own, key=lambda each: each.entries)
        counted.entries -= 1
        if counted.entries <= 0:
            self.counted.remove(counted)

    def reopen(self, pace: HostPace, flow: int) -> CountedPace:
        """Return the count of an entry that is counted already, and may have got another pace since."""
        if (known := self._find(pace, flow)) is not None:
            return known
        self.close(None, flow)
        return self.open(pace, flow)

    def _of_owners(self) -> list[CountedPace]:
        return [each for each in self.counted if each.flow == OWNERS]

    def _delay_ms(self, counted: CountedPace) -> int:
        return self._resolve(counted.pace)

    def _resolve(self, pace: HostPace) -> int:
        return self.default_delay_ms if pace.delay_ms is None else pace.delay_ms

    def _find(self, pace: HostPace, flow: int) -> CountedPace | None:
        return next((each for each in self.counted if each.pace == pace and each.flow == flow), None)

    def _share(self, pace: HostPace, own: Collection[CountedPace]) -> CountedPace:
        covering = [each for each in own if self._covers(each.pace, pace)]
        if covering:
            shared = min(covering, key=self._delay_ms)
        else:
            shared = max(own, key=self._delay_ms)
            shared.pace = self._strictest(shared.pace, pace)
        shared.entries += 1
        return shared

    def _strictest(self, first: HostPace, second: HostPace) -> HostPace:
        """Return the strictest of each of two paces' values."""
        return HostPace(
            max(first, second, key=self._resolve).delay_ms,
            min(first.max_in_flight, second.max_in_flight),
            min(first.patience_seconds, second.patience_seconds),
        )

    def _covers(self, pace: HostPace, other: HostPace) -> bool:
        return self._strictest(pace, other) == pace
