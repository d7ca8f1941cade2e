"""Hold back expired leases until their outcomes cannot be unread in the topic.

A lease expires by the clock, whether or not outcomes are read: while a shard had no owner, or one that is far
behind, the outcome may have been in the topic for long. Retrying at once would fetch the URL twice, so an
expired lease waits until all outcomes published before its expiry was noticed are read.

The same holds for a robots.txt that is unknown after a takeover: the previous owner may have read its outcome
and died before it was written, and then that outcome is read again. Knows no topic: the reader reports its
progress.
"""

from __future__ import annotations

from collections.abc import Sequence

from strider.frontier.models import Lease


class LeaseExpiryGuard:
    """Expired leases of one shard, and how far its outcomes were read. Times are monotonic."""

    def __init__(self, *, taken_at: float) -> None:
        self._taken_at = taken_at
        self._noticed: dict[str, float] = {}
        self._read_as_of = float("-inf")

    @property
    def has_caught_up(self) -> bool:
        """Whether all outcomes published before the takeover are read."""
        return self._read_as_of >= self._taken_at

    def note_outcomes_read(self, as_of: float) -> bool:
        """Record that all outcomes published by then are read; return whether anything waited for that."""
        had_caught_up = self.has_caught_up
        self._read_as_of = max(self._read_as_of, as_of)
        if not had_caught_up and self.has_caught_up:
            return True
        return any(noticed <= self._read_as_of for noticed in self._noticed.values())

    def select_decidable(self, expired: Sequence[Lease], *, now: float) -> list[Lease]:
        """Return those of all currently expired leases for which no outcome can be read any more."""
        noticed, self._noticed = self._noticed, {}
        ripe = []
        for lease in expired:
            since = self._noticed[lease.lease_id] = noticed.get(lease.lease_id, now)
            if since <= self._read_as_of:
                ripe.append(lease)
        return ripe
