"""What somebody has typed becomes a crawl, or one sentence about why it cannot."""

from __future__ import annotations

import re

import pytest

from strider.cli.embedded.wish import BadWish, make_wish, read_listed, read_seed
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
        pytest.param("localhost:8000", "https://localhost:8000/", id="port"),
    ],
)
def test_urls_are_read_as_people_type_them(typed: str, url: str) -> None:
    """A name without a scheme is meant to be safe."""
    assert read_seed(typed) == url


@pytest.mark.parametrize(
    "typed", ["", "ht!tp://x", "ftp://a.test/", "http://", "http://a b/", "http://" + "a" * 3000]
)
def test_what_is_no_url_is_said_to_be_none(typed: str) -> None:
    """And quoted, but not at any length."""
    with pytest.raises(BadWish, match="is no URL to crawl") as said:
        read_seed(typed)
    assert len(str(said.value)) < 400
    assert read_listed(typed) == typed


def test_each_url_counts_once_and_their_order_stays() -> None:
    """The same URLs are the same crawl."""
    wish = make_wish(["http://b.test/", "http://a.test/", "http://b.test/"], SPEC)

    assert wish.seeds == ("http://b.test/", "http://a.test/")
    assert wish.execution_id == make_wish(["http://b.test/", "http://a.test/"], SPEC).execution_id
    assert wish.execution_id != make_wish(["http://b.test/"], SPEC).execution_id
    assert {seed.crawl_spec_id for seed in wish.seed_events(5)} == {wish.spec.crawl_spec_id} != {""}


def test_nothing_to_begin_with_is_told() -> None:
    """With what to do about it."""
    with pytest.raises(BadWish, match="--from"):
        make_wish([], SPEC)


@pytest.mark.parametrize("pattern", ["re:((", "["])
def test_a_pattern_that_cannot_be_used_is_named_with_its_option(pattern: str) -> None:
    """There may be many of them."""
    spec = CrawlSpecDeclared(crawl_spec_id="", exclude=("*.pdf", pattern))

    with pytest.raises(BadWish, match=f"--exclude {re.escape(repr(pattern))}: "):
        make_wish(["http://a.test/"], spec)
