"""What a site is ordered as, what it answers, and what is to become of it. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PathKind(StrEnum):
    """What a path answers with."""

    PAGE = "page"
    ROBOTS = "robots"
    REDIRECT = "redirect"
    MISSING = "missing"
    BROKEN = "broken"
    FLAKY = "flaky"
    BUSY = "busy"
    SLOW = "slow"
    FORBIDDEN = "forbidden"
    """A good page that robots.txt keeps away from crawlers: nobody may ever ask for it."""
    REFUSED = "refused"
    """What is there, but is left out by the rules of the crawl: nobody may ask for it either."""


@dataclass(frozen=True, slots=True)
class PlannedResponse:
    """What one path of one host answers."""

    kind: PathKind
    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""
    delay_seconds: float = 0.0
    failures: int = 0
    """How often it fails before it answers (flaky, busy)."""


@dataclass(frozen=True, slots=True)
class SiteShape:
    """How large a site is, and what is in it."""

    hosts: int = 3
    pages_per_host: int = 20
    children: int = 4
    """Links of a page to pages below it."""
    is_plain: bool = False
    """Only pages and robots.txt: nothing that fails, waits or redirects."""
    crawl_delay_seconds: float = 0.0
    """What robots.txt asks for; 0 for nothing."""
    slow_seconds: float = 1.0
    """How long the slow page of each host takes."""
    latency_seconds: float = 0.0
    """How long every other answer takes."""
    filler_bytes: int = 1_000
    """Text of a page."""
    far_links: int = 0
    """Further links of a page to pages above it."""
    cross_links: int = 0
    """Links of a page to pages anywhere: for crawls in which it does not matter how deep a page is."""
    trap_depth: int = 0
    """A calendar without end on the first host, for crawls that go this deep; 0 for none."""
    has_busy: bool = False
    """A page that answers 429 with Retry-After before it answers."""
    has_excluded: bool = False
    """A page that the crawl is told to leave out, by the pattern EXCLUDED."""


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site, and what is to become of it."""

    origins: tuple[str, ...]
    responses: Mapping[tuple[str, str], PlannedResponse]
    """By host with port, and path with query."""
    pages: frozenset[str]
    """URLs that end as a page, once each."""
    redirects: Mapping[str, str]
    """URLs that redirect, and where to; a target may be refused."""
    failures: Mapping[str, str]
    """URLs that are asked and end without a page, with a word for why."""
    forbidden: frozenset[str]
    """URLs that robots.txt forbids: never asked."""
    refused: Mapping[str, str]
    """Links that are never asked for another reason, with the word for it."""
    retried: Mapping[str, int] = field(default_factory=dict)
    """URLs that are asked more than once, and how often."""

    @property
    def seeds(self) -> tuple[str, ...]:
        """The one URL from which all is found."""
        return (f"{self.origins[0]}/",)

    @property
    def decided_without_page(self) -> Mapping[str, str]:
        """URLs without a page, each with the word that has to be said about it."""
        return {
            **self.failures,
            **self.refused,
            **dict.fromkeys(self.redirects, "redirected"),
            **dict.fromkeys(self.forbidden, "robots_denied"),
        }

    @property
    def requests(self) -> Mapping[str, int]:
        """How often each URL is asked in all, robots.txt included."""
        asked = {*self.pages, *self.failures, *self.redirects}
        robots = {f"{origin}/robots.txt": 1 for origin in self.origins}
        return {url: self.retried.get(url, 1) for url in asked} | robots
