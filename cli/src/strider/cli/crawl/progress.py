"""Warnings before a crawl, its progress, and the line that shows it on a terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from strider.cli.output import ProgressLine, counted
from strider.cli.typed_urls import is_loopback
from strider.contracts.seed_limits import DEEP_CRAWL_DEPTH
from strider.runtime.settings.base import CrawlSettings
from strider.scheduler.core.hosts.robots_waits import RobotsWait
from strider.urls import CLOUD_METADATA, PRIVATE, host_kind, host_of

from .request import CrawlRequest

USUAL_DELAY_SECONDS: Final = 1.0
"""Crawl delay below which a warning is printed."""

SHOWN_HOSTS: Final = 3
"""Private hosts that a warning names."""


COST_FACTOR: Final = 20
"""Pause between two looks for waits, as a multiple of the time of the last one: it reads all open entries."""


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """Progress of a crawl."""

    pages: int
    queued: int
    in_flight: int
    errors: int
    active_hosts: int
    """Hosts with queued URLs or requests in flight."""
    robots_waits: Sequence[RobotsWait] = ()
    """Origins whose robots.txt all open URLs wait for; empty where anything else is to be done."""
    now_ms: int = 0
    """Time of these figures, in milliseconds since 1970."""


OnProgress = Callable[[CrawlProgress], None]


class RobotsWaitMonitor:
    """Reads the origins that a crawl waits for, as often as costs a small part of the time."""

    def __init__(self, read: Callable[[], Awaitable[Sequence[RobotsWait]]]) -> None:
        self._read = read
        self._next_at = 0.0
        self._latest: Sequence[RobotsWait] = ()

    async def waits(self) -> Sequence[RobotsWait]:
        """Return the origins that the crawl waits for; empty where it does not wait for robots.txt alone."""
        began = monotonic()
        if began >= self._next_at:
            self._latest = await self._read()
            ended = monotonic()
            self._next_at = ended + COST_FACTOR * (ended - began)
        return self._latest


class CrawlProgressLine:
    """Shows the progress of a crawl, with the rate since the last time."""

    def __init__(self, *, is_shown: bool) -> None:
        self._line = ProgressLine(is_shown=is_shown)
        self._updated_at = monotonic()
        self._pages = 0

    def __call__(self, progress: CrawlProgress) -> None:
        """Update the line."""
        now = monotonic()
        if progress.robots_waits:
            waiting = waits_text(progress.robots_waits, now_ms=progress.now_ms)
            self._line.show(f"{counted(progress.pages, 'page')}  {waiting}")
            return
        rate = (progress.pages - self._pages) / max(now - self._updated_at, 0.001)
        self._updated_at, self._pages = now, progress.pages
        self._line.show(
            f"{counted(progress.pages, 'page')}  {rate:.1f}/s  {progress.queued} queued  "
            f"{progress.in_flight} in flight  {counted(progress.errors, 'error')}  "
            f"{counted(progress.active_hosts, 'host active')}"
        )

    def clear(self) -> None:
        """Remove the line."""
        self._line.clear()


def waits_text(waits: Sequence[RobotsWait], *, now_ms: int) -> str:
    """Return the wait as a part of the progress line: the origin with most URLs, and how many others."""
    first, *others = sorted(waits, key=lambda wait: (-wait.urls, wait.origin))
    text = f"{_urls(first.urls)} for robots.txt of {first.origin}: {first.response}"
    text += f" for {_seconds(now_ms - first.since_ms)}, {_next_step(first, now_ms)}"
    if not others:
        return text
    urls, origins = sum(wait.urls for wait in others), "origins" if len(others) > 1 else "origin"
    return f"{text}; {_urls(urls)} for robots.txt of {len(others)} other {origins}"


def _next_step(wait: RobotsWait, now_ms: int) -> str:
    if wait.next_request_ms <= now_ms:
        return "requested now"
    if wait.ends_at_ms <= wait.next_request_ms:
        return f"given up in {_seconds(wait.ends_at_ms - now_ms)}"
    return f"next request in {_seconds(wait.next_request_ms - now_ms)}"


def _urls(count: int) -> str:
    return "1 URL waits" if count == 1 else f"{count} URLs wait"


def _seconds(milliseconds: int) -> str:
    seconds = max(0, -(-milliseconds // 1000))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"  # noqa: PLR2004  # two minutes


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
