"""Page kinds by declarations, URL and structure."""

# tests letters of other scripts

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import PageKind
from strider.parser.core import ParseLimits
from strider.parser.core.content.text_blocks import TextBlock
from strider.parser.core.html.page_kind import (
    OfferEvidence,
    PageKindEstimate,
    PageKindSignals,
    classify_page,
    is_empty_result_list,
    reclassify_by_offer,
)
from tests.unit.parser.pages import read

URL = "https://site.test/x"
PROSE = [TextBlock("A long sentence about something. " * 6, "p", 0, 0, 0)] * 6
LINKS = [TextBlock("A title that leads on", "li", 21, 0, 0)] * 30


@pytest.mark.parametrize(
    ("signs", "blocks", "text", "expected"),
    [
        pytest.param(
            PageKindSignals(URL, ("newsarticle",)), PROSE, "", PageKind.ARTICLE, id="declares article"
        ),
        pytest.param(PageKindSignals(URL, is_dated=True), PROSE, "", PageKind.ARTICLE, id="dated prose"),
        pytest.param(PageKindSignals(URL), LINKS, "", PageKind.LIST, id="links"),
        pytest.param(PageKindSignals(URL, is_paginated=True), (), "", PageKind.LIST, id="has further pages"),
        pytest.param(
            PageKindSignals(URL, ("product",)), PROSE, "Add to cart", PageKind.PRODUCT, id="declares product"
        ),
        pytest.param(
            PageKindSignals("https://site.test/products/a"),
            (),
            "Add to cart",
            PageKind.PRODUCT,
            id="can be bought",
        ),
        pytest.param(
            PageKindSignals(URL, generator="Discourse 3"), PROSE, "", PageKind.FORUM, id="forum software"
        ),
        pytest.param(
            PageKindSignals("https://docs.site.test/x"), (), "", PageKind.DOCUMENTATION, id="manual"
        ),
        pytest.param(
            PageKindSignals("https://site.test/news/page/2", is_paginated=True),
            (),
            "",
            PageKind.LIST,
            id="page of a section",
        ),
        pytest.param(
            PageKindSignals("https://site.test/news/2/", is_paginated=True),
            (),
            "",
            PageKind.LIST,
            id="the same by number",
        ),
        pytest.param(
            PageKindSignals("https://site.test/news/2-cats"), (), "", PageKind.ARTICLE, id="in a section"
        ),
        pytest.param(PageKindSignals(URL), (), "", PageKind.OTHER, id="nothing"),
        pytest.param(
            PageKindSignals(URL, ("faqpage", "question", "question", "product")),
            (),
            "",
            PageKind.PRODUCT,
            id="with replies",
        ),
        pytest.param(
            PageKindSignals(URL, ("opinionnewsarticle",)), (), "", PageKind.ARTICLE, id="a kind of article"
        ),
        pytest.param(PageKindSignals(URL, ("liveblogposting",)), (), "", PageKind.ARTICLE, id="another one"),
        pytest.param(PageKindSignals(URL, ("car",)), (), "", PageKind.PRODUCT, id="a kind of product"),
        pytest.param(
            PageKindSignals(URL, ("apireference",)), (), "", PageKind.DOCUMENTATION, id="a reference"
        ),
        pytest.param(PageKindSignals(URL, ("qapage", "question")), (), "", PageKind.FORUM, id="a question"),
        pytest.param(
            PageKindSignals(URL, ("product",) * 9), LINKS, "", PageKind.LIST, id="a list of products"
        ),
        pytest.param(
            PageKindSignals(URL, ("productgroup", *("product",) * 9)),
            LINKS,
            "",
            PageKind.PRODUCT,
            id="forms of one",
        ),
        pytest.param(
            PageKindSignals(URL, ("product",) * 9), PROSE, "", PageKind.PRODUCT, id="with what goes with it"
        ),
        pytest.param(
            PageKindSignals("https://t.test/x"),
            PROSE,
            "",
            PageKind.ARTICLE,
            id="a host that begins like a path",
        ),
        pytest.param(PageKindSignals("https://topics.test/x"), (), "", PageKind.OTHER, id="another such"),
        pytest.param(PageKindSignals("https://forum.test/x"), (), "", PageKind.FORUM, id="a forum's host"),
        pytest.param(
            PageKindSignals("https://site.test/t/x/12"), (), "", PageKind.FORUM, id="a topic's path"
        ),
    ],
)
def test_kinds(signs: PageKindSignals, blocks: list[TextBlock], text: str, expected: str) -> None:
    kind, confidence = classify_page(signs, blocks, text)

    assert kind == expected
    assert 0 < confidence < 1


@pytest.mark.parametrize("types", [("product", "newsarticle"), ("newsarticle", "product")])
def test_the_first_declared_type_wins_a_tie(types: tuple[str, str]) -> None:
    """The same bytes result in the same kind in every process."""
    kinds = {"product": PageKind.PRODUCT, "newsarticle": PageKind.ARTICLE}

    assert classify_page(PageKindSignals(URL, types), (), "")[0] == kinds[types[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("News\nNo results found.", True, id="English"),
        pytest.param("Keine Treffer", True, id="German"),
        pytest.param("Your search did not match any documents", True, id="in other words"),
        pytest.param("Sorry, we couldn’t find anything for “x”", True, id="sorry"),
        pytest.param("There are no posts to show", True, id="no posts"),
        pytest.param("Brak wyników", True, id="Polish"),
        pytest.param("Es wurden keine Produkte gefunden", True, id="German, of products"),
        pytest.param("条件に一致する商品は見つかりませんでした", True, id="Japanese"),
        *(
            pytest.param(text, True, id=text)
            for text in (
                *("Sorry, but nothing matched your search terms.", "No suitable matches were found."),
                *(
                    "No topics or posts met the search criteria",
                    "0 Ergebnisse",
                    "No se han encontrado resultados",
                ),
                *("This category currently contains no pages or media.", "Não foram encontrados resultados"),
                *("Aucune annonce", "Leider nichts gefunden", "Товары не найдены", "Nu s-au găsit rezultate"),
                *("没有符合条件的商品", "該当する商品がありません", "検索結果 0件", "ไม่พบสินค้า"),
            )
        ),
        *(
            pytest.param(text, False, id=text)
            for text in (
                "No comments yet",
                "Page not found",
                "20件",
                "Страница не найдена",
                "No ads in this app",
            )
        ),
        pytest.param("10 results", False, id="some results"),
        pytest.param("There is no resultant force here", False, id="part of a word"),
        pytest.param("No results found. " + "But much is said. " * 200, False, id="a long text"),
    ],
)
def test_an_empty_result_list_is_recognized(text: str, expected: bool) -> None:
    assert is_empty_result_list(text) is expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            '<script type="application/ld+json">{"@type":"http:\\/\\/schema.org\\/Product"}</script>',
            id="data",
        ),
        pytest.param(
            '<script type="application/ld+json">{"@type":["schema:Product"]}</script>', id="a prefix"
        ),
        pytest.param('<div itemscope itemtype="http://schema.org/Product">x</div>', id="an item"),
        pytest.param('<div vocab="http://schema.org/" typeof="Product">x</div>', id="RDFa"),
        pytest.param(
            '<div prefix="s: http://schema.org/" typeof="s:Product">x</div>', id="RDFa with a prefix"
        ),
    ],
)
def test_a_type_may_be_declared_in_several_ways(body: str) -> None:
    page = read(f"<body>{body}<p>text</p>", limits=ParseLimits(extraction="main"))

    assert page.page_kind == PageKind.PRODUCT


NOTHING = OfferEvidence(signal_count=0, card_count=0, is_declared=False, is_empty=False)
LIKE_A_LIST = PageKindEstimate(PageKind.LIST, 0.667)
FURTHER_PAGE = PageKindEstimate(PageKind.LIST, 0.667, is_paginated=True)


@pytest.mark.parametrize(
    ("first", "sight", "kind"),
    [
        pytest.param(
            PageKindEstimate("other", 0.5), OfferEvidence(2, 0, False, False), "product", id="sells one thing"
        ),
        pytest.param(
            PageKindEstimate("article", 0.5),
            OfferEvidence(4, 0, False, False),
            "product",
            id="sells, with prose",
        ),
        pytest.param(
            PageKindEstimate("article", 0.833),
            OfferEvidence(3, 0, False, False),
            "article",
            id="surely prose",
        ),
        pytest.param(
            LIKE_A_LIST, OfferEvidence(3, 0, False, False), "product", id="in a section called shop"
        ),
        pytest.param(FURTHER_PAGE, OfferEvidence(3, 0, False, False), "list", id="a further page of a list"),
        pytest.param(
            PageKindEstimate("other", 0.5), OfferEvidence(0, 12, False, False), "list", id="boxes with prices"
        ),
        pytest.param(
            PageKindEstimate("product", 0.667),
            OfferEvidence(0, 12, False, False),
            "list",
            id="boxes, by address one",
        ),
        pytest.param(PageKindEstimate("product", 0.667), NOTHING, "other", id="by address only"),
        pytest.param(
            PageKindEstimate("product", 0.667), OfferEvidence(0, 0, True, False), "product", id="declared"
        ),
        pytest.param(
            PageKindEstimate("product", 0.667),
            OfferEvidence(0, 0, False, True),
            "product",
            id="shows nothing yet",
        ),
    ],
)
def test_the_offer_determines_the_kind(first: PageKindEstimate, sight: OfferEvidence, kind: str) -> None:
    found, confidence = reclassify_by_offer(first, sight)

    assert found == kind
    assert 0 < confidence < 1
