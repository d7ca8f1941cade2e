"""Outlinks: resolved, filtered, each target once, best first."""

from __future__ import annotations

import pytest

from strider.parser.core.html.models import (
    ASIDE,
    ELSEWHERE,
    FOOTER,
    HEADER,
    MAIN,
    NAVIGATION,
    Anchor,
    Anchors,
)
from strider.parser.core.html.outlinks import Outlinks, find_outlinks, rel_flags

BASE = "https://site.test/folder/page.html"


def find(*anchors: Anchor, base: str = BASE, max_links: int = 1_000) -> Outlinks:
    return find_outlinks(Anchors.from_anchors(anchors), base=base, max_links=max_links)


def to(href: str, text: str = "", rel: str = "", region: int = ELSEWHERE) -> Anchor:
    return Anchor(href, text, rel, region)


@pytest.mark.req("S3.9.7", "S3.9.9")
@pytest.mark.parametrize(
    ("href", "expected"),
    [
        pytest.param("next.html", "https://site.test/folder/next.html", id="relative"),
        pytest.param("/top", "https://site.test/top", id="from-the-root"),
        pytest.param("../up", "https://site.test/up", id="up"),
        pytest.param("//other.test/x", "https://other.test/x", id="without-scheme"),
        pytest.param("?q=1", "https://site.test/folder/page.html?q=1", id="query-only"),
        pytest.param("HTTP://Other.TEST:80/a#part", "http://other.test/a", id="normalized"),
        pytest.param("/a?utm_source=x&b=1", "https://site.test/a?b=1", id="without-tracking"),
        pytest.param("  /a b ", "https://site.test/a%20b", id="spaces"),
        pytest.param("http://127.0.0.1/admin", "http://127.0.0.1/admin", id="private-is-judged-elsewhere"),
        pytest.param("http://169.254.169.254/latest", "http://169.254.169.254/latest", id="metadata-too"),
    ],
)
def test_links_are_resolved(href: str, expected: str) -> None:
    assert find(to(href)).urls == (expected,)


@pytest.mark.req("S3.9.8")
@pytest.mark.parametrize(
    "href",
    [
        "mailto:a@b.test",
        "javascript:void(0)",
        "JavaScript:x",
        "tel:+1",
        "data:text/html,x",
        "#top",
        " #top",
    ],
)
def test_what_leads_to_no_page_is_left_out(href: str) -> None:
    assert find(to(href)) == Outlinks()


@pytest.mark.req("S3.9.8")
@pytest.mark.parametrize(
    "href",
    [
        "ftp://a.test/",
        "file:///etc/passwd",
        "http://",
        "http://[::1/",
        "http://a.test:99999/",
        "https://exa mple.test/",
        "x" * 17_000,
        "/" + "y" * 3_000,
    ],
)
def test_what_is_no_url_to_be_fetched_is_left_out_and_counted(href: str) -> None:
    """Each is counted once, in addition to the links beyond the limit."""
    found = find(to("/a"), to(href), to("/b"), to(href), to("tel:1"), max_links=1)

    assert found.urls == ("https://site.test/a",)
    assert (found.found, found.dropped) == (3, 2)


@pytest.mark.req("S3.9.10")
def test_a_target_is_kept_once_with_the_flags_of_all_its_links() -> None:
    """A followable link makes a nofollow link to the same target pointless."""
    found = find(
        to("/a", "", "nofollow ugc", FOOTER),
        to("/b", "B"),
        to("/a/", "first words", "ugc next", MAIN),
        to("/a#x", "later words"),
    )

    assert found == Outlinks(
        urls=("https://site.test/a", "https://site.test/b"),
        anchors=("first words", "B"),
        rels=(16, 0),
        regions=(MAIN, ELSEWHERE),
        found=2,
    )


def test_the_best_come_first_and_the_others_are_counted() -> None:
    """The limit drops the least relevant links: nofollow ones first, then footers before navigation."""
    found = find(
        to("/footer", region=FOOTER),
        to("/disowned", rel="nofollow", region=MAIN),
        to("/nav", region=NAVIGATION),
        to("/aside", region=ASIDE),
        to("/header", region=HEADER),
        to("/plain"),
        to("/main-1", region=MAIN),
        to("/next", rel="next", region=FOOTER),
        to("/main-2", region=MAIN),
        max_links=7,
    )

    assert [url.rpartition("/")[2] for url in found.urls] == [
        "next",
        "main-1",
        "main-2",
        "plain",
        "nav",
        "header",
        "aside",
    ]
    assert (found.found, found.dropped) == (9, 2)


def test_a_page_of_a_million_links_keeps_a_thousand() -> None:
    found = find(*(to(f"/{number % 5_000}") for number in range(20_000)))

    assert (len(found.urls), found.found, found.dropped) == (1_000, 5_000, 4_000)


@pytest.mark.parametrize(
    ("rel", "flags"),
    [
        ("", 0),
        ("nofollow", 1),
        ("ugc sponsored", 6),
        ("noopener noreferrer", 8),
        ("prev", 32),
        ("previous", 32),
    ],
)
def test_flags_of_rel(rel: str, flags: int) -> None:
    assert rel_flags(rel) == flags
