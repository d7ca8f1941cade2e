"""`Link` headers: RFC 8288, and what servers send instead."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from strider.parser.core.html.models import LinkTag
from strider.parser.core.html.response_headers import MAX_LINKS, read_link_headers
from tests.unit.parser.pages import read
from tests.unit.parser.pdfs import a_pdf

URL = "https://site.test/folder/page"


def links(*values: str) -> list[tuple[str, str]]:
    return [(tag.rel, tag.href) for tag in read_link_headers(values, URL)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param('</a>; rel="canonical"', [("canonical", "/a")], id="quoted"),
        pytest.param("</a>;rel=canonical", [("canonical", "/a")], id="bare"),
        pytest.param("</a> ; REL = 'Canonical'", [("canonical", "/a")], id="single-quotes"),
        pytest.param(
            '<b>; rel="next", <c>; rel=prev', [("next", "/folder/b"), ("prev", "/folder/c")], id="two"
        ),
        pytest.param(
            '</a,b;c>; title="x, <y>; rel=next"; rel=next', [("next", "/a,b;c")], id="quoted-commas"
        ),
        pytest.param(r'</a>; title="\"; rel=next, <"; rel=prev', [("prev", "/a")], id="quoted-quotes"),
        pytest.param("</a>; title*=UTF-8'de'n%c3%a4chste; rel=next", [("next", "/a")], id="extended-title"),
        pytest.param(
            '</a>; type="text/html"; rel="shortlink canonical"', [("shortlink canonical", "/a")], id="words"
        ),
        pytest.param("</a>; rel=canonical; rel=next", [("canonical", "/a")], id="the-first-counts"),
        pytest.param("</a>; rev=canonical", [], id="rev"),
        pytest.param("</a>", [], id="no-relation"),
        pytest.param(
            "</a.css>; rel=preload; as=style, </a>; rel=canonical;", [("canonical", "/a")], id="preload"
        ),
        pytest.param('</a>; rel=canonical; anchor="#part"', [("canonical", "/a")], id="a-part-of-the-page"),
        pytest.param('</a>; rel=canonical; anchor="/folder/page"', [("canonical", "/a")], id="the-page"),
        pytest.param('</a>; rel=canonical; anchor="/other"', [], id="another-page"),
        pytest.param("</a; rel=canonical", [], id="no-end"),
        pytest.param(
            "junk, </a>; ; rel=canonical junk, </b>; rel=next",
            [("canonical", "/a"), ("next", "/b")],
            id="junk",
        ),
        pytest.param('</a>; rel="canonical', [("canonical", "/a")], id="an-open-quote"),
        pytest.param("<mailto:a@b.test>; rel=canonical", [], id="no-page"),
    ],
)
def test_link_headers_are_parsed(value: str, expected: list[tuple[str, str]]) -> None:
    found = [(rel, href.removeprefix("https://site.test")) for rel, href in links(value)]

    assert found == expected


def test_a_link_has_language_and_type() -> None:
    (tag,) = read_link_headers(
        ['<https://site.test/de>; rel="alternate"; hreflang="de"; type=Text/HTML'], URL
    )

    assert tag == LinkTag("alternate", "https://site.test/de", "de", "text/html")


def test_however_many_there_are() -> None:
    """An endless value does not take quadratic time either."""
    assert len(links(", ".join("</a>; rel=next" for _ in range(1_000)))) == MAX_LINKS
    assert links("canonical" + "<" * 200_000) == []
    assert links("<a>" + '; x="' * 50_000 + "canonical") == []
    assert links("<a>" + "; " * 100_000 + "canonical") == []


def read_with(body: bytes, *values: str, level: str = "main", **fields: Any) -> PageParsed:
    names = ("Content-Type", *("Link" for _ in values))
    return read(
        body,
        limits=ParseLimits(extraction=level),
        url=URL,
        header_names=names,
        header_values=("text/html", *values),
        **fields,
    )


@pytest.mark.req("S3.9.6")
def test_elements_take_precedence_over_headers() -> None:
    page = read_with(
        b"<base href=/elsewhere/><link rel=canonical href=/own><link rel=alternate hreflang=fr href=/fr><p>x",
        "</stated>; rel=canonical, <de>; rel=alternate; hreflang=de, <p3>; rel=next",
    )

    assert (page.canonical_url, page.meta["link:canonical"]) == (
        "https://site.test/own",
        "https://site.test/stated",
    )
    assert page.alternate_urls == ("https://site.test/fr", "https://site.test/folder/de")
    assert page.alternate_languages == ("fr", "de")
    assert page.next_url == "https://site.test/folder/p3"


def test_headers_count_where_elements_are_missing_or_equal() -> None:
    alone = read_with(b"<p>x", "</stated>; rel=canonical", level="basic")
    both = read_with(b"<link rel=canonical href=/stated><p>x", "</stated>; rel=canonical")

    assert {alone.canonical_url, both.canonical_url} == {"https://site.test/stated"}
    assert (alone.meta, both.meta) == ({}, {})


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        pytest.param(a_pdf("Some words"), "application/pdf", id="pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "image/png", id="picture"),
        pytest.param(b'{"a": 1}', "application/json", id="json"),
        pytest.param(b"<rss><channel><item><link>/x</link></item></channel></rss>", "text/xml", id="feed"),
    ],
)
def test_documents_without_elements_have_them(body: bytes, content_type: str) -> None:
    page = read_with(
        body,
        "</page.html>; rel=canonical",
        '<?page=2>; rel="next", </feed>; rel=alternate; type="application/rss+xml"',
        content_type=content_type,
    )

    assert page.canonical_url == "https://site.test/page.html"
    assert page.feed_urls == page.alternate_urls == ("https://site.test/feed",)
    assert page.next_url == "https://site.test/folder/page?page=2"
