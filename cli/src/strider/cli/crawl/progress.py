"""Warnings before a crawl, and its line of progress on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Final

from strider.cli.fetch.settings import is_loopback
from strider.cli.output import ProgressLine
from strider.contracts.seed_limits import DEEP_CRAWL_DEPTH
from strider.runtime.settings.base import CrawlSettings
from strider.urls import CLOUD_METADATA, PRIVATE, host_kind, host_of

from .request import CrawlRequest
from .runner import CrawlProgress

USUAL_DELAY_SECONDS: Final = 1.0
"""Crawl delay below which a warning is printed."""

SHOWN_HOSTS: Final = 3
"""Private hosts that a warning names."""


class CrawlProgressLine:
    """Shows the progress of a crawl, with the rate since the last time."""

    def __init__(self, *, is_shown: bool) -> None:
        self._line = ProgressLine(is_shown=is_shown)
        self._updated_at = monotonic()
        self._pages = 0

    def __call__(self, progress: CrawlProgress) -> None:
        """Update the line."""
        now = monotonic()
        rate = (progress.pages - self._pages) / max(now - self._updated_at, 0.001)
        self._updated_at, self._pages = now, progress.pages
        self._line.show(
            f"{progress.pages} pages  {rate:.1f}/s  {progress.queued} queued  "
            f"{progress.in_flight} in flight  {progress.errors} errors  {progress.active_hosts} hosts active"
        )

    def clear(self) -> None:
        """Remove the line."""
        self._line.clear()


def request_warnings(request: CrawlRequest, crawl: CrawlSettings) -> Iterator[str]:
    """Return warnings about what the sites, or the user, may not expect."""
    kinds = {name: host_kind(name) for name in dict.fromkeys(map(_seed_host, request.seeds)) if name}
    private = [name for name, kind in kinds.items() if kind in {PRIVATE, CLOUD_METADATA}]
    is_public = len(private) < len(kinds)
    if private and not crawl.allow_private:
        names = ", ".join(private[:SHOWN_HOSTS])
        yield f"{names} is a private address and will be refused; crawl it with --allow-private"
    if request.spec.max_depth > DEEP_CRAWL_DEPTH:
        yield f"a depth of {request.spec.max_depth} links is more than most crawls need"
    if not request.spec.respect_robots:
        yield "robots.txt is ignored; do this only on sites of your own"
    if is_public and crawl.host_delay_seconds < USUAL_DELAY_SECONDS:
        yield f"a crawl delay of {crawl.host_delay_seconds:g} s is less than most sites tolerate"


def needs_contact(request: CrawlRequest, crawl: CrawlSettings) -> bool:
    """Whether a contact for site owners is missing: only loopback needs none."""
    names = filter(None, map(_seed_host, request.seeds))
    return not crawl.contact and not all(map(is_loopback, names))


def _seed_host(seed: str) -> str:
    try:
        return host_of(seed)
    except ValueError:  # not a URL: its record says so
        return ""
