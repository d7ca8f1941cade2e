"""Metadata of pages, with the usual fallbacks and limits."""

# ruff: noqa: RUF001  # commas of other scripts

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from tests.unit.parser.pages import URL, read


def parsed(head: str, body: str = "<p>text</p>", **more: Any) -> PageParsed:
    return read(f"<html><head>{head}</head><body>{body}</body></html>", **more)


@pytest.mark.req("S3.9.2")
@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        pytest.param("<title> A\n  title </title>", "", ("A title", "title"), id="title"),
        pytest.param("<title>One</title><title>Two</title>", "", ("One", "title"), id="first-title"),
        pytest.param("", "<svg><title>Icon</title></svg><h1>Head</h1>", ("Head", "h1"), id="not-a-picture's"),
        pytest.param(
            "<title> </title><meta property=og:title content=Graph>",
            "<h1>x</h1>",
            ("Graph", "og:title"),
            id="open-graph",
        ),
        pytest.param("", "<h1>The <b>Head</b></h1><h1>x</h1>", ("The Head", "h1"), id="heading"),
        pytest.param("<title>&lt;b&gt; &amp; &eacute;</title>", "", ("<b> & é", "title"), id="entities"),
        pytest.param("", "", ("", ""), id="none"),
        pytest.param(f"<title>{'x' * 2_000}</title>", "", ("x" * 1_000, "title"), id="clipped"),
    ],
)
def test_title(head: str, body: str, expected: tuple[str, str]) -> None:
    page = parsed(head, body + "text")

    assert (page.title, page.title_source) == expected


@pytest.mark.req("S3.9.3")
@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param("<meta name=Description content=' What  it\nis '>", "What it is", id="meta"),
        pytest.param("<meta property='og:description' content='Graph'>", "Graph", id="open-graph"),
        pytest.param("<meta name=description content=''>", "", id="empty"),
    ],
)
def test_description(head: str, expected: str) -> None:
    assert parsed(head).description == expected


@pytest.mark.req("S3.9.6")
def test_canonical_and_alternates_are_resolved() -> None:
    page = parsed(
        "<link rel=canonical href='/c?b=2&utm_medium=x'><link rel=canonical href=/second>"
        "<link rel=alternate hreflang=de-at href=/de><link rel='alternate' hreflang=x-default href=/>"
        "<link rel=alternate type='application/rss+xml' href=feed.xml>"
        "<link rel='alternate stylesheet' href=style.css><link rel=alternate href='javascript:x'>"
    )

    assert page.canonical_url == "https://site.test/c?b=2"
    assert page.alternate_urls == (
        "https://site.test/de",
        "https://site.test/",
        "https://site.test/folder/feed.xml",
    )
    assert page.alternate_languages == ("de-AT", "x-default", "")
    assert page.alternate_types == ("", "", "application/rss+xml")
    assert page.feed_urls == ("https://site.test/folder/feed.xml",)


@pytest.mark.parametrize(
    ("head", "base", "link"),
    [
        pytest.param("", URL, "https://site.test/folder/x", id="none"),
        pytest.param(
            "<base href='/other/'>", "https://site.test/other/", "https://site.test/other/x", id="folder"
        ),
        pytest.param(
            "<base target=_blank><base href=//cdn.test/a/>",
            "https://cdn.test/a/",
            "https://cdn.test/a/x",
            id="other-origin",
        ),
        pytest.param("<base href='javascript:x'>", URL, "https://site.test/folder/x", id="no-base"),
    ],
)
def test_base_is_honoured(head: str, base: str, link: str) -> None:
    page = parsed(head, "<a href=x>x</a>")

    assert (page.base_url, page.link_urls) == (base, (link,))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("0; url=/next", ("https://site.test/next", 0.0), id="plain"),
        pytest.param("5;URL='/next'", ("https://site.test/next", 5.0), id="quoted"),
        pytest.param("1.5, /next", ("https://site.test/next", 1.5), id="comma-without-name"),
        pytest.param("30", ("", 30.0), id="only-seconds"),
        pytest.param("0;url=javascript:alert(1)", ("", 0.0), id="no-page"),
        pytest.param("999999999; url=/x", ("https://site.test/x", 1_000_000.0), id="clamped"),
        pytest.param("soon", ("", -1.0), id="nonsense"),
        pytest.param("; url=/x", ("", -1.0), id="no-seconds"),
        pytest.param(".5; url=/x", ("https://site.test/x", 0.5), id="fraction"),
    ],
)
def test_meta_refresh(content: str, expected: tuple[str, float]) -> None:
    page = parsed(f'<meta http-equiv=Refresh content="{content}">')

    assert (page.refresh_url, page.refresh_seconds) == expected


@pytest.mark.parametrize(
    ("html", "header", "expected"),
    [
        pytest.param("<html lang=EN-gb>", "de", ("en-GB", 0.9), id="attribute"),
        pytest.param("<html lang=zh_hant_tw>", "", ("zh-Hant-TW", 0.9), id="underscores"),
        pytest.param("<html lang='not a language'>", "de, en", ("de", 0.6), id="header"),
        pytest.param("<meta http-equiv=content-language content=fr>", "de", ("fr", 0.8), id="meta"),
        pytest.param("<meta property=og:locale content=pt_BR>", "", ("pt-BR", 0.7), id="locale"),
        pytest.param("<p>x", "", ("", 0.0), id="unknown"),
    ],
)
def test_language(html: str, header: str, expected: tuple[str, float]) -> None:
    page = read(html + "text", header_names=("Content-Language",), header_values=(header,))

    assert (page.language, page.language_confidence) == expected
    assert page.content_language == header


def test_properties_are_sorted_by_family() -> None:
    page = parsed(
        "<meta property=og:title content=G><meta property=og:title content=later>"
        "<meta property='article:section' content=S><meta name=twitter:card content=summary>"
        "<meta name=generator content=Press><meta name=viewport content=x><meta charset=utf-8>"
        "<meta name=author content=Ann><meta name=keywords content='a, b,, a'>"
        "<meta property=og:site_name content=Site><meta property=og:image content=/i.png>"
    )

    assert page.open_graph == {
        "og:title": "G",
        "article:section": "S",
        "og:site_name": "Site",
        "og:image": "/i.png",
    }
    assert (page.twitter, page.meta) == ({"twitter:card": "summary"}, {"generator": "Press"})
    assert (page.author, page.keywords, page.site_name) == ("Ann", ("a", "b"), "Site")
    assert page.image_url == "https://site.test/i.png"


def test_a_chatty_head_is_bounded() -> None:
    head = "".join(f"<meta name={'n' * 200}{number} content={'v' * 5_000}>" for number in range(300))

    page = parsed(head)

    assert len(page.meta) <= 64
    assert all(len(name) <= 100 and len(value) <= 1_000 for name, value in page.meta.items())


def test_an_empty_page_has_default_metadata() -> None:
    """Every field of a bare page has its default."""
    page = read("<html><body>x</body></html>")
    covered = {
        "title",
        "description",
        "canonical_url",
        "language",
        "author",
        "site_name",
        "image_url",
        "refresh_url",
    }

    assert {
        field.name for field in fields(page) if field.name in covered and getattr(page, field.name)
    } == set()


def test_an_alternate_may_be_for_several_languages() -> None:
    page = parsed(
        "<link rel=alternate hreflang=en href=/en><link rel=alternate hreflang=x-default href=/en>"
        "<link rel=alternate hreflang=en href=/en>"
    )

    assert page.alternate_urls == ("https://site.test/en", "https://site.test/en")
    assert page.alternate_languages == ("en", "x-default")


def test_a_feed_is_named_with_its_charset_too() -> None:
    page = parsed("<link rel=alternate type='application/rss+xml; charset=utf-8' href=/rss>")

    assert page.feed_urls == ("https://site.test/rss",)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param("<html xml:lang=fr><body>x</body></html>", "fr", id="XHTML"),
        pytest.param("<html lang=en-US-u-ca-gregory><body>x</body></html>", "en-US", id="extensions"),
        pytest.param(
            "<html><head><meta name=dc.language content=de></head><body>x</body></html>", "de", id="DC"
        ),
        pytest.param("<html lang=german><body>x</body></html>", "", id="none"),
        pytest.param(
            "<html lang=und><meta property=og:locale content=pt_BR>x</html>", "pt-BR", id="not known there"
        ),
    ],
)
def test_languages_of_further_forms(page: str, expected: str) -> None:
    assert read(page).language == expected


@pytest.mark.parametrize(
    ("link", "feed"),
    [
        pytest.param("type=text/xml href=/news/rss.xml", "/news/rss.xml", id="XML"),
        pytest.param("type=application/json href=/feed.json", "/feed.json", id="JSON"),
        pytest.param(
            "type=application/rss+xml href='feed:https://site.test/x'", "/x", id="scheme-before-scheme"
        ),
        pytest.param("type=application/json href=/wp-json/wp/v2/posts/1", "", id="other-data"),
        pytest.param("type=text/xml href=/oembed?format=xml", "", id="other-xml"),
    ],
)
def test_feeds_as_pages_name_them(link: str, feed: str) -> None:
    """A generic media type counts as a feed only if the URL looks like one."""
    expected = (f"https://site.test{feed}",) if feed else ()

    assert parsed(f"<link rel=alternate {link}>").feed_urls == expected


def test_a_scheme_for_readers_of_feeds_is_that_of_the_web() -> None:
    page = parsed("<link rel=alternate type=application/atom+xml href='Feed://other.test/atom'>")

    assert page.feed_urls == ("http://other.test/atom",)


def test_keywords_are_split_at_the_commas_of_any_script() -> None:
    assert parsed("<meta name=keywords content='a, b;c，d、e، f'>").keywords == tuple("abcdef")


@pytest.mark.parametrize("name", ["og:image:secure_url", "twitter:image:src"])
def test_a_picture_under_its_other_names(name: str) -> None:
    assert parsed(f"<meta property={name} content=/a.jpg>").image_url == "https://site.test/a.jpg"
