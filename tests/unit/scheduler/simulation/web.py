"""A simulated web, derived from a random seed: hosts with robots.txt, pages with links, failures.

Computes the expected result of a crawl by its own walk; shares no code with the crawler but URL parsing by
the standard library.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import urlsplit

DENYING = "User-agent: *\nDisallow: /private\n"
SLOW = "User-agent: *\nCrawl-delay: 3\n"


@dataclass(frozen=True, slots=True)
class Page:
    """A URL and its behaviour."""

    url: str
    how: str = "fine"
    """fine, missing, broken (always 500), flaky (500 twice), limited (429 once), shut (429 for a
    day), late, moved, circle."""
    links: tuple[str, ...] = ()
    target: str = ""
    size: int = 1_000
    """Bytes of its body."""
    feeds: tuple[str, ...] = ()
    """Feeds that it names."""


@dataclass(slots=True)
class Feed:
    """A feed, which changes while a crawl runs."""

    url: str
    items: list[str] = field(default_factory=list)
    how: str = "fine"
    """fine, gone (410), page (HTML instead of a feed)."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host and the behaviour of its robots.txt."""

    name: str
    robots: str = "fine"
    """fine, missing, denying, slow, flaky (500 twice), down (500 for ever), overloaded (503 for
    ever), gone (no such name)."""
    robots_target: str = ""
    """Where its robots.txt redirects to; empty for a robots.txt of its own."""


@dataclass(frozen=True, slots=True)
class SimulatedResponse:
    """Response to a request."""

    outcome: str
    status: int = 0
    error_class: str = ""
    links: tuple[str, ...] = ()
    target: str = ""
    retry_after: float = -1.0
    robots_text: str = ""
    seconds: float = 0.2
    size: int = 0
    feeds: tuple[str, ...] = ()
    etag: str = ""
    document_kind: str = "html"


@dataclass(frozen=True, slots=True)
class Visit:
    """A line of the access log."""

    url: str
    host: str
    began: float
    ended: float
    outcome: str
    size: int = 0
    """Bytes read."""


@dataclass
class Web:
    """Hosts and pages of one seed, with an access log."""

    hosts: dict[str, Host]
    pages: dict[str, Page]
    starts: tuple[str, ...]
    tries: dict[str, int] = field(default_factory=dict)
    log: list[Visit] = field(default_factory=list)
    feeds: dict[str, Feed] = field(default_factory=dict)

    def respond(self, url: str, chance: random.Random, *, etag: str = "") -> SimulatedResponse:
        """Respond to a request; some pages respond differently the next time."""
        number = self.tries[url] = self.tries.get(url, 0) + 1
        host = self.hosts[urlsplit(url).hostname or ""]
        seconds = chance.uniform(0.01, 0.5)
        if host.robots == "gone":
            return SimulatedResponse("network_failed", error_class="dns_not_found", seconds=0.01)
        if urlsplit(url).path == "/robots.txt":
            return _robots(host, number, seconds)
        if url in self.feeds:
            return _feed(self.feeds[url], etag, seconds)
        return _page(self.pages[url], number, seconds)

    def expected(self) -> tuple[dict[str, int], set[str]]:
        """Return how often each URL must be fetched, and which URLs must not be."""
        wanted: dict[str, int] = {}
        denied: set[str] = set()
        waiting = deque(self.starts)
        while waiting:
            url = waiting.popleft()
            if url in wanted or url in denied:
                continue
            host = self.hosts[urlsplit(url).hostname or ""]
            is_private = urlsplit(url).path.startswith("/private")
            if host.robots in {"gone", "down", "overloaded"} or (host.robots == "denying" and is_private):
                denied.add(url)
                continue
            page = self.pages[url]
            wanted[url] = {"broken": 4, "flaky": 3, "limited": 2}.get(page.how, 1)
            if page.how in {"fine", "flaky", "limited", "late"}:
                waiting.extend(page.links)
            elif page.how == "moved":
                waiting.append(page.target)
        return wanted, denied


def a_web(seed: int, *, hosts: int = 6, pages: int = 12, name: str = "test") -> Web:
    """Create a simulated web."""
    chance = random.Random(seed)
    ways = ["fine", "missing", "denying", "slow", "flaky", "down", "gone", "fine", "fine"]
    made = {name: Host(name, chance.choice(ways)) for name in (f"www.site{n}.{name}" for n in range(hosts))}
    first = next(iter(made))
    made[first] = Host(first)
    names = [f"http://{host}/p{n}" for host in made for n in range(pages)]
    names += [f"http://{host}/private/{n}" for host in made for n in range(3)]
    web: dict[str, Page] = {}
    for url in names:
        how = chance.choice(["fine"] * 8 + ["missing", "broken", "flaky", "limited", "late"])
        web[url] = Page(url, how, tuple(chance.sample(names, chance.randint(0, 6))))
    start = f"http://{first}/p0"
    web[start] = Page(start, links=tuple(chance.sample(names, 12)))
    _move(web, [url for url in names if url != start], chance)
    return Web(made, web, (start, names[-1]))


def _move(web: dict[str, Page], names: list[str], chance: random.Random) -> None:
    """Turn some pages into redirects: to targets without other links, in short chains and in loops."""
    for number, url in enumerate(chance.sample(names, 6)):
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}/moved{number}"
        if number == 0:
            web[url] = Page(url, "moved", target=f"{base}-a")
            web[f"{base}-a"] = Page(f"{base}-a", "circle", target=url)
        else:
            web[url] = Page(url, "moved", target=f"{base}-a")
            web[f"{base}-a"] = Page(f"{base}-a", "moved", target=f"{base}-b")
            web[f"{base}-b"] = Page(f"{base}-b", "fine", tuple(chance.sample(names, 3)))


def _robots(host: Host, number: int, seconds: float) -> SimulatedResponse:
    if host.robots_target:
        return SimulatedResponse("redirected", 301, target=host.robots_target, seconds=seconds)
    if host.robots == "missing":
        return SimulatedResponse("not_found", 404, error_class="status_client", seconds=seconds)
    if host.robots == "down" or (host.robots == "flaky" and number <= 2):
        return SimulatedResponse("server_error", 500, error_class="status_server", seconds=seconds)
    if host.robots == "overloaded":
        return SimulatedResponse("overloaded", 503, error_class="status_server", seconds=seconds)
    text = {"denying": DENYING, "slow": SLOW}.get(host.robots, "")
    return SimulatedResponse("fetched", 200, robots_text=text, seconds=seconds)


def _page(page: Page, number: int, seconds: float) -> SimulatedResponse:
    if page.how == "missing":
        return SimulatedResponse("not_found", 404, error_class="status_client", seconds=seconds)
    if page.how == "broken" or (page.how == "flaky" and number <= 2):
        return SimulatedResponse("server_error", 500, error_class="status_server", seconds=seconds)
    if page.how == "limited" and number == 1:
        return SimulatedResponse(
            "rate_limited", 429, error_class="status_client", retry_after=7.0, seconds=seconds
        )
    if page.how == "shut":
        return SimulatedResponse(
            "rate_limited", 429, error_class="status_client", retry_after=86_400.0, seconds=seconds
        )
    if page.how in {"moved", "circle"}:
        return SimulatedResponse("redirected", 301, target=page.target, seconds=seconds)
    late = 20.0 if page.how == "late" else 0.0
    return SimulatedResponse(
        "fetched", 200, links=page.links, seconds=seconds + late, size=page.size, feeds=page.feeds
    )


def _feed(feed: Feed, etag: str, seconds: float) -> SimulatedResponse:
    if feed.how == "gone":
        return SimulatedResponse("not_found", 410, error_class="status_client", seconds=seconds)
    current = f'"{len(feed.items)}"'
    if etag == current:
        return SimulatedResponse("not_modified", 304, etag=current, seconds=seconds)
    kind = "html" if feed.how == "page" else "feed"
    items = tuple(feed.items)
    return SimulatedResponse(
        "fetched", 200, links=items, etag=current, document_kind=kind, seconds=seconds, size=500
    )
