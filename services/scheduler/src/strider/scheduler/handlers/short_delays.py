"""Warn of crawl specs whose delay is shorter than a second.

Once for each spec and registrable domain; hosts of the loopback interface are exempt, as no site is there.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.partitioning import registrable_domain
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events

USUAL_DELAY_SECONDS: Final = 1.0

MAX_REMEMBERED: Final = 10_000
"""Warnings that are kept, so as not to be repeated; then all are forgotten."""

_log = logger("scheduler")


class ShortDelayWarnings:
    """Warnings that were logged by this process."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn_once(self, group: str, spec: CrawlSpecDeclared) -> None:
        """Log a spec that sets a short delay, unless it was logged for this domain."""
        delay_seconds = spec.delay_seconds
        if delay_seconds is None or delay_seconds >= USUAL_DELAY_SECONDS or is_loopback(group):
            return
        key = spec.crawl_spec_id, registrable_domain(group)
        if key in self._logged:
            return
        if len(self._logged) >= MAX_REMEMBERED:
            self._logged.clear()
        self._logged.add(key)
        _log.emit(
            log_events.SHORT_CRAWL_DELAY,
            crawl_spec=spec.crawl_spec_id,
            domain=key[1],
            seconds=max(delay_seconds, 0.0),
            usual=USUAL_DELAY_SECONDS,
        )


def is_loopback(host: str) -> bool:
    """Whether a host of a wire URL is this machine itself."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
