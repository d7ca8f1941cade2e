"""Generation of a site's pages, their random prose, and of the crawl that must result.

Pure, and without any code of the crawler: the expected sets follow from how the site was built. Depths cannot
depend on the order of fetching, because a page is linked from its parent and, besides, only by pages that
come after it in any order (its descendants and theirs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from random import Random
from typing import Final

from .models import PathKind, PlannedResponse, SitePlan, SiteShape

_WORDS: Final = tuple(
    word
    for line in (
        "river stone market letter winter garden bridge copper window harbour engine valley song paper road",
        "island candle mirror forest signal kitchen ladder orchard needle thunder pocket meadow lantern",
        "carries holds follows measures answers repairs crosses remembers counts opens paints leaves finds",
        "keeps slowly often twice rarely gladly early quietly together",
    )
    for word in line.split()
)


def sentences(chance: Random, characters: int) -> str:
    """Return about so many characters of prose."""
    written: list[str] = []
    length = 0
    while length < characters:
        words = chance.choices(_WORDS, k=chance.randint(6, 14))
        sentence = " ".join(words).capitalize() + "."
        written.append(sentence)
        length += len(sentence) + 1
    return " ".join(written)


def page_html(title: str, text: str, links: Sequence[str]) -> bytes:
    """Return a page with text and links."""
    items = "".join(f'<li><a href="{escape(link)}">Go to {escape(link)}</a></li>' for link in links)
    third = max(1, len(text) // 3)
    paragraphs = "".join(f"<p>{text[at : at + third]}</p>" for at in range(0, len(text), third))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="description" content="About {escape(title)}"></head>'
        f"<body><h1>{escape(title)}</h1><main>{paragraphs}</main><ul>{items}</ul></body></html>"
    ).encode()


_STOCK_PARAGRAPHS: Final = 500
_STOCK_CHARACTERS: Final = 1_000
"""Paragraphs, and their length."""

FORBIDDEN_ADDRESS: Final = "http://169.254.169.254/"
"""Where clouds serve credentials: a crawler must never request it, whatever links there."""
EXCLUDED: Final = "/skipped/*"
"""Pattern of the URLs that a crawl of a whole site excludes."""

_UNFETCHABLE_LINKS: Final = (
    "mailto:nobody@example.org",
    "javascript:void(0)",
    "tel:+100",
    "http://not a host/",
)
"""Links that lead to no page: no decision need be recorded for them."""


def make_plan(seed: int, origins: Sequence[str], shape: SiteShape = SiteShape()) -> SitePlan:  # noqa: B008  # frozen
    """Return a site on these origins (`http://host:port`), the same for the same seed."""
    builder = _SitePlanBuilder(Random(seed), tuple(origins), shape)  # noqa: S311  # a site, not a secret
    for at in range(len(origins)):
        builder.add_host(at)
    return builder.plan()


class _SitePlanBuilder:
    """Collects responses and expectations, host by host."""

    def __init__(self, chance: Random, origins: tuple[str, ...], shape: SiteShape) -> None:
        self._chance = chance
        self._origins = origins
        self._shape = shape
        self._answers: dict[tuple[str, str], PlannedResponse] = {}
        self._pages: set[str] = set()
        self._redirects: dict[str, str] = {}
        self._failures: dict[str, str] = {}
        self._forbidden: set[str] = set()
        self._refused: dict[str, str] = {}
        self._retried: dict[str, int] = {}
        self._stock: list[str] = []

    def plan(self) -> SitePlan:
        return SitePlan(
            self._origins,
            self._answers,
            frozenset(self._pages),
            self._redirects,
            self._failures,
            frozenset(self._forbidden),
            self._refused,
            self._retried,
        )

    def add_host(self, at: int) -> None:
        """Add one host: a tree of pages, odd pages linked from its root, and its robots.txt."""
        origin = self._origins[at]
        odd = [] if self._shape.is_plain else list(self._add_oddities(origin))
        neighbours = [f"{self._origins[child]}/" for child in self._hosts_below(at)]
        for number in range(self._shape.pages_per_host):
            links = [_path(child) for child in self._below(number)] + self._above(number) + self._across()
            if number == 0:
                links += neighbours + odd
            if number == at == 0 and self._shape.trap_depth:
                links.append(self._add_trap(origin))
            self._add_page(origin, _path(number), links, title=f"Page {number} of {origin[7:]}")
        self._put(
            origin,
            "/robots.txt",
            PlannedResponse(PathKind.ROBOTS, body=self._robots(), content_type="text/plain"),
        )

    def _hosts_below(self, at: int) -> range:
        first = at * 8 + 1
        return range(first, min(first + 8, len(self._origins)))

    def _below(self, number: int) -> range:
        first = number * self._shape.children + 1
        return range(first, min(first + self._shape.children, self._shape.pages_per_host))

    def _above(self, number: int) -> list[str]:
        """Return links to pages that are surely known by then: its ancestors, in several spellings."""
        forebears = [0]
        while number:
            number = (number - 1) // self._shape.children
            forebears.append(number)
        links = [_path(each) + self._chance.choice(("", "#top", "?utm_source=x")) for each in forebears]
        return links + [_path(self._chance.choice(forebears)) for _ in range(self._shape.far_links)]

    def _across(self) -> list[str]:
        chance, shape = self._chance, self._shape
        return [
            chance.choice(self._origins) + _path(chance.randrange(shape.pages_per_host))
            for _ in range(shape.cross_links)
        ]

    def _robots(self) -> bytes:
        delay = self._shape.crawl_delay_seconds
        lines = ["User-agent: *", "Disallow: /private/", "Allow: /"]
        return "\n".join(lines + [f"Crawl-delay: {delay:g}"] * bool(delay)).encode() + b"\n"

    def _add_page(
        self, origin: str, path: str, links: Sequence[str], *, title: str, **answer: object
    ) -> None:
        text = self._text()
        body = page_html(title, text, links)
        given: dict[str, object] = {"kind": PathKind.PAGE, "body": body, **answer}
        self._put(origin, path, PlannedResponse(**given))  # type: ignore[arg-type]  # names are this module's own
        self._pages.add(origin + path)

    def _text(self) -> str:
        """Return a page's text; long ones are joined from a stock, because generation takes time."""
        length = self._shape.filler_bytes
        if length <= _STOCK_CHARACTERS:
            return sentences(self._chance, length)
        if not self._stock:
            self._stock = [sentences(self._chance, _STOCK_CHARACTERS) for _ in range(_STOCK_PARAGRAPHS)]
        return " ".join(self._chance.choices(self._stock, k=length // _STOCK_CHARACTERS))

    def _put(self, origin: str, path: str, answer: PlannedResponse) -> None:
        self._answers[origin.removeprefix("http://"), path] = answer

    def _add_oddities(self, origin: str) -> Iterator[str]:
        """Add paths that crawlers stumble over; yield the links to them."""
        yield from self._add_forbidden(origin)
        yield from self._add_redirects(origin)
        yield from self._add_failing(origin)
        self._add_page(
            origin, "/slow", (), title="Slow", kind=PathKind.SLOW, delay_seconds=self._shape.slow_seconds
        )
        yield "/slow"
        twin = sentences(self._chance, self._shape.filler_bytes)
        for name in ("one", "two"):
            body = page_html(f"Twin {name}", twin, ())
            self._put(origin, f"/twin/{name}", PlannedResponse(PathKind.PAGE, body=body))
            self._pages.add(f"{origin}/twin/{name}")
            yield f"/twin/{name}"
        yield from _UNFETCHABLE_LINKS
        yield from self._add_refused(origin)

    def _add_refused(self, origin: str) -> Iterator[str]:
        refused = [("/files/archive.zip", "refused_file_type")]
        refused += [("/skipped/1", "excluded")] * self._shape.has_excluded
        for path, reason in refused:
            self._put(origin, path, PlannedResponse(PathKind.REFUSED, body=b"not for crawlers"))
            self._refused[origin + path] = reason
            yield path

    def _add_trap(self, origin: str) -> str:
        """Add a page for each day that links to the next, one day further than the crawl may go."""
        last = self._shape.trap_depth
        for day in range(1, last + 1):
            self._add_page(origin, f"/day/{day}", [f"/day/{day + 1}"], title=f"Day {day}")
        self._put(origin, f"/day/{last + 1}", PlannedResponse(PathKind.REFUSED, body=b"another day"))
        self._refused[f"{origin}/day/{last + 1}"] = "too_deep"
        return "/day/1"

    def _add_forbidden(self, origin: str) -> Iterator[str]:
        for number in range(2):
            path = f"/private/{number}"
            self._put(
                origin,
                path,
                PlannedResponse(PathKind.FORBIDDEN, body=page_html("Private", "Not for you.", ())),
            )
            self._forbidden.add(origin + path)
            yield path

    def _add_redirects(self, origin: str) -> Iterator[str]:
        for number in range(3):
            self._redirect(origin, f"/chain/{number}", f"/chain/{number + 1}")
        self._add_page(origin, "/chain/3", (), title="The end of the chain")
        self._redirect(origin, "/loop/a", "/loop/b")
        self._redirect(origin, "/loop/b", "/loop/a", failure="redirect_loop")
        self._redirect(origin, "/astray", FORBIDDEN_ADDRESS)
        self._refused[FORBIDDEN_ADDRESS] = "policy_blocked"
        yield from ("/chain/0", "/loop/a", "/astray")

    def _redirect(self, origin: str, path: str, target: str, *, failure: str = "") -> None:
        self._put(origin, path, PlannedResponse(PathKind.REDIRECT, status=302, location=target))
        if failure:
            self._failures[origin + path] = failure
        else:
            self._redirects[origin + path] = target if "://" in target else origin + target

    def _add_failing(self, origin: str) -> Iterator[str]:
        self._put(origin, "/gone", PlannedResponse(PathKind.MISSING, status=404, body=b"<h1>Not here</h1>"))
        self._failures[f"{origin}/gone"] = "not_found"
        self._put(origin, "/broken", PlannedResponse(PathKind.BROKEN, status=500, body=b"<h1>Oh</h1>"))
        self._failures[f"{origin}/broken"] = "retries_exhausted"
        self._retried[f"{origin}/broken"] = 4
        self._add_page(origin, "/flaky", (), title="Flaky", kind=PathKind.FLAKY, failures=1)
        self._retried[f"{origin}/flaky"] = 2
        yield from ("/gone", "/broken", "/flaky")
        if self._shape.has_busy:
            self._add_page(origin, "/busy", (), title="Busy", kind=PathKind.BUSY, failures=1)
            self._retried[f"{origin}/busy"] = 2
            yield "/busy"


def _path(number: int) -> str:
    return f"/p/{number}" if number else "/"
