"""Pages of sites with a parser: attribution, values, and the effect of a failure."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.adapters.html_tree.site_selectors import (
    find_broken_selectors,
    make_named_reader,
    make_site_reader,
)
from strider.parser.adapters.metrics import PAGES_READ, ParserMetrics
from strider.parser.adapters.page_reader import PARSER_TOOLS
from strider.parser.core import PARSER_VERSION, ParseLimits, parse
from strider.parser.core.site_parser_fields import (
    ParserAttribution,
    attribute_parser,
    format_attribution,
    parse_attribution,
)
from strider.runtime.clocks import SystemClock
from strider.runtime.observability.metrics import Metrics
from strider.sites import FoundTexts, Select, SiteParser, select_parsers

from .pages import a_page

PAGE = b"""<h1> Kettle </h1><b class=now>1.299,00 \xe2\x82\xac</b><i class=state>Ausverkauft</i>
<u class=stars>4,5 von 5</u><u class=votes>1.024 Stimmen</u><img class=pic src=/1.jpg>
<img class=pic src=/2.jpg><p class=note>one<p class=note>two"""
DATA = b'<script type="application/ld+json">{"@type": "Product", "name": "Kettle", "sku": "K1"}</script>'


class Shop(SiteParser):
    """A parser for tests."""

    name = "shop"
    version = "2.1"
    domains = ("site.test",)
    required = ("name", "price")
    selectors = {  # noqa: RUF012  # as people write it
        "name": Select.text("h1"),
        "price": Select.text(".sale", ".now"),
        "availability": Select.text(".state"),
        "rating": Select.text(".stars"),
        "review_count": Select.text(".votes"),
        "image_urls": Select.all(".pic", attribute="src"),
        "notes": Select.all(".note"),
    }


class Failing(Shop):
    """A parser that raises an error."""

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Raise."""
        raise KeyError(url[:4])


class Leaving(Shop):
    """A parser that ends its process."""

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Exit."""
        raise SystemExit(f"from {url[:4]} with {len(found)}")


class Misspelt(Shop):
    """A parser with an invalid selector."""

    selectors = {"name": Select.text("h1[["), "price": Select.text(".now")}  # noqa: RUF012  # as above


class Talkative(Shop):
    """A parser whose records exceed the size limit."""

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Return too many values."""
        return {**found, "notes": [url * 5_000] * 20}


def read(parser: SiteParser, body: bytes, **limits: str) -> PageParsed:
    tools = replace(PARSER_TOOLS, read_site=make_site_reader(select_parsers([parser])))
    return parse(a_page(body), body, tools=tools, limits=ParseLimits(**{"extraction": "records", **limits}))


@pytest.mark.req("S4.7.1", "S4.7.4", "S3.21.10", "S4.11.7")
def test_a_site_parser_reads_its_site_and_its_version_travels() -> None:
    page = read(Shop(), PAGE)
    (product,) = page.products

    assert (page.parser, page.parser_version) == ("shop", f"2.1+{PARSER_VERSION}")
    assert (product.name, product.price, product.currency) == ("Kettle", "1299.00", "EUR")
    assert (product.availability, product.rating, product.review_count) == ("out_of_stock", 4.5, 1024)
    assert product.image_urls == ("https://site.test/1.jpg", "https://site.test/2.jpg")
    assert (set(product.sources.values()), product.confidences["price"]) == ({"site_parser"}, 0.98)
    assert json.loads(page.records_json) == {"notes": ["one", "two"]}
    assert attribute_parser(page) == ParserAttribution(
        "site.test", "shop", f"2.1+{PARSER_VERSION}", "complete"
    )


def test_other_sources_add_what_a_site_parser_does_not_find() -> None:
    page = read(Shop(), DATA + PAGE)
    (product,) = page.products

    assert (product.sku, product.sources["sku"], product.sources["name"]) == ("K1", "json_ld", "site_parser")


@pytest.mark.parametrize(
    ("parser", "body", "problem", "verdict"),
    [
        pytest.param(
            Shop(), b"<h1>Kettle</h1>", "shop 2.1: incomplete, without price", "incomplete", id="incomplete"
        ),
        pytest.param(Failing(), PAGE, "shop 2.1: failed, KeyError: 'http'", "failed", id="failed"),
        pytest.param(
            Leaving(), PAGE, "shop 2.1: failed, SystemExit: from http with 7", "failed", id="ends the process"
        ),
        pytest.param(
            Misspelt(),
            PAGE,
            "shop 2.1: failed, BadSelectorError: 'h1[[' is no selector",
            "failed",
            id="misspelt",
        ),
        pytest.param(
            Talkative(),
            PAGE,
            "shop 2.1: complete, records too long to travel",
            "complete",
            id="returns too much",
        ),
    ],
)
def test_a_failure_is_reported_and_the_page_is_parsed_nonetheless(
    parser: SiteParser, body: bytes, problem: str, verdict: str
) -> None:
    """A changed site shows in records and in metrics; the generic extraction still works."""
    page = read(parser, body)

    assert (page.outcome, page.structured_errors, page.text.partition("\n")[0]) == (
        "parsed",
        (problem,),
        "Kettle",
    )
    assert attribute_parser(page) == ParserAttribution("site.test", "shop", f"2.1+{PARSER_VERSION}", verdict)


def test_pages_of_other_sites_and_levels_are_read_as_ever() -> None:
    page = read(Shop(), PAGE, extraction="main")

    assert (page.parser, page.products) == ("strider", ())
    assert attribute_parser(page).verdict == "read"
    assert attribute_parser(replace(page, outcome="undecodable")).verdict == "unread"


def test_pages_are_counted_by_site_and_version_in_bounded_numbers() -> None:
    """A crawl may reach a million domains; only a limited number become series."""
    metrics = Metrics(())
    meter = ParserMetrics(metrics, clock=SystemClock())
    for number in range(PAGES_READ.max_series + 5):
        meter.count_page(ParserAttribution(f"{number}.test", "strider", "4", "read"))

    assert metrics.value(PAGES_READ, "7.test", "strider", "4", "read") == 1
    assert metrics.value(PAGES_READ, "other", "other", "other", "other") == 5


def test_who_read_passes_from_a_worker_to_its_parser() -> None:
    reader = ParserAttribution("site.test", "shop", "2.1+4", "complete")

    assert parse_attribution(format_attribution(reader)) == reader
    assert parse_attribution("") is None


def test_selectors_that_are_none_are_named_before_any_page_is_read() -> None:
    assert find_broken_selectors(Shop()) == []
    assert find_broken_selectors(Misspelt()) == ["shop 2.1: name: 'h1[[' is no selector"]


def test_a_parser_that_is_named_reads_pages_of_any_site() -> None:
    """And `off` is none, also where a parser knows the site."""
    chosen = select_parsers([Shop()])
    elsewhere, own = "https://mirror.test/", "https://site.test/"

    assert chosen.parser_for(elsewhere) is None
    named = make_named_reader(chosen, "shop")(elsewhere, PAGE)
    assert named is not None
    assert named.values["name"] == ("Kettle",)
    assert make_named_reader(chosen, "off")(own, PAGE) is None
    missing = make_named_reader(chosen, "other")(own, PAGE)
    assert missing is not None
    assert missing.failure == "not installed, or switched off"
