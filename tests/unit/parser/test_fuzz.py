"""Fuzzed documents: any bytes result in an event that can be sent."""

from __future__ import annotations

import gzip
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_PARSED
from strider.parser.core import ParseLimits, fit_event

from .pages import read
from .pdfs import a_pdf

CODEC = Codec(SchemaStore.bundled())

HTML: Final = b"""<!doctype html><html lang=en><head><base href="/b/"><title>T &amp; t</title>
<meta charset=utf-8><meta name=robots content="noindex, nofollow"><meta property="og:title" content="x">
<link rel="next prev canonical alternate" hreflang=de type="application/rss+xml" href="?page=2">
<script type="application/ld+json">
{"@type": "Product", "offers": {"price": "1.234,56", "priceCurrency": "EUR"}}</script>
</head><body itemscope itemtype="https://schema.org/Article"><nav><a href="/1">1</a>
<a href="?page=3">3</a></nav>
<main vocab="https://schema.org/" typeof=Product><h1 property=name>Name</h1>
<p class="price">EUR 1,99 <del>2,99</del>
<time datetime="2026-11-18">today</time><table><tr><td>a<td>b</table>
<pre>x</pre><a href="mailto:x" rel=nofollow>y</a>
<img src=i.png alt="a" width=9><div hidden style="display:none">no</div>
<button>Add to cart</button></main></body>"""
SITEMAP: Final = b"""<?xml version="1.0"?><urlset><url>
<loc>https://site.test/a?b=1&amp;c=2</loc><lastmod>2026-11-18</lastmod>
<changefreq>daily</changefreq><priority>0.5</priority><image:image>
<image:loc>/i</image:loc></image:image></url></urlset>"""
FEED: Final = b"""<rss version="2.0"><channel><title>F</title><link>/</link>
<item><title><![CDATA[a <b>]]></title>
<link>/a</link><pubDate>Wed, 18 Nov 2026 10:00:00 GMT</pubDate>
<guid isPermaLink="true">x</guid></item></channel></rss>"""
JSON_FEED: Final = (
    b"""{"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": [{"id": 1, "url": "/a"}]}"""
)

SEEDS: Final = {
    "html": HTML,
    "sitemap": SITEMAP,
    "feed": FEED,
    "json-feed": JSON_FEED,
    "pdf": a_pdf(links=["/a"]),
}
PIECES: Final = (
    *(
        b"<",
        b">",
        b"</",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"&#0;",
        b"&#xD800;",
        b"\0",
        b"\xff",
        b"'",
        b'"',
    ),
    *(
        b"<table>",
        b"<template>",
        b"<svg>",
        b"<math>",
        b"<frameset>",
        b"<noscript>",
        b"<select>",
        b"<a href=#>",
    ),
    *(
        b"<base href='http://['>",
        b"<url>",
        b"<loc>",
        b"<item>",
        b"{",
        b"}",
        b"[",
        b"\\u0000",
        b"1e999",
        b"-",
        b"%",
    ),
    *(b"endobj", b"stream", b" 0 R", b"/Kids", b"<<", b">>", b"xref", b"99999999999999999999"),
)

_edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 40),
        st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)),
    ),
    max_size=12,
)


def edited(seed: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Replace a few bytes at random positions."""
    for place, count, piece in edits:
        at = int(place * len(seed))
        seed = seed[:at] + piece + seed[at + count :]
    return seed


def check(body: bytes, **fields: str) -> None:
    event = read(body, limits=ParseLimits(extraction="records", with_markdown=True), **fields)
    fitted = fit_event(event, may_store=False)
    for part in (*fitted.preceding_parts, fitted.event):
        CODEC.decode(PAGES_PARSED, *CODEC.encode(PAGES_PARSED, part))


@pytest.mark.parametrize("name", SEEDS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    edits=_edits,
    content_type=st.sampled_from(["", "text/html", "application/xml", "application/pdf", "text/plain"]),
)
def test_fuzzed_documents_have_an_outcome(
    name: str, edits: list[tuple[float, int, bytes]], content_type: str
) -> None:
    check(edited(SEEDS[name], edits), content_type=content_type)


@settings(deadline=None, max_examples=40)
@given(
    edits=_edits,
    encoding=st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, gzip", "nonsense", "identity"]),
)
def test_fuzzed_encodings_have_an_outcome(edits: list[tuple[float, int, bytes]], encoding: str) -> None:
    check(edited(gzip.compress(HTML), edits), content_encoding=encoding)


@settings(deadline=None, max_examples=60)
@given(body=st.binary(max_size=400), kind=st.sampled_from(["page", "sitemap", "feed", "robots"]))
def test_fuzzed_bytes_have_an_outcome(body: bytes, kind: str) -> None:
    check(body, kind=kind, content_type="")
