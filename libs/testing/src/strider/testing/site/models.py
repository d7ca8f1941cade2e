"""Models of a generated site: its shape, its responses and the expected crawl. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PathKind(StrEnum):
    """Kind of response of a path."""

    PAGE = "page"
    ROBOTS = "robots"
    REDIRECT = "redirect"
    MISSING = "missing"
    BROKEN = "broken"
    FLAKY = "flaky"
    BUSY = "busy"
    SLOW = "slow"
    FORBIDDEN = "forbidden"
    """A good page that robots.txt disallows: it must never be requested."""
    REFUSED = "refused"
    """A page that the rules of the crawl exclude: it must never be requested."""


@dataclass(frozen=True, slots=True)
class PlannedResponse:
    """Response of one path of one host."""

    kind: PathKind
    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""
    delay_seconds: float = 0.0
    failures: int = 0
    """Number of failures before it succeeds (flaky, busy)."""


@dataclass(frozen=True, slots=True)
class SiteShape:
    """Size and features of a site."""

    hosts: int = 3
    pages_per_host: int = 20
    children: int = 4
    """Links of a page to pages below it."""
    is_plain: bool = False
    """Only pages and robots.txt: nothing that fails, waits or redirects."""
    crawl_delay_seconds: float = 0.0
    """Crawl delay of robots.txt; 0 for none."""
    slow_seconds: float = 1.0
    """Duration of the slow page of each host."""
    latency_seconds: float = 0.0
    """Duration of every other response."""
    filler_bytes: int = 1_000
    """Text size of a page."""
    far_links: int = 0
    """Further links of a page to pages above it."""
    cross_links: int = 0
    """Links of a page to random pages: for crawls in which depths do not matter."""
    trap_depth: int = 0
    """An endless calendar on the first host, for crawls that go this deep; 0 for none."""
    has_busy: bool = False
    """A page that responds with 429 and Retry-After before it succeeds."""
    has_excluded: bool = False
    """A page that the crawl excludes, by the pattern EXCLUDED."""


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site and the crawl that is expected of it."""

    origins: tuple[str, ...]
    responses: Mapping[tuple[str, str], PlannedResponse]
    """By host with port, and path with query."""
    pages: frozenset[str]
    """URLs that become a page, once each."""
    redirects: Mapping[str, str]
    """URLs that redirect, and their targets; a target may be refused."""
    failures: Mapping[str, str]
    """URLs that are requested and yield no page, with the reason."""
    forbidden: frozenset[str]
    """URLs that robots.txt disallows: never requested."""
    refused: Mapping[str, str]
    """Links that are never requested for another reason, with that reason."""
    retried: Mapping[str, int] = field(default_factory=dict)
    """URLs that are requested more than once, and how often."""

    @property
    def seeds(self) -> tuple[str, ...]:
        """The one URL from which all others are found."""
        return (f"{self.origins[0]}/",)

    @property
    def decided_without_page(self) -> Mapping[str, str]:
        """URLs without a page, each with the reason that must be recorded."""
        return {
            **self.failures,
            **self.refused,
            **dict.fromkeys(self.redirects, "redirected"),
            **dict.fromkeys(self.forbidden, "robots_denied"),
        }

    @property
    def requests(self) -> Mapping[str, int]:
        """Return the number of requests for each URL, robots.txt included."""
        asked = {*self.pages, *self.failures, *self.redirects}
        robots = {f"{origin}/robots.txt": 1 for origin in self.origins}
        return {url: self.retried.get(url, 1) for url in asked} | robots
