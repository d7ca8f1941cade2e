"""Paces of the open entries of a host group in memory: how many entries count under each.

Decides the same as the Redis functions. A pace counts while an entry under it is open, parked ones included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from strider.frontier.constants import MAX_PACES
from strider.frontier.models import HostPace


@dataclass(slots=True, eq=False)
class CountedPace:
    """A pace, and the open entries that count under it."""

    pace: HostPace
    entries: int = 1


@dataclass(slots=True)
class OpenPaces:
    """All paces of one host group."""

    counted: list[CountedPace] = field(default_factory=list)

    def __iter__(self) -> Iterator[HostPace]:
        """Iterate over the paces."""
        return (each.pace for each in self.counted)

    def __bool__(self) -> bool:
        return bool(self.counted)

    def open(self, pace: HostPace) -> CountedPace:
        """Count an open entry under its pace, or where there are too many, under one that covers it."""
        if (known := self._find(pace)) is not None:
            known.entries += 1
            return known
        if len(self.counted) >= MAX_PACES:
            return self._share(pace)
        new = CountedPace(pace)
        self.counted.append(new)
        return new

    def close(self, counted: CountedPace | None) -> None:
        """End the count of an entry; one whose pace is not known is taken for the most frequent."""
        if not self.counted:
            return
        if counted is None or counted not in self.counted:
            counted = max(self.counted, key=lambda each: each.entries)
        counted.entries -= 1
        if counted.entries <= 0:
            self.counted.remove(counted)

    def reopen(self, pace: HostPace) -> CountedPace:
        """Return the count of an entry that is counted already, and may have got another pace since."""
        if (known := self._find(pace)) is not None:
            return known
        self.close(None)
        return self.open(pace)

    def _find(self, pace: HostPace) -> CountedPace | None:
        return next((each for each in self.counted if each.pace == pace), None)

    def _share(self, pace: HostPace) -> CountedPace:
        covering = [each for each in self.counted if _covers(each.pace, pace)]
        if covering:
            shared = min(covering, key=lambda each: each.pace.delay_ms)
        else:
            shared = max(self.counted, key=lambda each: each.pace.delay_ms)
            shared.pace = strictest_pace(shared.pace, pace)
        shared.entries += 1
        return shared


def strictest_pace(first: HostPace, second: HostPace) -> HostPace:
    """Return the strictest of each of two paces' values."""
    return HostPace(
        max(first.delay_ms, second.delay_ms),
        min(first.max_in_flight, second.max_in_flight),
        min(first.patience_seconds, second.patience_seconds),
    )


def _covers(pace: HostPace, other: HostPace) -> bool:
    return strictest_pace(pace, other) == pace
