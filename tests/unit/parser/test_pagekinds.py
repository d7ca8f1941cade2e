"""What kind of page it is, by what it says, where it is and how it is made."""

# letters of other scripts are what this is about

from __future__ import annotations

import pytest

from strider.contracts.generated.words import PageKind
from strider.parser.core import Limits
from strider.parser.core.blocks import Block
from strider.parser.core.pagekinds import (
    Impression,
    Sight,
    Signs,
    find_page_kind,
    kind_by_offer,
    says_nothing,
)

from .pages import read

URL = "https://site.test/x"
PROSE = [Block("A long sentence about something. " * 6, "p", 0, 0, 0)] * 6
LINKS = [Block("A title that leads on", "li", 21, 0, 0)] * 30


@pytest.mark.parametrize(
    ("signs", "blocks", "text", "expected"),
    [
        pytest.param(Signs(URL, ("newsarticle",)), PROSE, "", PageKind.ARTICLE, id="says article"),
        pytest.param(Signs(URL, is_dated=True), PROSE, "", PageKind.ARTICLE, id="dated prose"),
        pytest.param(Signs(URL), LINKS, "", PageKind.LIST, id="links"),
        pytest.param(Signs(URL, has_pages=True), (), "", PageKind.LIST, id="has further pages"),
        pytest.param(Signs(URL, ("product",)), PROSE, "Add to cart", PageKind.PRODUCT, id="says product"),
        pytest.param(
            Signs("https://site.test/products/a"), (), "Add to cart", PageKind.PRODUCT, id="can be bought"
        ),
        pytest.param(Signs(URL, generator="Discourse 3"), PROSE, "", PageKind.FORUM, id="forum software"),
        pytest.param(Signs("https://docs.site.test/x"), (), "", PageKind.DOCUMENTATION, id="manual"),
        pytest.param(
            Signs("https://site.test/news/page/2", has_pages=True),
            (),
            "",
            PageKind.LIST,
            id="page of a section",
        ),
        pytest.param(
            Signs("https://site.test/news/2/", has_pages=True), (), "", PageKind.LIST, id="the same by number"
        ),
        pytest.param(Signs("https://site.test/news/2-cats"), (), "", PageKind.ARTICLE, id="in a section"),
        pytest.param(Signs(URL), (), "", PageKind.OTHER, id="nothing"),
        pytest.param(
            Signs(URL, ("faqpage", "question", "question", "product")),
            (),
            "",
            PageKind.PRODUCT,
            id="with answers",
        ),
        pytest.param(Signs(URL, ("opinionnewsarticle",)), (), "", PageKind.ARTICLE, id="a kind of article"),
        pytest.param(Signs(URL, ("liveblogposting",)), (), "", PageKind.ARTICLE, id="another one"),
        pytest.param(Signs(URL, ("car",)), (), "", PageKind.PRODUCT, id="a kind of product"),
        pytest.param(Signs(URL, ("apireference",)), (), "", PageKind.DOCUMENTATION, id="a reference"),
        pytest.param(Signs(URL, ("qapage", "question")), (), "", PageKind.FORUM, id="a question"),
        pytest.param(Signs(URL, ("product",) * 9), LINKS, "", PageKind.LIST, id="a list of products"),
        pytest.param(
            Signs(URL, ("productgroup", *("product",) * 9)), LINKS, "", PageKind.PRODUCT, id="forms of one"
        ),
        pytest.param(Signs(URL, ("product",) * 9), PROSE, "", PageKind.PRODUCT, id="with what goes with it"),
        pytest.param(
            Signs("https://t.test/x"), PROSE, "", PageKind.ARTICLE, id="a host that begins like a path"
        ),
        pytest.param(Signs("https://topics.test/x"), (), "", PageKind.OTHER, id="another such"),
        pytest.param(Signs("https://forum.test/x"), (), "", PageKind.FORUM, id="a forum's host"),
        pytest.param(Signs("https://site.test/t/x/12"), (), "", PageKind.FORUM, id="a topic's path"),
    ],
)
def test_kinds(signs: Signs, blocks: list[Block], text: str, expected: str) -> None:
    kind, confidence = find_page_kind(signs, blocks, text)

    assert kind == expected
    assert 0 < confidence < 1


@pytest.mark.parametrize("said", [("product", "newsarticle"), ("newsarticle", "product")])
def test_what_a_page_says_first_wins_a_tie(said: tuple[str, str]) -> None:
    """The same bytes say the same in every process."""
    kinds = {"product": PageKind.PRODUCT, "newsarticle": PageKind.ARTICLE}

    assert find_page_kind(Signs(URL, said), (), "")[0] == kinds[said[0]]


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
def test_a_list_that_has_nothing_says_so(text: str, expected: bool) -> None:
    assert says_nothing(text) is expected


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
def test_a_type_is_said_in_several_ways(body: str) -> None:
    page = read(f"<body>{body}<p>text</p>", limits=Limits(extraction="main"))

    assert page.page_kind == PageKind.PRODUCT


NOTHING = Sight(evidence=0, boxes=0, is_said=False, is_empty=False)
LIKE_A_LIST = Impression(PageKind.LIST, 0.667)
FURTHER_PAGE = Impression(PageKind.LIST, 0.667, is_paged=True)


@pytest.mark.parametrize(
    ("first", "sight", "kind"),
    [
        pytest.param(Impression("other", 0.5), Sight(2, 0, False, False), "product", id="sells one thing"),
        pytest.param(
            Impression("article", 0.5), Sight(4, 0, False, False), "product", id="sells, with prose"
        ),
        pytest.param(Impression("article", 0.833), Sight(3, 0, False, False), "article", id="surely prose"),
        pytest.param(LIKE_A_LIST, Sight(3, 0, False, False), "product", id="in a section called shop"),
        pytest.param(FURTHER_PAGE, Sight(3, 0, False, False), "list", id="a further page of a list"),
        pytest.param(Impression("other", 0.5), Sight(0, 12, False, False), "list", id="boxes with prices"),
        pytest.param(
            Impression("product", 0.667), Sight(0, 12, False, False), "list", id="boxes, by address one"
        ),
        pytest.param(Impression("product", 0.667), NOTHING, "other", id="by address only"),
        pytest.param(Impression("product", 0.667), Sight(0, 0, True, False), "product", id="says so"),
        pytest.param(
            Impression("product", 0.667), Sight(0, 0, False, True), "product", id="shows nothing yet"
        ),
    ],
)
def test_what_is_offered_tells_the_kind(first: Impression, sight: Sight, kind: str) -> None:
    found, confidence = kind_by_offer(first, sight)

    assert found == kind
    assert 0 < confidence < 1
