"""Structured data in every format, however broken."""

from __future__ import annotations

import json

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.structured.structured_data import StructuredData
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read
from tests.unit.parser.products.test_extract_products import JSON_LD, MICRODATA, records

RDFA = """<div vocab="https://schema.org/" typeof="Product"><b property="name">Anvil</b>
<img property="image" src="/1.jpg"><div property="offers" typeof="Offer">
<b property="price" content="9.99">9</b><meta property="priceCurrency" content="EUR">
<link property="availability" href="http://schema.org/InStock"></div></div>"""


def test_structured_data_is_returned_by_format_and_only_at_its_level() -> None:
    page = records(JSON_LD + MICRODATA)

    assert page.structured_formats == ("json-ld", "microdata")
    assert page.structured_types == ("Product", "Brand", "Offer")
    assert json.loads(page.structured_json)[1]["items"] == [
        {
            "type": "http://schema.org/Product",
            "properties": {
                "name": "Anvil",
                "sku": "A-1",
                "offers": {"type": "http://schema.org/Offer", "properties": {"price": "9.99"}},
            },
        }
    ]
    assert read(JSON_LD, limits=ParseLimits(extraction="main")).structured_json == ""


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        pytest.param('{"@type": "Thing", "name": "a // b",}', True, id="comma"),
        pytest.param('<!-- note --> {"@type": "Thing", "name": "a // b"}', True, id="markup-comment"),
        pytest.param('/* c */ {"@type": "Thing", // d\n "name": "a // b"};', True, id="script-comments"),
        pytest.param(
            "{&quot;@type&quot;: &quot;Thing&quot;, &quot;name&quot;: &quot;a // b&quot;}",
            True,
            id="entities",
        ),
        pytest.param('//<![CDATA[\n{"@type": "Thing", "name": "a // b",}\n//]]>', True, id="cdata"),
        pytest.param('{"@type": "Thing",, "name": "a // b"', True, id="not-closed"),
        pytest.param('{"@type": "Thing", "name": "a // b", "x": }', False, id="hole"),
        pytest.param('{"@type": "Thing", "name": "a // b', False, id="cut"),
        pytest.param("[" * 100_000, False, id="too-deep"),
    ],
)
def test_broken_json_is_repaired_where_that_is_safe(text: str, is_read: bool) -> None:
    """Broken data is always reported; what would need a guess is dropped."""
    page = records(f'<script type="application/ld+json">{text}</script>')
    items = json.loads(page.structured_json)[0]["items"] if page.structured_json else []

    assert items == ([{"@type": "Thing", "name": "a // b"}] if is_read else [])
    assert len(page.structured_errors) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1 ' + "/* " * 80_000, id="comments"),
        pytest.param('{"a": 1 ' + "<!-- " * 50_000, id="markup-comments"),
        pytest.param('{"a": "' + '\\"' * 120_000, id="quotes"),
        pytest.param('{"a": [,' * 30_000, id="commas"),
    ],
)
def test_repairs_take_time_by_the_length_of_the_text(text: str) -> None:
    """A missing end must not be searched for again from each start."""
    html = f'<script type="application/ld+json">{text}</script>'

    page = assert_cheap(lambda: records(html), yardsticks=240)

    assert page.structured_errors


def test_blocks_within_a_property_are_separated() -> None:
    page = records('<div itemscope><div itemprop="description">one<p>t<b>w</b>o</p><script>x</script>three')

    assert json.loads(page.structured_json)[0]["items"] == [{"properties": {"description": "one two three"}}]


def test_microdata_without_an_end_is_bounded() -> None:
    page = records('<div itemscope itemprop="a">' * 1_500)

    assert page.outcome == "parsed"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param('{"name": "a"} {"name": "b"}', ["a", "b"], id="row"),
        pytest.param('{"name": "a"},\n{"name": "b"};', ["a", "b"], id="commas-between"),
        pytest.param('{"name": "a\nb"}', ["a\nb"], id="line-end-in-a-string"),
        pytest.param(r"""{"name": "it\'s \d", }""", ["it's d"], id="escapes-that-are-none"),
        pytest.param('[{"name": "a"}, null, 3]', ["a"], id="not-only-objects"),
    ],
)
def test_all_values_of_a_script_are_read(text: str, names: list[str]) -> None:
    page = records(f'<script type="application/ld+json">{text}</script>')
    (group,) = json.loads(page.structured_json)

    assert [item["name"] for item in group["items"]] == names


def test_rdfa_is_read_and_subjects_are_nested_where_they_are_referenced() -> None:
    """Older shop software uses RDFa only."""
    page = records(RDFA)
    (product,) = page.products

    assert (product.name, product.price, product.currency) == ("Anvil", "9.99", "EUR")
    assert (product.availability, product.image_urls) == ("in_stock", ("https://site.test/1.jpg",))
    assert set(product.sources.values()) == {"rdfa"}
    assert (page.structured_formats, page.structured_types) == (("rdfa",), ("Product", "Offer"))


def test_open_graph_in_the_head_is_no_rdfa() -> None:
    page = read(
        '<head><meta property="og:title" content="A"></head><p>b', limits=ParseLimits(extraction="records")
    )

    assert page.structured_formats == ("opengraph",)


def test_relations_apply_to_nested_subjects() -> None:
    page = records('<div about="#me" rel="foaf:knows"><p property="foaf:name">Bob</p></div><p vocab="x:">')
    items = {item["@id"]: item for item in json.loads(page.structured_json)[0]["items"]}
    (known,) = items["https://site.test/folder/page.html#me"]["http://xmlns.com/foaf/0.1/knows"]

    assert items[known["@id"]]["http://xmlns.com/foaf/0.1/name"] == [{"@value": "Bob"}]


@pytest.mark.parametrize("attributes", ['itemprop="priceValidUntil"', 'property="schema:endDate"'])
def test_the_end_of_a_price_is_no_date_of_the_page(attributes: str) -> None:
    times = f'<time {attributes} datetime="2030-01-02"></time><time datetime="2026-03-04"></time>'

    assert read(times, limits=ParseLimits(extraction="main")).published_at == "2026-03-04"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{\xa0\n\u200b"@type": "Thing",\xa0"name": "a\xa0b"}', id="spaces-of-a-page"),
        pytest.param(json.dumps('{"@type": "Thing", "name": "a\xa0b"}'), id="a-text-of-itself"),
        pytest.param('{\\"@type\\": \\"Thing\\", \\"name\\": \\"a\\u00a0b\\"}', id="between-no-quotes"),
        pytest.param('{"@type": "Thing", "name": "a\\xa0b"}', id="escapes-of-scripts"),
    ],
)
def test_data_in_the_wrong_wrapping_is_data(text: str) -> None:
    page = records(f'<script type="application/ld+json">{text}</script>')

    (item,) = json.loads(page.structured_json)[0]["items"]
    assert (item if isinstance(item, dict) else json.loads(item)) == {"@type": "Thing", "name": "a\xa0b"}


def test_numbers_that_are_none_keep_their_digits() -> None:
    page = records(
        '<script type="application/ld+json">{"gtin": 04006381333931, "a": 5., "b": +5, "c": -0.5e3}</script>'
    )

    expected = {"gtin": "04006381333931", "a": "5.", "b": "+5", "c": -500.0}
    assert json.loads(page.structured_json)[0]["items"] == [expected]


def test_types_may_use_the_aliases_of_the_context() -> None:
    data = {
        "@context": "https://schema.org",
        "type": "Product",
        "name": "Anvil",
        "brand": {"id": "#b", "type": "Brand", "name": "ACME"},
    }

    page = records(f'<script type="application/ld+json">{json.dumps(data)}</script>')

    assert (page.structured_types, page.products[0].brand) == (("Product", "Brand"), "ACME")


def test_a_prefix_is_one_where_a_name_begins() -> None:
    item = {
        "@context": {"s": "https://schema.org/"},
        "@type": "s:Product",
        "s:name": "Kettle",
        "class:name": "K",
    }
    ((_, node),) = StructuredData(json_ld=[item]).typed_nodes()

    assert (node["name"], node["class:name"]) == ("Kettle", "K")
