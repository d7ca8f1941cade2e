"""Documents that list others: sitemaps, indexes, feeds, and broken variants."""

from __future__ import annotations

import gzip
import json
from random import Random
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED
from strider.parser.core import ParseLimits, fit_event
from strider.parser.core.event_size import ENTRY_COLUMNS, join_parts
from strider.parser.core.lists.feed import parse_feed
from strider.parser.core.lists.json_feed import parse_json_feed
from strider.parser.core.lists.models import MAX_DETAIL_BYTES, ListDocument
from strider.parser.core.lists.timestamps import _parse_rfc_822, _parse_words, to_iso_utc
from tests.unit.parser.pages import read

CODEC = Codec(SchemaStore.bundled())
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc> https://site.test/a?x=1&amp;y=2 </loc>
<lastmod>2024-03-01</lastmod><changefreq>Daily</changefreq><priority>0.8</priority></url>
<url><loc><![CDATA[https://site.test/b]]></loc></url><url><lastmod>2024</lastmod></url></urlset>"""
URLS = ("https://site.test/a?x=1&y=2", "https://site.test/b")


def listed(body: str | bytes, **fields: Any) -> PageParsed:
    fields = {"content_type": "", "url": "https://site.test/list", **fields}
    return read(body, **fields)


@pytest.mark.req("S2.2.8", "S2.2.9", "S3.21.4")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(SITEMAP.encode(), id="plain"),
        pytest.param(b"\xef\xbb\xbf" + SITEMAP.encode(), id="mark"),
        pytest.param(SITEMAP.replace("UTF-8", "UTF-16").encode("utf-16"), id="utf-16"),
        pytest.param(gzip.compress(SITEMAP.encode()), id="gzipped-file"),
        pytest.param(SITEMAP.replace("sitemaps.org", "nowhere.test").encode(), id="wrong-namespace"),
        pytest.param(SITEMAP.replace("</url>", "").replace("</urlset>", "").encode(), id="ends-missing"),
    ],
)
def test_a_sitemap_is_read_however_it_comes(body: bytes) -> None:
    """Half of all sitemaps violate a rule of the protocol."""
    page = listed(body)

    assert (page.outcome, page.document_kind, page.entry_urls) == ("parsed", "sitemap", URLS)
    assert page.entry_lastmods_ms[0] == 1_709_251_200_000
    assert (page.entry_changefreqs[0], page.entry_priorities[0]) == ("daily", 0.8)
    assert (page.links_found, page.links_dropped, page.text) == (2, 0, "")


PLAIN = (
    "<urlset><url><loc>https://site.test/a</loc>{}</url>\n <url><loc>/b?x=1&amp;y=&lt;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("", id="nothing more"),
        pytest.param("<lastmod> 2024-03-01T10:00:00+02:00 </lastmod>", id="a moment"),
        pytest.param("<lastmod>1970-01-01T00:00:00+05:00</lastmod>", id="before all time"),
        pytest.param("<lastmod>2024-02-30</lastmod><priority>0,5</priority>", id="no day"),
        pytest.param("<lastmod>2024-03-01T24:00:00Z</lastmod>", id="the end of a day"),
        pytest.param("<lastmod></lastmod><changefreq> NEVER\n</changefreq>", id="an empty field"),
        pytest.param(
            "<changefreq>sometimes</changefreq><priority>7</priority>", id="no words of the protocol"
        ),
        pytest.param("<priority>0.1</priority><lastmod>2024</lastmod>", id="another order"),
        pytest.param("<image:image><image:loc>https://site.test/i.png</image:loc></image:image>", id="more"),
    ],
)
def test_a_plain_sitemap_results_in_the_same_entries_as_the_tokenizer(fields: str) -> None:
    """Plain entries take the fast path; a comment forces the slow one."""
    body = PLAIN.format(fields)

    short = listed(body).to_record()
    long = listed(body.replace("</urlset>", "<!-- end --></urlset>")).to_record()

    own = {"raw_hash", "decoded_bytes", "body_bytes", "parse_us"}
    assert {name: short[name] for name in short.keys() - own} == {
        name: long[name] for name in long.keys() - own
    }
    assert short["entry_urls"] == ("https://site.test/a", "https://site.test/b?x=1&y=%3C")


@pytest.mark.req("S2.2.8")
def test_an_index_lists_sitemaps() -> None:
    page = listed("<sitemapindex><sitemap><loc>https://site.test/1.xml</loc></sitemap></sitemapindex>")

    assert (page.document_kind, page.entry_urls) == ("sitemap_index", ("https://site.test/1.xml",))
    assert page.entry_kinds == ("sitemap",)


@pytest.mark.parametrize(
    ("body", "kind", "kept"),
    [
        pytest.param("https://site.test/a\nhttps://site.test/b\n", "page", 2, id="nothing-but-urls"),
        pytest.param("# ours\nhttps://site.test/a\n", "sitemap", 1, id="named-as-a-sitemap"),
        pytest.param("see\nhttps://site.test/a\n", "page", 0, id="prose"),
    ],
)
def test_a_text_of_urls_is_a_sitemap(body: str, kind: str, kept: int) -> None:
    page = listed(body, kind=kind, content_type="text/plain")

    assert len(page.entry_urls) == kept
    assert page.document_kind == ("sitemap" if kept else "text")


def test_a_sitemap_is_valid_for_its_own_site_only() -> None:
    """Otherwise a sitemap could make us crawl any other site."""
    body = (
        "<urlset><url><loc>https://other.test/</loc></url><url><loc>https://m.site.test/</loc></url></urlset>"
    )
    page = listed(body)

    assert (page.entry_urls, page.links_found, page.links_dropped) == (("https://m.site.test/",), 2, 1)


def test_entities_are_never_expanded_nor_fetched() -> None:
    """The billion laughs attack costs only its own size."""
    dtd = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>'
    page = listed(f"{dtd}<rss><channel><item><title>&b;&x;</title><link>/a</link></item></channel></rss>")

    assert (page.document_kind, page.entry_titles) == ("feed", ("&b;&x;",))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "<rss><channel><title>News</title><item><title>One &lt;b&gt;A&lt;/b&gt;</title><link>/a</link>"
            "<pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate></item></channel></rss>",
            id="rss",
        ),
        pytest.param(
            '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><source><title>No</title>'
            '</source><title type="text">One A</title><link rel="self" href="/s"/><link href="/a"/>'
            "<updated>2004-01-01T19:48:21Z</updated></entry></feed>",
            id="atom",
        ),
        pytest.param(
            '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:d="http://purl.org/dc/elements/1.1/">'
            "<channel><title>News</title></channel><item><title>One A</title><link>/a</link>"
            "<d:date>2004-01-01T20:48:21+01:00</d:date></item></rdf:RDF>",
            id="rdf",
        ),
        pytest.param(
            "<rss><channel><title>News<item><title>One A<link>/a</link>"
            "<pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>",
            id="broken",
        ),
        pytest.param(
            '{"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": [{"id": 1,'
            ' "url": "/a", "title": "One A", "date_published": "2004-01-01T19:48:21Z"}]}',
            id="json",
        ),
    ],
)
def test_feeds_of_all_formats_result_in_the_same_entries(body: str) -> None:
    page = listed(body)

    assert (page.document_kind, page.title, page.entry_titles) == ("feed", "News", ("One A",))
    assert page.entry_urls == ("https://site.test/a",)
    assert page.entry_lastmods_ms == (1_072_986_501_000,)


def test_a_long_list_travels_in_parts() -> None:
    """No entry is lost, and the last part, which settles the page, counts what was dropped before."""
    rows = "".join(
        f"<url><loc>https://site.test/some/path/{at:08}</loc><priority>0.5</priority></url>"
        for at in range(50_100)
    )
    whole = listed(f"<urlset>{rows}</urlset>", kind="sitemap")

    fitted = fit_event(whole, may_store=False)
    parts = [*fitted.preceding_parts, fitted.event]

    assert [part.part for part in parts] == [*range(1, len(parts) + 1)]
    assert [part.is_last_part for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [part.links_dropped for part in parts] == [0] * (len(parts) - 1) + [100]
    sizes = [len(CODEC.encode(PAGES_PARSED, part).value) for part in parts]
    assert 0.4 * PAGES_PARSED.max_bytes < min(sizes[:-1]) <= max(sizes) <= PAGES_PARSED.max_bytes
    assert join_parts(parts) == whole
    assert len({part.raw_hash for part in parts}) == 1


def test_a_sitemap_may_be_larger_than_a_page() -> None:
    entry = b"<url><loc>https://site.test/a</loc><image:image>" + b"x" * 1_000 + b"</image:image></url>\n"
    body = b"<urlset>" + entry * 12_000 + b"</urlset>"

    assert listed(body, kind="sitemap").links_found == 12_000
    assert listed(body, kind="page").outcome == "too_large"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("<image:image><image:loc>/i.png</image:loc></image:image>", id="a-picture"),
        pytest.param("<lastmod>2024-03-01</lastmod><xhtml:link href='/de'/>", id="a-language"),
        pytest.param(
            "<news:news><lastmod>2024</lastmod></news:news><lastmod>2023</lastmod>", id="the-first-of-a-name"
        ),
        pytest.param("<lastmod/><priority>0.3</priority>", id="empty"),
        pytest.param("<x><url><loc>/c</loc></url></x>", id="one-within-another"),
        pytest.param("<!-- <loc>/c</loc> --><lastmod>2024</lastmod>", id="a-comment"),
        pytest.param("<lastmod><![CDATA[2024-03-01]]></lastmod><x/>", id="packed"),
        pytest.param("<lastmod>2024-03-01<b/></lastmod><x/>", id="markup-within"),
    ],
)
def test_extensions_do_not_change_the_core_fields_of_an_entry(entry: str) -> None:
    """The fast path and the tokenizer result in the same entries."""
    body = f"<urlset><url><loc>/a</loc>{entry}</url> <url>{entry}<loc>/b</loc></url></urlset>"

    swift, slow = listed(body), listed(f"<!-- -->{body}<!-- -->")

    for column in ENTRY_COLUMNS:
        assert getattr(swift, column) == getattr(slow, column)


def test_records_contain_the_details_of_each_entry() -> None:
    body = (
        '<urlset xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">'
        '<url><loc>https://site.test/a</loc><xhtml:link rel="alternate" hreflang="de-at" href="https://site.test/de"/>'
        "<i:image><i:loc>https://site.test/a.png</i:loc></i:image></url></urlset>"
    )
    page = read(body, limits=ParseLimits(extraction="records"), content_type="", url="https://site.test/list")

    assert json.loads(page.structured_json)[0]["entries"] == [
        {
            "url": "https://site.test/a",
            "alternates": [{"language": "de-AT", "url": "https://site.test/de"}],
            "images": [{"url": "https://site.test/a.png"}],
        }
    ]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2003", "2003-01-01T00:00:00Z"),
        ("20031231", "2003-12-31T00:00:00Z"),
        ("2003-335", "2003-12-01T00:00:00Z"),
        ("2003-12-31T10:14:55-08:00", "2003-12-31T18:14:55Z"),
        ("Thu, 01 Jan 04 19:48:21 EST", "2004-01-02T00:48:21Z"),
        ("January 5, 2017 3:04", "2017-01-05T03:04:00Z"),
        ("Tue, 05 Mar 2024 10:00:00 JST", "2024-03-05T01:00:00Z"),
        ("Tue, 05 Mar 2024 10:00:00 GMT+0200", "2024-03-05T08:00:00Z"),
        ("Tue, 05 Mar 2024 10:00:00 -5", "2024-03-05T15:00:00Z"),
        ("2024-03-05 10:00:00 PM", "2024-03-05T22:00:00Z"),
        ("Mon, 30 Nov -0001 00:00:00 +0000", ""),
        ("2003-13-01", ""),
        ("soon", ""),
    ],
)
def test_dates_of_feeds(text: str, iso: str) -> None:
    assert to_iso_utc(text) == iso


def test_the_short_way_to_a_date_leads_where_the_long_one_does() -> None:
    """Nearly all feeds use one date format, which needs no search."""
    chance = Random(7)
    read = 0
    for _ in range(3_000):
        day, year, hour, minute, second = (
            chance.randint(*ends) for ends in ((0, 32), (1968, 2040), (0, 25), (0, 61), (0, 61))
        )
        name, zone = (
            chance.choice(["Jan", "Feb", "Dec"]),
            chance.choice(["GMT", "UTC", "+0200", "-0930", "+1459"]),
        )
        text = (
            f"{chance.choice(['Mon, ', ''])}{day:02} {name} {year} {hour:02}:{minute:02}:{second:02} {zone}"
        )
        try:
            found = _parse_rfc_822(text)
        except ValueError:
            continue  # parsed by the slow path

        assert found is not None
        assert found == _parse_words(text), text
        read += 1
    assert read > 2_000


def a_long_feed(kind: str, entries: int) -> str:
    words = "word " * 180
    if kind == "json":
        items = [
            {
                "id": str(n),
                "url": f"/{n}",
                "title": f"T{n}",
                "date_published": "2024-03-05",
                "content_html": words,
            }
            for n in range(entries)
        ]
        return json.dumps({"version": "https://jsonfeed.org/version/1", "items": items})
    row = "<item><title>T{0}</title><link>/{0}</link><pubDate>5 Mar 2024 10:00:00 GMT</pubDate>"
    rows = "".join(f"{row.format(n)}<description>{words}</description></item>" for n in range(entries))
    return f"<rss><channel><description>all</description>{rows}</channel></rss>"


def read_whole(kind: str, text: str, *, with_details: bool) -> ListDocument:
    reads = parse_json_feed if kind == "json" else parse_feed
    return reads(text, "https://site.test/feed", with_details=with_details)


@pytest.mark.parametrize("kind", ["rss", "json"])
def test_of_a_feed_no_details_are_kept_that_do_not_travel(kind: str) -> None:
    """Reading the details of twenty thousand entries would exceed the time limit of a page."""
    text = a_long_feed(kind, 1_000)
    full, short = (read_whole(kind, text, with_details=wanted) for wanted in (True, False))

    assert [(one.url, one.title, one.lastmod_ms) for one in full.entries] == [
        (one.url, one.title, one.lastmod_ms) for one in short.entries
    ]
    assert not any(one.details for one in short.entries)
    assert (full.description, full.about) == (short.description, short.about)
    with_details = [one for one in full.entries if one.details]
    assert list(full.entries[: len(with_details)]) == with_details
    assert MAX_DETAIL_BYTES <= sum(len(str(one.details)) for one in with_details) < MAX_DETAIL_BYTES + 2_000


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param(
            "/x?a=1&copy=2&region=eu&currency=usd", "/x?a=1&copy=2&region=eu&currency=usd", id="bare"
        ),
        pytest.param("/x?a=1&amp;copy=2&#38;b=&#x26;", "/x?a=1&copy=2&b=&", id="written as references"),
        pytest.param("/x?a=&bogus;&eacute;", "/x?a=&bogus;%C3%A9", id="a name that is none stays"),
    ],
)
def test_parts_of_an_address_are_no_signs(address: str, expected: str) -> None:
    """`&copy=` in a URL is a parameter, though elsewhere the semicolon may be missing."""
    sitemap = listed(f"<urlset><url><loc>https://site.test{address}</loc></url></urlset>")
    feed = listed(
        f"<rss version='2.0'><channel><item><link>{address}</link></item>"
        f"<item><enclosure url='{address}'/><atom:link href='{address}'/></item></channel></rss>"
    )

    assert sitemap.entry_urls == (f"https://site.test{expected}",)
    assert set(feed.entry_urls) == {f"https://site.test{expected}"}


def test_a_sitemap_with_nothing_in_it_is_one() -> None:
    assert (listed("<urlset/>").document_kind, listed("<rss/>").document_kind) == ("sitemap", "feed")


def test_a_field_without_its_end_is_kept_where_its_entry_ends() -> None:
    page = listed(
        "<urlset><url><lastmod>2024-03-01<loc>https://site.test/a</url><url><loc>https://site.test/b"
        "<lastmod>2024-03-02</lastmod></url><url><loc>https://site.test/cut"
    )

    assert page.entry_urls == ("https://site.test/a", "https://site.test/b")
    assert page.entry_lastmods_ms == (1_709_251_200_000, 1_709_337_600_000)


def test_a_broken_json_feed_is_repaired_where_that_is_safe() -> None:
    page = listed(
        '{"version":"https://jsonfeed.org/version/1.1","title":"J",'
        '"items":[{"id":1,"url":"/1","title":"one",},{"id":{"no":1},"url":"/2"},]}'
    )

    assert (page.title, page.entry_urls) == ("J", ("https://site.test/1", "https://site.test/2"))


def test_of_several_alternates_the_page_counts() -> None:
    page = listed(
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry>"
        "<link rel='alternate' type='application/json' href='/j'/>"
        "<link rel='http://www.iana.org/assignments/relation/alternate' type='text/html' href='/h'/>"
        "</entry></feed>"
    )

    assert page.entry_urls == ("https://site.test/h",)
