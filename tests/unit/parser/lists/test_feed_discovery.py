"""Feeds that no page declares."""

from __future__ import annotations

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.lists.feed_discovery import common_feed_urls, find_linked_feeds
from tests.unit.parser.pages import read


@pytest.mark.req("S1.2.23", part="feeds are found on pages")
@pytest.mark.parametrize(
    "url",
    [
        "https://site.test/feed",
        "https://site.test/blog/feed/",
        "https://site.test/news/RSS.xml",
        "https://site.test/index.xml",
        "https://site.test/feed.json",
        "https://site.test/section.rss",
        "https://site.test/?feed=rss2",
        "https://feeds.other.test/x/atom.xml",
    ],
)
def test_a_link_may_be_called_like_a_feed(url: str) -> None:
    assert find_linked_feeds(["https://site.test/a", url, "https://site.test/b"]) == (url,)


@pytest.mark.parametrize(
    "url",
    [
        "https://site.test/feedback",
        "https://site.test/rss/about.html",
        "https://site.test/comments/feed/",
        "https://site.test/atomic",
        "https://feed.test/",
    ],
)
def test_what_only_sounds_so_is_no_feed(url: str) -> None:
    assert find_linked_feeds([url]) == ()


@pytest.mark.req("S1.2.23", part="feeds are found on pages")
def test_what_a_page_names_comes_before_what_it_links_to() -> None:
    named = "<link rel=alternate type='application/rss+xml' href=/named.xml>"
    link = "<p>News by <a href=/feed>RSS</a>"
    main = ParseLimits(extraction="main")

    assert read(named + link, limits=main).feed_urls == ("https://site.test/named.xml",)
    assert read(link, limits=main).feed_urls == ("https://site.test/feed",)
    assert read("<p>No news", limits=main).feed_urls == ()


def test_common_paths_are_those_of_the_sites_own_host() -> None:
    found = common_feed_urls("https://site.test:8443/a/b?c")

    assert found[:2] == ("https://site.test:8443/feed", "https://site.test:8443/feed.xml")
    assert common_feed_urls("") == common_feed_urls("https://file.invalid/") == ()
