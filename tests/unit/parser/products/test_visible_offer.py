"""Products by visible signals only: our own pages, modelled on common shop software."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from strider.parser.core.products.commerce_vocabulary import (
    SKU_LABEL,
    find_labelled_value,
    is_gtin,
    parse_availability,
    parse_identifier,
    parse_review_count,
)
from strider.parser.core.products.prices import parse_price
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

SHOPS = Path(__file__).parent / "shops"


def page_of(name: str, url: str = "https://shop.test/products/x") -> PageParsed:
    return read((SHOPS / f"{name}.html").read_bytes(), url=url, limits=ParseLimits(extraction="records"))


@pytest.mark.req("S4.12.18", "S4.12.20", "S4.12.21", "S4.12.22", "S4.7.3")
@pytest.mark.req("S4.12.19", part="price and currency as the page says them")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "woocommerce",
            {
                "name": "Enamel Kettle",
                "price": "39.90",
                "old_price": "49.90",
                "currency": "EUR",
                "availability": "in_stock",
                "sku": "HP-KET-02",
                "rating": 4.5,
                "review_count": 12,
                "category": "Kitchen > Kettles",
            },
            id="woocommerce",
        ),
        pytest.param(
            "theme_sections",
            {
                "name": "Trail Pack 30",
                "price": "1299.00",
                "old_price": "1499.00",
                "currency": "AUD",
                "availability": "out_of_stock",
                "sku": "RG-30-BLK",
            },
            id="hosted-themes",
        ),
        pytest.param(
            "block_store",
            {
                "name": "Oak Stool",
                "price": "84.50",
                "old_price": "99.00",
                "currency": "GBP",
                "availability": "in_stock",
                "sku": "ST-OAK-1",
                "brand": "Woodly",
                "gtin": "4006381333931",
                "category": "Seating",
            },
            id="boxes-of-prices",
        ),
        pytest.param(
            "plain",
            {"price": "64.00", "currency": "USD", "availability": "in_stock", "sku": "BL-640"},
            id="no-names-at-all",
        ),
        pytest.param(
            "pieces",
            {
                "price": "129.99",
                "currency": "USD",
                "availability": "out_of_stock",
                "sku": "DR-18V",
                "gtin": "036000291452",
            },
            id="price-in-pieces",
        ),
        pytest.param(
            "forgotten_scope",
            {"price": "12.50", "currency": "CHF", "availability": "preorder", "sku": "WS-9"},
            id="properties-without-item",
        ),
        pytest.param(
            "range",
            {"price": "45.00", "price_low": "45.00", "price_high": "89.00", "availability": "in_stock"},
            id="range",
        ),
    ],
)
def test_a_shop_without_structured_data_is_read_by_its_form(name: str, expected: dict[str, Any]) -> None:
    (product,) = page_of(name).products

    assert {attribute: getattr(product, attribute) for attribute in expected} == expected
    assert set(product.sources) == set(product.confidences) >= set(expected)


@pytest.mark.parametrize("name", ["list", "article"])
def test_what_is_no_product_page_offers_none(name: str) -> None:
    """A repeated box: its price is not that of the page's product."""
    assert page_of(name, "https://shop.test/x").products == ()


@pytest.mark.req("S4.12.27")
@pytest.mark.req("S4.12.26", part="image URL and alternative text")
@pytest.mark.req("S4.12.28", part="width and height; a file size is never known")
def test_pictures_have_kind_position_text_and_size() -> None:
    (product,) = page_of("woocommerce").products

    assert product.image_urls == (
        "https://shop.test/up/kettle-600x600.jpg",
        "https://shop.test/up/kettle-lid-100x100.jpg",
    )
    assert (product.image_kinds, product.image_positions) == (("primary", "thumbnail"), (0, 1))
    assert (product.image_alts, product.image_widths) == (("Kettle, front", "Lid"), (600, 100))


def test_structured_data_takes_precedence_over_visible_signals() -> None:
    page = read(
        '<script type="application/ld+json">{"@type": "Product", "name": "Kettle", "offers": {"price": 5}}'
        '</script><body class="single-product"><h1>Kettle</h1><b class="price">$6.00</b>'
        "<button>Add to cart</button>",
        limits=ParseLimits(extraction="records"),
    )
    (product,) = page.products

    assert (product.price, product.sources["price"]) == ("5", "json_ld")
    assert (product.availability, product.sources["availability"]) == ("in_stock", "heuristic")
    assert product.confidences["price"] > product.confidences["availability"]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Currently unavailable", "out_of_stock"),
        ("Nicht auf Lager", "out_of_stock"),
        ("Only 3 left in stock", "limited"),
        ("Sofort lieferbar", "in_stock"),
        ("https://schema.org/OutOfStock", "out_of_stock"),
        ("Pre-order now", "preorder"),
        ("Tell a friend", ""),
    ],
)
def test_states_are_read_in_the_languages_of_shops(text: str, state: str) -> None:
    assert parse_availability(text) == state


@pytest.mark.parametrize(
    ("digits", "is_one"),
    [
        ("4006381333931", True),
        ("4006381333932", False),
        ("036000291452", True),
        ("0306406152", True),
        ("1", False),
    ],
)
def test_a_gtin_has_its_check_digit(digits: str, is_one: bool) -> None:
    assert is_gtin(digits) is is_one


def test_an_identifier_follows_its_label_or_is_below_it() -> None:
    assert find_labelled_value("sku", "a\nSKU: X-1\nb") == "X-1"
    assert find_labelled_value("sku", "a\nSKU\nX-1\nb") == "X-1"
    assert parse_identifier("Item #: A.12/b") == "A.12/b"
    assert parse_identifier("SKU: N/A") == ""


SHOP: str = (
    "<main><h1>Oak Stool</h1><span class=price>GBP 84.50</span>{}<button>Add to basket</button></main>"
    "<div class=related-products><span class=product-code>ZZ-9</span></div>"
)


@pytest.mark.req("S4.12.22")
@pytest.mark.parametrize(
    ("part", "sku"),
    [
        pytest.param("<form><input type=hidden name=product_sku value=ST-1></form>", "ST-1", id="field"),
        pytest.param("<p class='product-code'>Code: ST-1</p>", "", id="words-before-it-are-no-number"),
        pytest.param("<p class='productCode'>ST-1</p>", "ST-1", id="class"),
        pytest.param("<p class=item-number>Item no. 4711</p>", "4711", id="with-a-label"),
        pytest.param("<div data-article-number=4711>x</div>", "4711", id="data"),
        pytest.param("<p class=sku>ST-2</p><p class=productcode>ST-1</p>", "ST-2", id="a-sku-comes-first"),
        pytest.param("", "", id="not-that-of-another-product"),
    ],
)
def test_the_number_of_a_thing_has_many_names(part: str, sku: str) -> None:
    page = read(SHOP.format(part), url="https://shop.test/x", limits=ParseLimits(extraction="records"))

    (product,) = page.products
    assert (product.sku, product.price) == (sku, "84.50")


@pytest.mark.parametrize(
    "part",
    [
        *('<div class="price">', '<b class="sku stock review">', '<i itemprop="price">'),
        *("<h1>A</h1><button>Add to cart</button><i>$1</i>", "<a href='/brand/x'>x</a>$1<br>", "$<b>"),
    ],
)
def test_a_hostile_shop_is_bounded(part: str) -> None:
    html = part * 3_000 + "9"

    page = assert_cheap(lambda: read(html, limits=ParseLimits(extraction="records")), yardsticks=240)

    assert page.outcome in {"parsed", "partly_parsed"}


@pytest.mark.parametrize(
    ("state", "texts"),
    [
        pytest.param(
            "in_stock",
            "Sofort lieferbar|Em stock|W magazynie|Na skladě|Készleten|In magazzino|Varastossa|În stoc"
            "|Na stanju|Є в наявності|Διαθέσιμο|有货|此商品有货|재고 있음|Lieferzeit 2-3 Tage|Available now",
            id="in stock",
        ),
        pytest.param(
            "out_of_stock",
            "Ikke på lager|Slut i lager|Není skladem|Nincs raktáron|Stokta yok|Non disponible"
            "|No longer in stock|Derzeit nicht auf Lager|Not in stock|Нет на складе"
            "|Немає в наявності|Brak w magazynie"
            "|已售罄|売り切れ|Product not available in your region",
            id="out of stock",
        ),
        pytest.param("preorder", "Preventa|Preordine|Pré-venda|Przedsprzedaż|Предзаказ", id="preorder"),
        pytest.param(
            "backorder", "Available on backorder|Bajo pedido|Op bestelling|Под заказ", id="backorder"
        ),
        pytest.param("", "Add to wishlist|Our stock of words|Artikel|Available in red", id="none"),
    ],
)
def test_stock_in_many_languages(state: str, texts: str) -> None:
    assert {text: parse_availability(text) for text in texts.split("|")} == dict.fromkeys(
        texts.split("|"), state
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Art.-Nr.: 123-A",
            "Item No.: 123-A",
            "Item model number: 123-A",
            "Product SKU: 123-A",
            "Cód.: 123-A",
        ),
        *(
            "Codice prodotto: 123-A",
            "Varenr.: 123-A",
            "Kod produktu: 123-A",
            "Cikkszám: 123-A",
            "Арт.: 123-A",
        ),
        *("品番: 123-A", "型番\uff1a123-A", "Ürün Kodu\n123-A"),
    ],
)
def test_a_number_is_announced_in_many_languages(text: str) -> None:
    assert parse_identifier(find_labelled_value(SKU_LABEL, text)) == "123-A"


def test_a_rating_is_no_count() -> None:
    assert parse_review_count("4.6 rating (82 votes)") == 82
    assert parse_review_count("1,113 ratings") == 1113


@pytest.mark.parametrize(
    ("text", "country", "currency"),
    [
        *(("299 kr", "se", "SEK"), ("299 kr", "no", "NOK"), ("1200 грн", "", "UAH"), ("1 290 Ft", "", "HUF")),
        *(("12,000원", "", "KRW"), ("RM 12", "", "MYR"), ("BOTTLE 12", "", ""), ("299 kr", "com", "")),
    ],
)
def test_currencies_by_word(text: str, country: str, currency: str) -> None:
    price = parse_price(text, country=country)

    assert price is not None
    assert price.currency == currency


def test_an_identifier_in_the_url_counts_if_the_page_shows_it() -> None:
    html = (
        "<body class=single-product><h1>Tea Kettle</h1><p class=price>$12.50</p><button>Add to cart</button>"
        "<p>This is listing 365999454668.</p>"
    )
    limits = ParseLimits(extraction="records")
    there, elsewhere = (
        read(html, url=f"https://shop.test/itm/{number}", limits=limits).products[0].sku
        for number in ("365999454668", "365999454669")
    )

    assert (there, elsewhere) == ("365999454668", "")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param('<div data-price="12.50" class=x></div>', {"price": "12.50"}, id="in data"),
        pytest.param(
            '<div data-product-price="12.50"></div>', {"price": "12.50"}, id="in data of the product"
        ),
        pytest.param('<div aria-label="Price: $12.50"><i></i></div>', {"price": "12.50"}, id="label"),
        pytest.param(
            '<div data-testid="product-price">12,50 €</div>', {"price": "12.50"}, id="name for tests"
        ),
        pytest.param(
            """<div data-product='{"name":"Tea Kettle","price":"12.50","sku":"TK-1"}'></div>""",
            {"price": "12.50", "sku": "TK-1"},
            id="state of an element",
        ),
        pytest.param(
            '<p class=price>$12.50</p><form><input type=hidden name=product_code value="TK-12"></form>',
            {"sku": "TK-12"},
            id="number in a form",
        ),
    ],
)
def test_attributes_in_hidden_properties_of_elements(part: str, expected: dict[str, str]) -> None:
    html = f"<body class=single-product><h1>Tea Kettle</h1>{part}<button>Add to cart</button>"
    product = read(html, limits=ParseLimits(extraction="records")).products[0]

    assert {name: getattr(product, name) for name in expected} == expected


@pytest.mark.parametrize(
    "button",
    [
        pytest.param('<a class="btn" href="/x?add=1">Add to basket</a>', id="link in the form of a button"),
        pytest.param('<div role="button">Add to cart</div>', id="role"),
        pytest.param('<input type=image alt="Add to cart">', id="picture"),
    ],
)
def test_a_button_of_any_make_sells(button: str) -> None:
    html = f"<body class=single-product><h1>Tea Kettle</h1><p class=price>$12.50</p>{button}"

    assert read(html, limits=ParseLimits(extraction="records")).products[0].availability == "in_stock"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Was £100.00 Now £80.00", ("80.00", "100.00", "", ""), id="before and now in one text"),
        pytest.param("Jetzt 80,00 € statt 100,00 €", ("80.00", "100.00", "", ""), id="the other way round"),
        pytest.param(
            "ab 19,99 € bis 29,99 €", ("19.99", "", "19.99", "29.99"), id="a range with money twice"
        ),
        pytest.param("-20% €80,00", ("80.00", "", "", ""), id="a share before it"),
        pytest.param("12.50 EUR incl. VAT 19%", ("12.50", "", "", ""), id="a share behind it"),
        pytest.param("Save 20%", ("", "", "", ""), id="a share alone"),
        pytest.param("€10 / month", ("", "", "", ""), id="a part of it"),
    ],
)
def test_prices_in_the_phrases_of_shops(text: str, expected: tuple[str, str, str, str]) -> None:
    page = read(
        f"<title>Kettle</title><body><h1>Kettle</h1><p class=price>{text}</p><button>Add to cart</button>",
        url="https://shop.test/products/x",
        limits=ParseLimits(extraction="records"),
    )
    found = [(one.price, one.old_price, one.price_low, one.price_high) for one in page.products]

    assert (found or [("", "", "", "")]) == [expected]


@pytest.mark.parametrize(
    ("language", "url", "currency", "is_sure"),
    [
        pytest.param("en", "https://shop.test/p/x", "USD", False, id="a dollar of any country"),
        pytest.param("en-AU", "https://shop.test/p/x", "AUD", True, id="by language"),
        pytest.param("en", "https://shop.com.au/p/x", "AUD", True, id="by address"),
    ],
)
def test_a_bare_dollar_is_only_likely(language: str, url: str, currency: str, *, is_sure: bool) -> None:
    html = f"<html lang={language}><body><h1>Kettle</h1><p class=price>$12.50</p><button>Add to cart</button>"
    (product,) = read(html, url=url, limits=ParseLimits(extraction="records")).products

    assert product.currency == currency
    assert (product.confidences["currency"] == product.confidences["price"]) is is_sure


def test_availability_by_a_buy_button_is_less_certain_than_a_stated_one() -> None:
    html = "<h1>Kettle</h1><p class=price>$12.50</p>{}<button>Add to cart</button>"
    limits = ParseLimits(extraction="records")
    assumed, stated = (
        read(html.format(part), limits=limits).products[0] for part in ("", "<p class=stock>In stock</p>")
    )

    assert (assumed.availability, stated.availability) == ("in_stock", "in_stock")
    assert assumed.confidences["availability"] < stated.confidences["availability"]


def test_attributes_of_the_page_apply_to_its_product_with_less_confidence() -> None:
    page = read(
        "<meta property=og:image content=/og.jpg><meta name=description content='Kettles for all.'>"
        '<script type="application/ld+json">{"@type": "BreadcrumbList", "itemListElement": ['
        '{"@type": "ListItem", "position": 2, "item": {"@id": "/k", "name": "Kitchen"}},'
        '{"@type": "ListItem", "position": 1, "name": "Home"},'
        '{"@type": "ListItem", "position": 3, "name": "Kettles"},'
        '{"@type": "ListItem", "position": 4, "name": "Tea Kettle"}]}</script>'
        "<body class=single-product><h1>Tea Kettle</h1><p class=price>$12.50</p><button>Add to cart</button>",
        url="https://shop.test/x",
        limits=ParseLimits(extraction="records"),
    )
    (product,) = page.products

    assert (product.description, product.image_urls) == ("Kettles for all.", ("https://shop.test/og.jpg",))
    assert (product.category, product.sources["category"]) == ("Kitchen > Kettles", "json_ld")
    assert product.confidences["description"] < product.confidences["price"]


@pytest.mark.req("S4.12.18")
def test_a_description_is_what_is_called_so() -> None:
    description = "It holds a litre of tea and keeps it warm."
    page = read(
        "<meta name=description content='Kettles for all.'><body class=single-product><h1>Tea Kettle</h1>"
        "<p class=price>$12.50</p><button>Add to cart</button><a class=description>Description</a>"
        f"<div class=related-products><p class=product-description>{description} No.</p></div>"
        f"<div class=product-description><p>{description}</p></div>",
        limits=ParseLimits(extraction="records"),
    )

    assert page.products[0].description == description


@pytest.mark.parametrize("identity", ["https://shop.test/#brand", "#brand"])
def test_an_identity_is_no_brand(identity: str) -> None:
    page = read(
        '<script type="application/ld+json">{"@type": "Product", "name": "Kettle", "brand": {"@id": "'
        f'{identity}"'
        "}}</script><h1>Kettle</h1>",
        limits=ParseLimits(extraction="records"),
    )

    assert page.products[0].brand == ""
