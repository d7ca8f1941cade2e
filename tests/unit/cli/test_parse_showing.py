"""What `strider parse` tells: stable fields, whatever became of the page."""

from __future__ import annotations

from strider.cli.parsing.showing import as_text, failed, is_read, told_of
from tests.unit.parser.pages import read

STABLE = {
    *("title", "author", "published_at", "language", "kind", "main_text", "markdown", "links", "pagination"),
    *("products", "structured", "feeds", "text_hash", "simhash", "url", "outcome", "description"),
}


def test_the_promised_fields_are_there() -> None:
    told = told_of(read("<title>T</title><p>One."))

    assert told.keys() >= STABLE
    assert told["pagination"].keys() >= {"next", "prev", "pages"}


def test_a_failure_has_the_same_fields_as_a_page() -> None:
    """Whoever reads the lines needs no second way for those of broken files."""
    told = failed("no such file", "https://site.test/")

    assert told.keys() == told_of(read("<p>One.")).keys()
    assert (told["outcome"], told["error_message"], is_read(told)) == ("failed", "no such file", False)
    assert as_text(told) == "failed: no such file"


def test_links_are_told_in_words() -> None:
    told = told_of(read('<footer><a rel="nofollow next" href="/b">B</a></footer>'))

    assert told["links"] == [
        {"url": "https://site.test/b", "anchor": "B", "rel": ["nofollow", "next"], "region": "footer"}
    ]


def test_texts_that_were_too_long_to_travel_come_back() -> None:
    assert told_of(read("<p>One."), b'{"text": "the long one"}')["text"] == "the long one"
