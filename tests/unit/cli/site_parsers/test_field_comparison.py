"""Agreement of two parsers, and findings of the audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from strider.cli.site_parsers.audit import audit_pages
from strider.cli.site_parsers.audit import audit_text as audit_as_text
from strider.cli.site_parsers.diff import comparison_json, comparison_text
from strider.cli.site_parsers.field_comparison import FieldComparison
from strider.contracts.generated.events import PageParsed
from tests.unit.parser.pages import read

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def page(number: int = 1, **fields: Any) -> PageParsed:
    return replace(read(f"<title>Page {number}</title>"), url_key=f"{number:064x}", **fields)


@pytest.mark.req("S4.7.6")
def test_two_parsers_are_compared_field_by_field_on_the_same_pages() -> None:
    """Pages that only one of them has parsed are not compared."""
    agreement = FieldComparison(max_pages=10)
    for number in (1, 2, 3, 4):
        agreement.add_shadow(page(number, parser_version="next", author="" if number == 1 else "A"))
    for number in (1, 2, 3, 9):
        agreement.add_live(page(number, parser_version="now", author="A" if number < 3 else "B"))
    author = agreement.fields["author"]

    assert (agreement.pages, agreement.unmatched) == (3, 1)
    assert (author.same, author.differ, author.only_live, author.only_shadow) == (1, 1, 1, 0)
    assert author.example == ("https://site.test/folder/page.html", '"A"', "")
    assert (agreement.fields["title"].share, list(agreement.fields_below(0.9))) == (1.0, ["author"])
    assert "strider now against strider next: 3" in comparison_text(agreement)
    assert '"unmatched": 1' in comparison_json(agreement)


def test_no_more_pages_are_stored_than_the_limit() -> None:
    agreement = FieldComparison(max_pages=2)
    for number in range(5):
        agreement.add_shadow(page(number))

    assert agreement.unmatched == 2


def row(number: int, **fields: Any) -> dict[str, Any]:
    usual = {
        "url": f"https://site.test/{number}",
        "domain": "site.test",
        "parser": "strider",
        "parser_version": "4",
        "title": f"Page {number}",
        "description": f"About {number}",
        "language": "en",
        "author": "A. Writer",
        "published_at": f"2026-01-{1 + number:02}",
        "canonical_url": "",
        "text": "words",
        "text_length": 5,
        "word_count": 1,
        "quality": 0.9,
        "content_hash": f"{number:064x}",
        "crawled_at": NOW + timedelta(minutes=number),
        "first_crawled_at": NOW,
        "changed_at": NOW,
    }
    return {**usual, **fields}


@pytest.mark.req("S4.7.8", part="an audit of stored pages, when it is called")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="well"),
        pytest.param({"title": ""}, [("empty", "title")], id="empty"),
        pytest.param({"published_at": "2031-01-01"}, [("impossible", "published_at")], id="date-ahead"),
        pytest.param({"published_at": "2026-13-01"}, [("impossible", "published_at")], id="no-date"),
        pytest.param({"language": "English!"}, [("impossible", "language")], id="language"),
        pytest.param({"word_count": 0}, [("impossible", "text")], id="no-words"),
        pytest.param({"content_hash": ""}, [("impossible", "content_hash")], id="no-hash"),
        pytest.param({"author": "https://x.test"}, [("impossible", "author")], id="author"),
        pytest.param({"changed_at": NOW - timedelta(1)}, [("impossible", "changed_at")], id="times"),
    ],
)
def test_a_stored_page_that_cannot_be_is_found(
    fields: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    found = audit_pages([row(1, **fields), row(2)], NOW)

    assert [(one.kind, one.field) for one in found] == expected
    assert {one.example for one in found} <= {"https://site.test/1"}


@pytest.mark.req("S4.7.8", part="an audit of stored pages, when it is called")
@pytest.mark.parametrize(
    ("version", "what"),
    [
        pytest.param("5", "on 0% of pages since strider 5, with strider 4 on 100%", id="by-version"),
        pytest.param("4", "on 0% of pages lately, with strider 4 on 100%", id="in-time"),
    ],
)
def test_a_field_that_pages_had_and_lost_is_found(version: str, what: str) -> None:
    """A site that changed its pages, or a parser that lost a field, shows in newer pages."""
    older = [row(number) for number in range(12)]
    newer = [row(number, author="", parser_version=version) for number in range(12, 24)]
    (found,) = audit_pages([*older, *newer], NOW)

    assert (found.kind, found.field, found.what, found.pages) == ("changed", "author", what, 12)
    assert "24 pages audited, 1 finding\n" in audit_as_text([found], 24)


def test_text_that_all_pages_share_is_left_out() -> None:
    rows = [row(number, title="Welcome", published_at="") for number in range(12)]

    assert [(one.kind, one.field, one.pages) for one in audit_pages(rows, NOW)] == [("repeated", "title", 12)]
