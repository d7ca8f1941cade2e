"""robots.txt: rules for an agent, crawl delay, and the size limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.politeness import MAX_CRAWL_DELAY_SECONDS, MAX_ROBOTS_BYTES, RobotsTxt, product_token
from strider.politeness.robots.robots_txt import truncate_robots

AGENT = "Strider"


@pytest.mark.req("S3.8.3")
@pytest.mark.parametrize(
    ("text", "path", "is_allowed"),
    [
        pytest.param("", "/a", True, id="empty"),
        pytest.param("User-agent: *\nDisallow:", "/a", True, id="nothing-is-denied"),
        pytest.param("User-agent: *\nDisallow: /", "/a", False, id="all-is-denied"),
        pytest.param("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True, id="longest-rule-wins"),
        pytest.param("User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False, id="wildcard-and-end"),
        pytest.param("User-agent: strider\nDisallow: /", "/a", False, id="by-our-name"),
        pytest.param("User-agent: other\nDisallow: /", "/a", True, id="by-another-name"),
        pytest.param(
            "User-agent: *\nDisallow: /\nUser-agent: Strider\nAllow: /", "/a", True, id="our-group-wins"
        ),
        pytest.param("\ufeffUser-agent: *\nDisallow: /", "/a", False, id="byte-order-mark"),
        pytest.param("User-agent: *\rDisallow: /a\r", "/a", False, id="carriage-returns"),
        pytest.param("<html>Not Found</html>", "/a", True, id="no-rules-at-all"),
        pytest.param("User-agent: *\nDisallow: /", "/robots.txt", True, id="itself"),
    ],
)
def test_rules_allow_or_deny(text: str, path: str, is_allowed: bool) -> None:
    assert RobotsTxt(text).allows(f"http://a.test{path}", AGENT) is is_allowed


@pytest.mark.req("S3.8.5")
@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        pytest.param("3", 3.0, id="plain"),
        pytest.param("0.5", 0.5, id="fraction"),
        pytest.param("1e9", MAX_CRAWL_DELAY_SECONDS, id="huge"),
        pytest.param("-1", 0.0, id="negative"),
        pytest.param("nan", 0.0, id="no-number"),
        pytest.param("inf", 0.0, id="endless"),
        pytest.param("soon", 0.0, id="word"),
        pytest.param("5s", 5.0, id="unit"),
        pytest.param("10 seconds.", 10.0, id="unit-in-words"),
        pytest.param("1,5", 1.5, id="comma"),
        pytest.param(".5", 0.5, id="no-digit-first"),
        pytest.param("5 days", 0.0, id="another-unit"),
        pytest.param("1_0", 0.0, id="no-number-of-this-world"),
    ],
)
def test_a_crawl_delay_is_clamped(asked: str, seconds: float) -> None:
    """A typing error must neither stop a crawl for years nor raise."""
    assert RobotsTxt(f"User-agent: *\nCrawl-delay: {asked}\n").delay_seconds(AGENT) == seconds


def test_sitemaps_are_named_once_and_in_order() -> None:
    text = "Sitemap: http://a.test/2\nSitemap: http://a.test/1\nSitemap: http://a.test/2\n"

    assert RobotsTxt(text).sitemaps == ("http://a.test/2", "http://a.test/1")


def test_a_long_text_is_cut_between_two_lines() -> None:
    """Half of `Disallow: /private` is `Disallow: /`, which closes the whole site."""
    line = "Disallow: /some/private/place\n"
    text = "User-agent: *\n" + line * (MAX_ROBOTS_BYTES // len(line) + 10)

    kept = truncate_robots(text)

    assert MAX_ROBOTS_BYTES - len(line) <= len(kept.encode()) <= MAX_ROBOTS_BYTES
    assert kept.endswith(line)


def test_characters_of_several_bytes_count_as_such() -> None:
    text = "# ☃☃☃☃☃☃☃☃\n" * 40_000

    assert len(truncate_robots(text).encode()) <= MAX_ROBOTS_BYTES


@given(st.text(max_size=2000), st.text(max_size=50))
def test_no_text_breaks_the_parser(text: str, path: str) -> None:
    """It comes from untrusted sites."""
    robots = RobotsTxt(text)

    assert robots.allows("http://a.test/" + path, AGENT) in {True, False}
    assert 0 <= robots.delay_seconds(AGENT) <= MAX_CRAWL_DELAY_SECONDS


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        pytest.param("Strider/0.1.0 (+mailto:a@b.test)", "Strider", id="ours"),
        pytest.param("Strider", "Strider", id="no-version"),
        pytest.param(
            "Mozilla/5.0 (compatible; ExampleBot/0.1; https://a.test/bot)", "ExampleBot", id="rfc-9309"
        ),
        pytest.param("Mozilla/5.0 (X; like Gecko; compatible; foo; +x) Safari/1", "foo", id="among-others"),
        pytest.param("Mozilla/5.0 (X11; Linux) Gecko/1", "Mozilla", id="browser"),
        pytest.param("Foo/1 (compatible; Bar/1)", "Foo", id="named-first"),
        pytest.param("", "", id="empty"),
    ],
)
def test_the_name_is_what_precedes_the_slash_or_follows_compatible(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token
