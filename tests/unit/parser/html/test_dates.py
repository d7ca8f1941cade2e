"""Dates as ISO 8601 in the precision of their text, with their source."""

from __future__ import annotations

import json

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.html.dates import find_dates, parse_date
from strider.parser.core.html.models import HtmlExtract
from strider.parser.core.structured.page_entities import NO_ENTITIES, PageEntities
from tests.unit.parser.pages import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-18", "2026-11-18", id="day"),
        pytest.param("2026-11-18T10:20:30Z", "2026-11-18T10:20:30Z", id="UTC"),
        pytest.param("2026-11-18 10:20", "2026-11-18T10:20:00", id="without zone"),
        pytest.param("2026-11-18T10:20:30.123+0130", "2026-11-18T10:20:30+01:30", id="fraction and zone"),
        pytest.param("Wed, 18 Nov 2026 10:20:30 GMT", "2026-11-18T10:20:30Z", id="mail"),
        pytest.param("November 18, 2026", "2026-11-18", id="words"),
        pytest.param("18.11.2026", "2026-11-18", id="German"),
        pytest.param("2026-11-18T10:20:30+02", "2026-11-18T10:20:30+02:00", id="hours of a zone"),
        pytest.param("2026-11-18T10:20:30Z[UTC]", "2026-11-18T10:20:30Z", id="zone twice"),
        pytest.param("20261118T102030Z", "2026-11-18T10:20:30Z", id="compact"),
        pytest.param("1709632800", "2024-03-05T10:00:00Z", id="seconds"),
        pytest.param("November 18, 2026 1:05 p.m. EST", "2026-11-18T13:05:00-05:00", id="afternoon"),
        pytest.param("12:30 am, 18 Nov 2026", "2026-11-18T00:30:00", id="after midnight"),
        pytest.param(
            "Wed Nov 18 2026 10:20:30 GMT+0530 (IST)", "2026-11-18T10:20:30+05:30", id="as scripts write it"
        ),
        pytest.param("Mittwoch, 5. März 2026, 14:30 Uhr", "2026-03-05T14:30:00", id="German words"),
        pytest.param("5 de marzo de 2026", "2026-03-05", id="Spanish words"),
        pytest.param("1er août 2026 à 9h05", "2026-08-01T09:05:00", id="French words"),
        pytest.param("5 июня 2026 г.", "2026-06-05", id="Russian words"),  # noqa: RUF001
        pytest.param("5 czerwca 2026", "2026-06-05", id="Polish words"),
        pytest.param("3. července 2026", "2026-07-03", id="Czech words"),
        pytest.param("2026. március 5.", "2026-03-05", id="Hungarian words"),
        pytest.param("2026年3月5日 下午3:05", "2026-03-05T15:05:00", id="Chinese"),
        pytest.param("25/03/2026", "2026-03-25", id="only one order can be meant"),
        pytest.param("05/03/2026", "", id="ambiguous day and month"),
        pytest.param("Mon, 30 Nov -0001 00:00:00 +0000", "", id="a zero as some programs write it"),
        pytest.param("5 apples of 2026", "", id="no month"),
        pytest.param("2026-13-40", "", id="no such day"),
        pytest.param("0001-01-01T00:00:00Z", "", id="a zero"),
        pytest.param("yesterday", "", id="none"),
    ],
)
def test_iso(text: str, expected: str) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    ("metas", "data", "times", "expected"),
    [
        pytest.param(
            {"article:published_time": "2026-01-02"},
            '"datePublished": "2026-01-03"',
            ("2026-01-04",),
            ("2026-01-02", "meta:article:published_time"),
            id="meta element first",
        ),
        pytest.param(
            {"date": "soon"},
            '"datePublished":"2026-01-03"',
            (),
            ("2026-01-03", "json-ld:datePublished"),
            id="then structured data",
        ),
        pytest.param({}, "", ("", "2026-01-04"), ("2026-01-04", "time"), id="then time elements"),
        pytest.param({}, "", (), ("2026-01-05", "url"), id="then the URL"),
    ],
)
def test_the_most_trusted_source_of_dates_counts(
    metas: dict[str, str], data: str, times: tuple[str, ...], expected: tuple[str, str]
) -> None:
    published, modified = find_dates(
        metas, HtmlExtract(published_times=times), "https://site.test/2026/01/05/story", PageEntities(data)
    )

    assert (published, modified) == (expected, ("", ""))


def test_a_reply_does_not_date_the_page() -> None:
    data = '{"review":[{"datePublished":"2026-09-09"}],"datePublished":["2026-01-03"]}'

    published, _ = find_dates({}, HtmlExtract(), "https://site.test/", PageEntities(data))

    assert published == ("2026-01-03", "json-ld:datePublished")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            [
                {"@type": "WebSite", "datePublished": "2009-01-01"},
                {"@type": "Article", "datePublished": "2026-01-03"},
            ],
            "2026-01-03",
            id="the-site-as-a-whole",
        ),
        pytest.param(
            {
                "@graph": [
                    {"@type": "WebPage", "datePublished": "2026-01-02"},
                    {"@type": ["Article", "BlogPosting"], "datePublished": {"@value": "2026-01-03"}},
                ]
            },
            "2026-01-03",
            id="the-article-before-its-page",
        ),
        pytest.param(
            {"isPartOf": {"datePublished": "2001-01-01"}, "datePublished": "2026-01-03"},
            "2026-01-03",
            id="a-series",
        ),
        pytest.param(
            [
                {"@type": "ItemList", "itemListElement": [{"item": {"datePublished": "2011-01-01"}}]},
                {"@type": "https://schema.org/NewsArticle", "datePublished": 1767398400},
            ],
            "2026-01-03T00:00:00Z",
            id="what-is-listed",
        ),
        pytest.param(
            {"@type": "WebPage", "mainEntity": {"@type": "Article", "datePublished": "2026-01-03"}},
            "2026-01-03",
            id="what-the-page-is-about",
        ),
        pytest.param(
            {"@type": "ItemPage", "x": {"datePublished": "2026-01-03"}}, "2026-01-03", id="anywhere-else"
        ),
    ],
)
def test_a_page_is_dated_by_its_own_entities(data: object, expected: str) -> None:
    published, _ = find_dates({}, HtmlExtract(), "https://site.test/", PageEntities(json.dumps(data)))

    assert published == (expected, "json-ld:datePublished")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/news/2026-01-05-a-story.html", "2026-01-05"),
        ("/2026-01-05/a-story", "2026-01-05"),
        ("/2026-13-05-a-story", ""),
        ("/x2026-01-05-a-story", ""),
        ("/2026-01-055", ""),
    ],
)
def test_a_date_in_an_address(path: str, expected: str) -> None:
    assert find_dates({}, HtmlExtract(), f"https://site.test{path}", NO_ENTITIES)[0][0] == expected


def dates_of(body: str) -> tuple[str, str, str, str]:
    page = read(f"<html><body>{body}</body></html>", limits=ParseLimits(extraction="main"))
    return page.published_at, page.published_evidence, page.modified_at, page.modified_evidence


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "<time class=updated datetime=2026-04-01>x</time>"
            "<time class='entry-date published' datetime=2026-03-05>x</time>",
            ("2026-03-05", "time", "2026-04-01", "time"),
            id="time elements by their names",
        ),
        pytest.param(
            "<aside><time datetime=2019-01-01>x</time></aside><div class='comment-list'><p>"
            "<time datetime=2020-01-01>x</time></div><article><time datetime=2026-03-05>x</time></article>",
            ("2026-03-05", "time", "", ""),
            id="not beside the page, nor of remarks on it",
        ),
        pytest.param(
            "<aside><time datetime=2026-03-05>x</time></aside>",
            ("2026-03-05", "time", "", ""),
            id="beside it, where there is no other",
        ),
        pytest.param("<time>5. März 2026</time>", ("2026-03-05", "time", "", ""), id="the text of one"),
        pytest.param(
            "<span itemprop=datePublished content=2026-03-05>x</span><i itemprop=dateModified>6.3.2026</i>",
            ("2026-03-05", "time", "2026-03-06", "time"),
            id="properties of items",
        ),
        pytest.param(
            "<h1>Head</h1><p>Par Jo, publié le 5 mars 2026, modifié le 6 mars 2026</p><p>text</p>",
            ("2026-03-05", "text", "2026-03-06", "text"),
            id="a line below the heading",
        ),
        pytest.param(
            f"<h1>Head</h1><p>{'It was on 5 March 2026 that this began. ' * 5}</p>",
            ("", "", "", ""),
            id="not a date that the text mentions",
        ),
    ],
)
def test_dates_are_read_from_elements_and_lines(body: str, expected: tuple[str, str, str, str]) -> None:
    assert dates_of(body) == expected
