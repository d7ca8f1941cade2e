"""Products: their attributes, sources and confidences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import PAGES_PARSED
from strider.parser.core import ParseLimits
from strider.parser.core.products.prices import parse_price
from tests.unit.parser.pages import read

CODEC = Codec(SchemaStore.bundled())
NAMES = (
    *("@id", "name", "price", "offers", "priceSpecification", "lowPrice", "highPrice", "aggregateRating"),
    *(
        "ratingValue",
        "bestRating",
        "reviewCount",
        "brand",
        "image",
        "sku",
        "gtin13",
        "category",
        "hasVariant",
    ),
    *("isRelatedTo", "availability", "priceCurrency", "url", "description", "model", "@type"),
)
JSON_LD = """<script type="application/ld+json">{"@context": "https://schema.org",
"@graph": [{"@type": "Product",
"name": "Anvil", "brand": {"@type": "Brand", "name": "ACME"},
"gtin13": "4006381-333931",
"image": ["/1.jpg", "/2.jpg"],
"aggregateRating": {"ratingValue": "8", "bestRating": 10, "reviewCount": "89"},
"offers": {"@type": "Offer", "price": "1.234,56", "priceCurrency": "EUR",
"availability": "https://schema.org/InStock"}}]}</script>"""
MICRODATA = """<div itemscope itemtype="http://schema.org/Product"><b itemprop="name">Anvil</b>
<span itemprop="sku">A-1</span><div itemprop="offers" itemscope itemtype="http://schema.org/Offer">
<meta itemprop="price" content="9.99"></div></div>"""


def records(body: str) -> PageParsed:
    return read(f"<html><body>{body}</body></html>", limits=ParseLimits(extraction="records"))


@pytest.mark.req("S4.12.18", "S4.12.20", "S4.12.21", "S4.12.22", "S4.7.3")
@pytest.mark.req("S4.12.19", part="price and currency as the page says them")
def test_attributes_are_merged_and_each_names_its_source() -> None:
    """Two sources for one product are merged; the more trusted one takes precedence."""
    (product,) = records(JSON_LD + MICRODATA).products

    assert (product.name, product.brand, product.sku, product.gtin) == (
        "Anvil",
        "ACME",
        "A-1",
        "4006381333931",
    )
    assert (product.price, product.currency, product.availability) == ("1234.56", "EUR", "in_stock")
    assert (product.rating, product.review_count) == (4.0, 89)
    assert product.image_urls == ("https://site.test/1.jpg", "https://site.test/2.jpg")
    assert (product.image_kinds, product.image_positions) == (("primary", "gallery"), (0, 1))
    assert (product.sources["price"], product.sources["sku"]) == ("json_ld", "microdata")
    assert product.confidences["price"] > product.confidences["sku"] > 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8) | st.just("9,99 €"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fields=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8))
def test_any_product_results_in_an_event_that_can_be_encoded(fields: dict[str, Any]) -> None:
    """Shops put lists in place of texts, and invalid numbers."""
    text = json.dumps([{"@type": "Product", "name": "Kettle", **fields}, {"@type": "Product", "name": "Pot"}])
    page = records(f'<script type="application/ld+json">{text.replace("<", " ")}</script>')

    assert CODEC.encode(PAGES_PARSED, page).value


FURTHER = """<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product",
"name": "Anvil", "color": ["black", "grey"], "weight": {"@type": "QuantitativeValue", "value": 55.5,
"unitText": "kg"}, "material": "", "additionalProperty": [
{"@type": "PropertyValue", "name": "Horn", "value": "round"},
{"@type": "PropertyValue", "propertyID": "face", "value": 12, "unitCode": "CMT"},
{"@type": "PropertyValue", "name": "Horn", "value": "square"}, {"@type": "PropertyValue", "name": "none"}, 7]}
</script>"""


@pytest.mark.req("S4.12.23")
def test_further_properties_of_a_product_are_kept_by_name() -> None:
    """Properties without an attribute of their own; the first of a name counts."""
    (product,) = records(FURTHER).products
    (other,) = records(FURTHER.replace("round", "long")).products
    (bare,) = records(JSON_LD).products

    assert product.extra == {"color": "black", "weight": "55.5 kg", "Horn": "round", "face": "12 CMT"}
    assert product.sources["extra"] == "json_ld"
    assert (bare.extra, "extra" in bare.sources) == ({}, False)
    assert product.content_hash != other.content_hash


def test_further_properties_of_a_product_are_bounded() -> None:
    many = [{"name": f"n{at}" * 100, "value": "v" * 1_000} for at in range(60)]
    node = json.dumps({"@type": "Product", "name": "Anvil", "additionalProperty": many})
    (product,) = records(f'<script type="application/ld+json">{node}</script>').products

    assert len(product.extra) == 32
    assert (max(map(len, product.extra)), max(map(len, product.extra.values()))) == (100, 300)


@pytest.mark.req("S4.14.6", "S4.12.23")
def test_the_hash_of_a_product_moves_with_its_attributes_only() -> None:
    (one,), (other,) = records(JSON_LD).products, records(f"<p>New!</p>{JSON_LD}").products
    (dearer,) = records(JSON_LD.replace("1.234", "2.234")).products

    assert one.content_hash == other.content_hash != dearer.content_hash


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("1.234,56 €", "1234.56", "EUR"),
        ("₹1,23,456", "123456", "INR"),
        ("US$ 1,234.56", "1234.56", "USD"),
        ("CHF 1'299.90", "1299.90", "CHF"),
        ("1\u202f299,00 €", "1299.00", "EUR"),
        ("12,5 zł", "12.5", "PLN"),
        ("0.999", "0.999", ""),
        ("1.299", "1299", ""),
        ("EUR 5", "5", "EUR"),
        ("$.99", "0.99", "USD"),
        ("99¢", "0.99", ""),
        ("10€50", "10.50", "EUR"),
        ("٩٩٫٥٠ ر.س", "99.50", "SAR"),  # noqa: RUF001
        ("3 for $10", "10", "USD"),
        ("-20 % 80,00 €", "80.00", "EUR"),
        ("10 - 20 €", "10", "EUR"),
        ("2 Stück: 5,99 €", "5.99", "EUR"),
        ("Size S/M 19.99", "19.99", ""),
        ("1,234.500 KWD", "1234.500", "KWD"),
        ("LAK of 12 pieces", "12", ""),
        ("₱1,250.00", "1250.00", "PHP"),
    ],
)
def test_prices_are_read_in_whatever_land_they_were_written(text: str, amount: str, currency: str) -> None:
    assert parse_price(text) == (amount, currency)


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        pytest.param({"price": "12", "priceCurrency": "€"}, ("12", "EUR", "unknown"), id="a sign is no code"),
        pytest.param({"price": 12, "priceCurrency": "Euro"}, ("12", "EUR", "unknown"), id="nor is a word"),
        pytest.param({"price": 12, "priceCurrency": "points"}, ("12", "", "unknown"), id="nor is any other"),
        pytest.param({"price": -5, "priceCurrency": "GEL"}, ("", "GEL", "unknown"), id="less than nothing"),
        pytest.param({"price": "-5"}, ("", "", "unknown"), id="the same as text"),
        pytest.param({"availability": "nicht vorrätig"}, ("", "", "out_of_stock"), id="a state for people"),
    ],
)
def test_offers_in_odd_shapes_are_read(offer: dict[str, Any], expected: tuple[str, str, str]) -> None:
    node = json.dumps({"@type": "Product", "name": "Anvil", "offers": offer})
    (product,) = records(f'<script type="application/ld+json">{node}</script>').products

    assert (product.price, product.currency, product.availability) == expected


def test_sizes_and_texts_of_images_are_read_where_the_page_has_them() -> None:
    node = json.dumps(
        {
            "@graph": [
                {
                    "@type": "Product",
                    "name": "Anvil",
                    "image": [
                        {"@type": "ImageObject", "url": "/1.jpg", "width": "800", "height": {"value": 600}},
                        {"@id": "#second"},
                        "/3.jpg",
                    ],
                },
                {
                    "@id": "#second",
                    "@type": "ImageObject",
                    "contentUrl": "/2.jpg",
                    "width": "90 px",
                    "caption": "Two",
                },
            ]
        }
    )
    (product,) = records(f'<script type="application/ld+json">{node}</script>').products

    assert [url.rpartition("/")[2] for url in product.image_urls] == ["1.jpg", "2.jpg", "3.jpg"]
    assert (product.image_widths, product.image_heights) == ((800, 90, 0), (600, 0, 0))
    assert (product.image_alts, "images_told" in product.sources) == (("", "Two", ""), False)


def test_a_context_may_declare_its_own_prefix_for_the_vocabulary() -> None:
    node = json.dumps(
        {
            "@context": ["https://other.test/", {"s": "https://schema.org/", "o": "https://other.test/"}],
            "@type": "s:Product",
            "s:name": "Anvil",
            "o:name": "other",
            "s:offers": {"s:price": "5", "s:priceCurrency": "EUR"},
        }
    )
    (product,) = records(f'<script type="application/ld+json">{node}</script>').products

    assert (product.name, product.price, product.currency) == ("Anvil", "5", "EUR")


def test_a_product_that_names_itself_beside_is_one_all_the_same() -> None:
    node = json.dumps({"@id": "#p", "@type": "Product", "name": "Anvil", "isRelatedTo": {"@id": "#p"}})

    assert len(records(f'<script type="application/ld+json">{node}</script>').products) == 1


def test_a_text_without_digits_is_no_price() -> None:
    assert parse_price("free") is None


DATA = (
    '<script type="application/ld+json">{{"@type": "Product", "name": "Kettle",'
    ' "offers": {{"price": "{price}", "priceCurrency": "EUR"}}}}</script>'
    "<h1>Kettle</h1><p class=price>{shown}</p><button>Add to cart</button>"
)


@pytest.mark.parametrize(
    ("price", "shown", "expected"),
    [
        pytest.param("0.00", "€49.90", ("49.90", "", "heuristic"), id="none at all"),
        pytest.param("0", "", ("0", "", "json_ld"), id="for free"),
        pytest.param(
            "60.00", "<s>€60.00</s> <b>€45.00</b>", ("45.00", "60.00", "heuristic"), id="what it was"
        ),
        pytest.param("45.00", "<s>€60.00</s> <b>€45.00</b>", ("45.00", "60.00", "json_ld"), id="what it is"),
        pytest.param("70.00", "<s>€60.00</s> <b>€45.00</b>", ("70.00", "", "json_ld"), id="something else"),
    ],
)
def test_data_that_lags_behind_what_is_shown(price: str, shown: str, expected: tuple[str, str, str]) -> None:
    html = DATA.format(price=price, shown=shown)
    (product,) = read(
        html, url="https://shop.test/products/x", limits=ParseLimits(extraction="records")
    ).products

    assert (product.price, product.old_price, product.sources["price"]) == expected
    assert product.currency == "EUR"
