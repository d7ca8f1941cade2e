"""What is said to people while a crawl runs: warnings before it, and one line of progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from time import monotonic
from typing import Final

from strider.contracts.seed_limits import DEEP_CRAWL_DEPTH
from strider.runtime.settings.base import CrawlSettings
from strider.urls import CLOUD_METADATA, PRIVATE, host_kind, host_of

from .crawl import Progress
from .wish import Wish

USUAL_DELAY_SECONDS: Final = 1.0

SHOWN_HOSTS: Final = 3


def say(text: str) -> None:
    """Tell people."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


class Show:
    """The line of progress, on a terminal only."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._began = monotonic()
        self._pages = 0

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        if not self._is_wanted:
            return
        now = monotonic()
        rate = (progress.pages - self._pages) / max(now - self._began, 0.001)
        self._began, self._pages = now, progress.pages
        text = (
            f"{progress.pages} pages  {rate:.1f}/s  {progress.queued} queued  "
            f"{progress.in_flight} in flight  {progress.errors} errors  {progress.waiting} hosts waiting"
        )
        self._put(f"\r\x1b[K{text}")

    def clear(self) -> None:
        """Leave nothing of it behind."""
        if self._is_wanted:
            self._put("\r\x1b[K")

    @staticmethod
    def _put(text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def warnings(wish: Wish, crawl: CrawlSettings) -> Iterator[str]:
    """Say what sites, or whoever asks, may not expect."""
    kinds = {name: host_kind(name) for name in dict.fromkeys(map(_host, wish.seeds)) if name}
    inner = [name for name, kind in kinds.items() if kind in {PRIVATE, CLOUD_METADATA}]
    is_outside = len(inner) < len(kinds)
    if inner and not crawl.allow_private:
        names = ", ".join(inner[:SHOWN_HOSTS])
        yield f"{names} is no public address and will be refused; say --allow-private to crawl it"
    if wish.spec.max_depth > DEEP_CRAWL_DEPTH:
        yield f"{wish.spec.max_depth} links deep is further than most crawls need to go"
    if not wish.spec.respect_robots:
        yield "robots.txt is ignored, as it was said; do this only on sites of your own"
    if is_outside and crawl.host_delay_seconds < USUAL_DELAY_SECONDS:
        yield f"{crawl.host_delay_seconds:g} s between two requests to a host is less than sites usually bear"


def needs_contact(wish: Wish, crawl: CrawlSettings) -> bool:
    """Tell whether somebody else's site would not know whom to write to: only loopback needs nobody."""
    names = filter(None, map(_host, wish.seeds))
    return not crawl.contact and not all(map(is_loopback, names))


def is_loopback(name: str) -> bool:
    """Say whether a host is this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _host(seed: str) -> str:
    try:
        return host_of(seed)
    except ValueError:  # no URL: it gets a line that says so
        return ""
