"""May a lease that ran out be decided about? Only when its outcome cannot lie unread in the topic.

The same holds for a robots.txt that is unknown to who has just taken the shard: whoever had it before
may have heard the rules and died before they were written down, and then they come once more.

A lease runs out by the clock, whether or not anybody reads outcomes: while a shard had no owner, or
one that is far behind, the outcome may have been there for long. Whoever asked again then would ask
twice, so what ran out waits until all that had been said by the time it was noticed is decided about.
Knows no topic: it is told how far outcomes were read.
"""

from __future__ import annotations

from collections.abc import Sequence

from strider.frontier.models import Lease


class LeaseExpiryGuard:
    """Leases of one shard that ran out, and how far its outcomes were read. Times are monotonic."""

    def __init__(self, *, taken_at: float) -> None:
        self._taken_at = taken_at
        self._noticed: dict[str, float] = {}
        self._read_as_of = float("-inf")

    @property
    def has_caught_up(self) -> bool:
        """Whether all that was said to the shard's last owner is decided about here."""
        return self._read_as_of >= self._taken_at

    def note_outcomes_read(self, as_of: float) -> bool:
        """Take note that what had been said by then is decided about; says whether anything waited for it."""
        had_caught_up = self.has_caught_up
        self._read_as_of = max(self._read_as_of, as_of)
        if not had_caught_up and self.has_caught_up:
            return True
        return any(noticed <= self._read_as_of for noticed in self._noticed.values())

    def judge(self, expired: Sequence[Lease], *, now: float) -> list[Lease]:
        """Of all leases that are named as run out now, give those of which nothing will be heard any more."""
        noticed, self._noticed = self._noticed, {}
        ripe = []
        for lease in expired:
            since = self._noticed[lease.lease_id] = noticed.get(lease.lease_id, now)
            if since <= self._read_as_of:
                ripe.append(lease)
        return ripe
