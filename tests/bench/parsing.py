"""What a page costs the parser, by level: bytes to event, synthetic pages of 28 KB and real ones of 32 KB."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from strider.contracts.generated.words import ExtractionLevel
from strider.parser.adapters.lexbor import read_html
from strider.parser.adapters.pages import make_reader
from strider.parser.core import Limits
from strider.parser.core.fingerprints import simhash
from strider.parser.core.readings import Depth
from strider.testing.site.prose import sentences
from tests.unit.parser.pages import a_page

from .measure import Row, interleaved

LINKS: Final = 80
PARAGRAPHS: Final = 40
SITEMAP_URLS: Final = 500
REAL_PAGES: Final = Path(__file__).parents[3] / "shared" / "corpora" / "wcxb-dev" / "html"
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


def _reading_all(pages: list[bytes]) -> Callable[[], object]:
    readings = [_reading(page, ExtractionLevel.BASIC) for page in pages]
    return lambda: [reading() for reading in readings]


def _real_row(pages: list[bytes], *, rounds: int) -> Row:
    parts = {"real": _reading_all(pages)}
    median = interleaved(parts, rounds=rounds, times=5)["real"].median * 1e6 / len(pages)
    kilobytes = sum(map(len, pages)) / len(pages) / 1024
    return Row(f"parse `basic`, real documents of {kilobytes:.0f} KB", median, "µs CPU", 700)


def _reading(content: bytes, level: str) -> Callable[[], object]:
    read = make_reader(Limits(extraction=level))
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
    text = make_reader(Limits(extraction=ExtractionLevel.MAIN))(a_page(content), content).main_text
    parts: dict[str, Callable[[], object]] = {
        "basic": _reading(content, ExtractionLevel.BASIC),
        "main": _reading(content, ExtractionLevel.MAIN),
        "simhash": lambda: simhash(text),
        "sitemap": _reading(a_sitemap(SITEMAP_URLS), ExtractionLevel.BASIC),
        "tree": lambda: read_html(content),
        "tree and blocks": lambda: read_html(content, Depth(has_blocks=True)),
    }
    found = {
        name: spread.median * 1e6 for name, spread in interleaved(parts, rounds=rounds, times=50).items()
    }
    real = real_pages()
    what = f"{len(content) / 1024:.0f} KB synthetic page"
    return [
        Row(f"parse `basic`, {what}", found["basic"], "µs CPU", 400),
        *([_real_row(real, rounds=rounds)] if real else []),
        Row(f"parse `main`, {what}", found["main"], "µs CPU", 1_500),
        Row(
            f"main text and all that goes with it, {what}",
            found["main"] - found["basic"],
            "µs CPU",
            1_000,
        ),
        Row(f"SimHash, {what}", found["simhash"], "µs CPU", 150),
        Row("a sitemap, for each URL", found["sitemap"] / SITEMAP_URLS, "µs CPU", 12),
    ]
