"""Fields of `strider parse`: stable, whatever the outcome of the page."""

from __future__ import annotations

from strider.cli.parse.fields import failed_fields, is_parsed, page_fields, page_text
from tests.unit.parser.pages import read

STABLE = {
    *("title", "author", "published_at", "language", "kind", "main_text", "markdown", "links", "pagination"),
    *("products", "structured", "feeds", "text_hash", "simhash", "url", "outcome", "description"),
}


def test_the_promised_fields_are_there() -> None:
    result = page_fields(read("<title>T</title><p>One."))

    assert result.keys() >= STABLE
    assert result["pagination"].keys() >= {"next", "prev", "pages"}


def test_a_failure_has_the_same_fields_as_a_page() -> None:
    """Lines of unreadable files have the same fields."""
    result = failed_fields("no such file", "https://site.test/")

    assert result.keys() == page_fields(read("<p>One.")).keys()
    assert (result["outcome"], result["error_message"], is_parsed(result)) == (
        "failed",
        "no such file",
        False,
    )
    assert page_text(result) == "failed: no such file"


def test_links_are_described_in_words() -> None:
    result = page_fields(read('<footer><a rel="nofollow next" href="/b">B</a></footer>'))

    assert result["links"] == [
        {"url": "https://site.test/b", "anchor": "B", "rel": ["nofollow", "next"], "region": "footer"}
    ]


def test_texts_that_were_too_long_to_travel_come_back() -> None:
    assert page_fields(read("<p>One."), b'{"text": "the long one"}')["text"] == "the long one"
