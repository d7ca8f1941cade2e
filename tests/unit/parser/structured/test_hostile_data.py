"""Structured data and markup made to cost more than a page, or to break the parser."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

FRONT = '<h1>Kettle</h1><span class="price">$12.00</span><button>Add to cart</button>'
MANY_LINKS = "".join(f'<a href="?p={number}">{number}</a>' for number in range(2_000))
FIELDS = ",".join(f'"k{number}": 0' for number in range(8_000))
AN_OFFER_OF_MANY = f'{{"@type": "Offer", {FIELDS}, "itemOffered": [{",".join(["{}"] * 20_000)}]}}'
OBJECTS = ",".join(f'{{"name":"Kettle","price":"12.00","id":"a{number:05}"}}' for number in range(5_000))


def records(html: str, **fields: str) -> PageParsed:
    return read(f"<title>Kettle</title>{html}", limits=ParseLimits(extraction="records"), **fields)


def data(json_ld: str) -> str:
    return f'<script type="application/ld+json">{json_ld}</script><h1>Kettle</h1>'


def in_itself(name: str) -> str:
    """Return a product nested in itself many times."""
    others = ",".join(['{"@id": "a"}'] * 300)
    return data(f'{{"@type": "Product", "@id": "a", "name": "Kettle", "{name}": [{others}]}}')


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(in_itself("offers"), id="offers-of-itself"),
        pytest.param(in_itself("hasVariant"), id="forms-of-itself"),
        pytest.param(
            data(AN_OFFER_OF_MANY),
            id="an-offer-of-many",
        ),
        pytest.param(
            f'<div class="{"x1 " * 60_000}">{"<div><span class=price>$1</span></div>" * 4_000}</div>',
            id="boxes-in-a-box-of-many-names",
        ),
        pytest.param(
            f'<div class="price">{"<br>" * 250}{"a 1<br>" * 150_000}</div>', id="a-price-that-is-a-page"
        ),
        pytest.param(
            f'<script type="application/json">[{OBJECTS}]</script><p>{"word 12 " * 60_000}',
            id="objects-of-one-name",
        ),
        pytest.param("<script>x={name:'Kettle',a:" + '\\"' * 100_000, id="strings-without-an-end"),
    ],
)
def test_what_leads_to_itself_or_is_many_costs_no_more_than_the_page(html: str) -> None:
    page = assert_cheap(lambda: records(html + FRONT), yardsticks=480)

    assert page.outcome in {"parsed", "partly_parsed"}


def test_numbers_of_an_address_cost_no_more_than_the_page() -> None:
    url = "https://site.test/" + "1/" * 300

    page = assert_cheap(lambda: records(MANY_LINKS + FRONT, url=url), yardsticks=480)

    assert (page.outcome, len(page.page_urls)) == ("parsed", 100)


def test_numbers_of_an_address_are_looked_for_in_the_text_only_so_often() -> None:
    url = "https://site.test/p/" + "/".join(str(number) for number in range(10_000, 10_300))
    html = f"{FRONT}<p>{'word 12 ' * 60_000}"

    page = assert_cheap(lambda: records(html, url=url), yardsticks=480)

    assert page.products[0].sku == ""


@pytest.mark.parametrize("depth", [500, 700, 900, 20_000])
@pytest.mark.parametrize("field", ["name", "datePublished", "author", "image", "brand", "category"])
def test_data_that_is_nested_without_reason_is_no_fault_of_ours(field: str, depth: int) -> None:
    nested = "[" * depth + '"x"' + "]" * depth
    page = records(data(f'{{"@type": "Product", "{field}": {nested}}}'))

    assert page.outcome == "parsed"


def test_a_number_with_too_many_digits_is_none() -> None:
    page = records(f"{FRONT}<script>x={{name: 'Kettle', price: {'9' * 5_000}, sku: 'K-1'}}</script>")

    assert page.outcome == "parsed"


def test_a_drawing_in_a_byline_is_passed_over_and_stays_where_it_is() -> None:
    byline = "Ann Lee<style>.a{}</style><svg><title>Pen</title><text>i</text></svg>"
    page = read(f"<h1>Tea</h1><div class=byline>{byline}</div><p>Text", limits=ParseLimits(extraction="main"))

    assert (page.author, page.text) == ("Ann Lee", "Tea\nAnn Lee\nText")
