"""Heartbeat of a process: last activity, last success, failures in a row, errors by domain.

Everything that is done updates it; the watchdog and `/readyz` read it, the watchdog from its own thread. Each
attribute is written whole, so that a reader never sees half of one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from strider.messaging.ports import Clock

MAX_DOMAINS: Final = 1000
"""Domains whose errors are kept; beyond that the one without errors for the longest time is dropped."""


class Heartbeat:
    """Health state of a process: last activity, last success, failures in a row, errors by domain."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._domains: OrderedDict[str, int] = OrderedDict()
        self._last_success: float | None = None
        self.last_activity = clock.monotonic()
        self.consecutive_failures = 0

    def beat(self) -> None:
        """Record activity: a message was read, answered, acknowledged or committed."""
        self.last_activity = self._clock.monotonic()

    def observe(self, moment: float) -> None:
        """Record activity at that (monotonic) time."""
        self.last_activity = max(self.last_activity, moment)

    def record_success(self) -> None:
        """Record that a message was done."""
        self._last_success = self.last_activity = self._clock.monotonic()
        self.consecutive_failures = 0

    def record_failure(self, domain: str | None = None) -> None:
        """Record that a message failed; where a site is to blame, its domain is counted."""
        self.beat()
        self.consecutive_failures += 1
        if domain is not None:
            self._domains[domain] = self._domains.pop(domain, 0) + 1
            if len(self._domains) > MAX_DOMAINS:
                self._domains.popitem(last=False)

    @property
    def last_activity_timestamp(self) -> datetime:
        """Wall-clock time of the last activity."""
        return self._wall_clock(self.last_activity)

    @property
    def last_success(self) -> datetime | None:
        """Wall-clock time at which a message was last done."""
        return None if self._last_success is None else self._wall_clock(self._last_success)

    def domain_errors(self) -> Mapping[str, int]:
        """Return errors by domain, the domain with the latest error last."""
        return dict(self._domains)

    def report(self) -> dict[str, Any]:
        """Return the state for `/readyz`, with the ten domains that have the most errors."""
        worst = sorted(self._domains.items(), key=lambda item: -item[1])[:10]
        return {
            "last_activity": self.last_activity_timestamp.isoformat(),
            "last_success": None if self.last_success is None else self.last_success.isoformat(),
            "consecutive_failures": self.consecutive_failures,
            "domain_errors": dict(worst),
        }

    def _wall_clock(self, monotonic: float) -> datetime:
        return self._clock.now() - timedelta(seconds=self._clock.monotonic() - monotonic)
