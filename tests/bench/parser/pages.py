"""What a page costs the parser, by level: bytes to event, synthetic pages of 28 KB and real ones of 32 KB."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from strider.parser.core.content.simhash import simhash
from strider.testing.site.plan import sentences
from tests.bench.measure import Row, interleaved
from tests.unit.parser.pages import a_page

from .rivals import against_scrapy, bare, words_apart

LINKS: Final = 80
PARAGRAPHS: Final = 40
SITEMAP_URLS: Final = 500
REAL_PAGES: Final = Path(__file__).parents[4] / "shared" / "corpora" / "wcxb-dev" / "html"
REAL_BYTES: Final = range(24 * 1024, 42 * 1024)
"""Of the real documents that are measured: 32 KB in the mean, as where the bar comes from."""


def synthetic() -> bytes:
    """Make a page of 28 KB with 80 links and much text."""
    chance = Random(28)
    links = "".join(f'<li><a href="/section/{n}/page-{n}.html">Story {n}</a></li>' for n in range(LINKS))
    text = "".join(f"<p class='text'>{sentences(chance, 500)}</p>" for _ in range(PARAGRAPHS))
    return (
        "<!doctype html><html lang=en><head><title>A page</title><meta name=description content='It says.'>"
        f"<link rel=canonical href='/a'></head><body><nav><ul>{links}</ul></nav>"
        f"<main><article><h1>A page</h1>{text}</article></main>"
        "<footer><p>Copyright</p></footer></body></html>"
    ).encode()


def real_pages() -> list[bytes]:
    """Give the real documents of that size; none where the corpora are not on this machine."""
    pages = (gzip.decompress(path.read_bytes()) for path in sorted(REAL_PAGES.glob("*.html.gz")))
    return [page for page in pages if len(page) in REAL_BYTES]


def _each(pages: Sequence[bytes], make: Callable[[bytes], Callable[[], object]]) -> Callable[[], object]:
    parts = [make(page) for page in pages]
    return lambda: [part() for part in parts]


def _real_rows(pages: list[bytes], *, rounds: int) -> list[Row]:
    parts: dict[str, Callable[[], object]] = {
        "bare": _each(pages, lambda page: partial(bare, page)),
        "basic": _each(pages, lambda page: _reading(page, ExtractionLevel.BASIC)),
        "main": _each(pages, lambda page: _reading(page, ExtractionLevel.MAIN)),
        "records": _each(pages, lambda page: _reading(page, ExtractionLevel.RECORDS)),
    }
    spreads = interleaved(parts, rounds=rounds, times=3)
    found = {name: spread.median / len(pages) for name, spread in spreads.items()}
    what = f"real documents of {sum(map(len, pages)) / len(pages) / 1024:.0f} KB"
    return [
        Row(f"parse `basic`, {what}", found["basic"] * 1e6, "µs CPU", 700, detail=_over(found)),
        against_scrapy(pages, found["basic"], what="real documents", times=rounds),
        Row(f"parse `main`, {what}", found["main"] * 1e6, "µs CPU", 2_500),
        Row(f"parse `records`, {what}", found["records"] * 1e6, "µs CPU", None),
    ]


def _over(found: Mapping[str, float]) -> str:
    return f"{found['basic'] / found['bare']:.1f} × Lexbor bare, {found['bare'] * 1e6:.0f} µs"


def _reading(content: bytes, level: str) -> Callable[[], object]:
    read = make_reader(ParseLimits(extraction=level))
    page = a_page(content)
    return lambda: read(page, content)


def a_sitemap(count: int) -> bytes:
    """Make a sitemap with all that the protocol has for an entry."""
    entries = "".join(
        f"<url>\n  <loc>https://site.test/shop/product-{number}.html</loc>\n"
        f"  <lastmod>2026-11-{1 + number % 28:02}T08:15:00+00:00</lastmod>\n"
        f"  <changefreq>weekly</changefreq>\n  <priority>0.{number % 10}</priority>\n</url>\n"
        for number in range(count)
    )
    return f"<?xml version='1.0'?>\n<urlset>\n{entries}</urlset>".encode()


def measure(*, rounds: int) -> list[Row]:
    """All rows of this file."""
    content = synthetic()
    text = make_reader(ParseLimits(extraction=ExtractionLevel.MAIN))(a_page(content), content).main_text
    parts: dict[str, Callable[[], object]] = {
        "bare": lambda: bare(content),
        "basic": _reading(content, ExtractionLevel.BASIC),
        "main": _reading(content, ExtractionLevel.MAIN),
        "simhash": lambda: simhash(text),
        "words": lambda: words_apart(text),
        "sitemap": _reading(a_sitemap(SITEMAP_URLS), ExtractionLevel.BASIC),
    }
    spreads = interleaved(parts, rounds=rounds, times=50)
    found = {name: spread.median for name, spread in spreads.items()}
    micros = {name: median * 1e6 for name, median in found.items()}
    real, what = real_pages(), f"{len(content) / 1024:.0f} KB synthetic page"
    apart = f"telling its words apart alone {micros['words']:.0f} µs"
    return [
        Row(f"parse `basic`, {what}", micros["basic"], "µs CPU", 400, detail=_over(found)),
        against_scrapy([content], found["basic"], what="synthetic page", times=10 * rounds),
        Row(f"parse `main`, {what}", micros["main"], "µs CPU", 1_500),
        *(_real_rows(real, rounds=rounds) if real else []),
        Row(
            f"main text and all that goes with it, {what}",
            micros["main"] - micros["basic"],
            "µs CPU",
            1_000,
        ),
        Row(f"SimHash, {what}", micros["simhash"], "µs CPU", 150, detail=apart),
        Row("a sitemap, for each URL", micros["sitemap"] / SITEMAP_URLS, "µs CPU", 12),
    ]
