"""What kind of page it is, by what it says, where it is and how it is made."""

from __future__ import annotations

import pytest

from strider.contracts.generated.words import PageKind
from strider.parser.core.blocks import Block
from strider.parser.core.pagekinds import Signs, find_page_kind, says_nothing

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
        pytest.param(Signs(URL), (), "", PageKind.OTHER, id="nothing"),
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


@pytest.mark.req("S2.3.7")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("News\nNo results found.", True, id="English"),
        pytest.param("Keine Treffer", True, id="German"),
        pytest.param("Your search did not match any documents", True, id="in other words"),
        pytest.param("There is no resultant force here", False, id="part of a word"),
        pytest.param("No results found. " + "But much is said. " * 200, False, id="a long text"),
    ],
)
def test_a_list_that_has_nothing_says_so(text: str, expected: bool) -> None:
    assert says_nothing(text) is expected
