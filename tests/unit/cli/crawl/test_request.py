"""Typed URLs become a request, or one sentence with the reason."""

from __future__ import annotations

import re

import pytest

from strider.cli.crawl.request import BadCrawlRequest, make_request, parse_listed_seed, parse_seed
from strider.contracts.generated.events import CrawlSpecDeclared

SPEC = CrawlSpecDeclared(crawl_spec_id="", max_depth=3)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        pytest.param("example.com", "https://example.com/", id="bare"),
        pytest.param("//example.com/a", "https://example.com/a", id="without-scheme"),
        pytest.param(
            "example.com/?next=http://b.test", "https://example.com/?next=http://b.test", id="in-query"
        ),
        pytest.param(" HTTP://Example.COM ", "http://example.com/", id="spelling"),
        pytest.param("http://[::1]:8080/x", "http://[::1]:8080/x", id="address"),
        pytest.param("localhost:8000", "http://localhost:8000/", id="port"),
    ],
)
def test_urls_are_read_as_people_type_them(typed: str, url: str) -> None:
    """A name without a scheme means https; this machine, http."""
    assert parse_seed(typed).wire == url


@pytest.mark.parametrize(
    "typed",
    ["", "ht!tp://x", "ftp://a.test/", "http://", "http://a b/", "http://" + "a" * 3000, "mailto:a@b.c"],
)
def test_a_text_that_is_no_url_is_refused(typed: str) -> None:
    """The text is quoted, up to a length."""
    with pytest.raises(BadCrawlRequest, match=r"is not a URL|is refused") as errors:
        parse_seed(typed)
    assert len(str(errors.value)) < 400
    assert parse_listed_seed(typed).wire == typed


def test_a_listed_text_is_cut_above_the_longest_url() -> None:
    """A line of a list may be longer than a message; it stays too long to be a URL."""
    listed = parse_listed_seed("http://a.test/" + "x" * 100_000).wire

    assert 2048 < len(listed) <= 4096


def test_each_url_counts_once_and_their_order_stays() -> None:
    """The same URLs are the same crawl."""
    wish = make_request(["http://b.test/", "http://a.test/", "http://b.test/"], SPEC)

    assert wish.seeds == ("http://b.test/", "http://a.test/")
    assert wish.execution_id == make_request(["http://b.test/", "http://a.test/"], SPEC).execution_id
    assert wish.execution_id != make_request(["http://b.test/"], SPEC).execution_id
    assert {seed.crawl_spec_id for seed in wish.seed_events(5)} == {wish.spec.crawl_spec_id} != {""}


def test_a_crawl_without_start_urls_is_refused() -> None:
    """With what to do."""
    with pytest.raises(BadCrawlRequest, match="--from"):
        make_request([], SPEC)


@pytest.mark.parametrize("pattern", ["re:((", "["])
def test_a_pattern_that_cannot_be_used_is_named_with_its_option(pattern: str) -> None:
    """A list may contain many of them."""
    spec = CrawlSpecDeclared(crawl_spec_id="", exclude=("*.pdf", pattern))

    with pytest.raises(BadCrawlRequest, match=f"--exclude {re.escape(repr(pattern))}: "):
        make_request(["http://a.test/"], spec)
