"""A web that a seed makes up: hosts with robots rules, pages with links, and all that goes wrong there.

Knows what a crawl of it must come to, by walking it itself; shares no code with the crawler but URL
parsing by the standard library.
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
    """One URL, and how it behaves."""

    url: str
    how: str = "fine"
    """fine, missing, broken (always 500), flaky (500 twice), limited (429 once), shut (429 for a
    day), late, moved, circle."""
    links: tuple[str, ...] = ()
    target: str = ""
    size: int = 1_000
    """Bytes of its body."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host, and how its robots.txt behaves."""

    name: str
    robots: str = "fine"
    """fine, missing, denying, slow, flaky (500 twice), down (500 for ever), gone (no such name)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request comes to."""

    outcome: str
    status: int = 0
    error_class: str = ""
    links: tuple[str, ...] = ()
    target: str = ""
    retry_after: float = -1.0
    robots_text: str = ""
    seconds: float = 0.2
    size: int = 0


@dataclass(frozen=True, slots=True)
class Visit:
    """A line of the access log."""

    url: str
    host: str
    began: float
    ended: float
    outcome: str
    size: int = 0
    """Bytes that were read."""


@dataclass
class Web:
    """The hosts and pages of one seed, and who came."""

    hosts: dict[str, Host]
    pages: dict[str, Page]
    starts: tuple[str, ...]
    tries: dict[str, int] = field(default_factory=dict)
    log: list[Visit] = field(default_factory=list)

    def answer(self, url: str, chance: random.Random) -> Answer:
        """Answer a request; some pages answer differently the next time."""
        number = self.tries[url] = self.tries.get(url, 0) + 1
        host = self.hosts[urlsplit(url).hostname or ""]
        seconds = chance.uniform(0.01, 0.5)
        if host.robots == "gone":
            return Answer("network_failed", error_class="dns_not_found", seconds=0.01)
        if urlsplit(url).path == "/robots.txt":
            return _robots(host, number, seconds)
        return _page(self.pages[url], number, seconds)

    def expected(self) -> tuple[dict[str, int], set[str]]:
        """Walk the web: how often each URL must be asked for, and which must not be."""
        wanted: dict[str, int] = {}
        denied: set[str] = set()
        waiting = deque(self.starts)
        while waiting:
            url = waiting.popleft()
            if url in wanted or url in denied:
                continue
            host = self.hosts[urlsplit(url).hostname or ""]
            is_private = urlsplit(url).path.startswith("/private")
            if host.robots in {"gone", "down"} or (host.robots == "denying" and is_private):
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
    """Make up a web."""
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
    """Let some pages redirect: to where nobody else leads, in short chains and in circles."""
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


def _robots(host: Host, number: int, seconds: float) -> Answer:
    if host.robots == "missing":
        return Answer("not_found", 404, error_class="status_client", seconds=seconds)
    if host.robots == "down" or (host.robots == "flaky" and number <= 2):
        return Answer("server_error", 500, error_class="status_server", seconds=seconds)
    text = {"denying": DENYING, "slow": SLOW}.get(host.robots, "")
    return Answer("fetched", 200, robots_text=text, seconds=seconds)


def _page(page: Page, number: int, seconds: float) -> Answer:
    if page.how == "missing":
        return Answer("not_found", 404, error_class="status_client", seconds=seconds)
    if page.how == "broken" or (page.how == "flaky" and number <= 2):
        return Answer("server_error", 500, error_class="status_server", seconds=seconds)
    if page.how == "limited" and number == 1:
        return Answer("rate_limited", 429, error_class="status_client", retry_after=7.0, seconds=seconds)
    if page.how == "shut":
        return Answer("rate_limited", 429, error_class="status_client", retry_after=86_400.0, seconds=seconds)
    if page.how in {"moved", "circle"}:
        return Answer("redirected", 301, target=page.target, seconds=seconds)
    late = 20.0 if page.how == "late" else 0.0
    return Answer("fetched", 200, links=page.links, seconds=seconds + late, size=page.size)
