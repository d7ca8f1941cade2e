"""Pagination of lists: next, previous and numbered pages, and the pattern of their URLs."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import ExtractionLevel, PaginationStyle
from strider.parser.core import ParseLimits
from strider.parser.core.html.models import ELSEWHERE, Anchor, Anchors, LinkTag
from strider.parser.core.html.pagination import Pagination, find_pagination
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

LIST = "https://site.test/news"


def found(
    *anchors: tuple[str, str], url: str = LIST, rel: str = "", link: LinkTag | None = None
) -> Pagination:
    return find_pagination(
        url,
        base=url,
        links=() if link is None else (link,),
        anchors=Anchors.from_anchors(Anchor(href, text, rel, ELSEWHERE) for text, href in anchors),
    )


@pytest.mark.req("S2.3.3")
@pytest.mark.req("S2.3.1", part="numbers in the links of a list")
def test_numbers_in_the_query_become_a_pattern() -> None:
    pages = found(("2", "?page=2"), ("3", "?page=3"), ("Next", "?page=2"))

    assert pages == Pagination(
        next_url=f"{LIST}?page=2",
        page_urls=(f"{LIST}?page=2", f"{LIST}?page=3"),
        style=PaginationStyle.QUERY,
        pattern=f"{LIST}?page={{N}}",
        number=1,
        last=3,
    )


@pytest.mark.req("S2.3.4")
def test_numbers_in_the_path_become_a_pattern_and_neighbours_are_known() -> None:
    """Not every list names its next page; the numbers around the current one identify it."""
    pages = found(("1", "/news"), ("2", "/news/page/2"), ("4", "/news/page/4"), url=f"{LIST}/page/3")

    assert (pages.style, pages.pattern) == (PaginationStyle.PATH, f"{LIST}/page/{{N}}")
    assert (pages.next_url, pages.previous_url) == (f"{LIST}/page/4", f"{LIST}/page/2")
    assert (pages.number, pages.last) == (3, 4)


def test_even_steps_are_an_offset() -> None:
    pages = found(("2", "?start=20"), ("3", "?start=40"), ("4", "?start=60"), url=f"{LIST}?start=20")

    assert (pages.style, pages.pattern, pages.number) == (PaginationStyle.OFFSET, f"{LIST}?start={{N}}", 2)
    assert pages.next_url == f"{LIST}?start=40"


@pytest.mark.parametrize(
    ("label", "direction"),
    [
        pytest.param("Next", "next", id="word"),
        pytest.param("Next page »", "next", id="words and an arrow"),
        pytest.param("»", "next", id="arrow"),
        pytest.param("Older posts", "next", id="blog"),
        pytest.param("Weiter", "next", id="German"),
        pytest.param("下一页", "next", id="Chinese"),
        pytest.param("Página siguiente", "next", id="Spanish, the other way round"),
        pytest.param("Next 20 results", "next", id="with a number"),
        pytest.param("Nästa sida", "next", id="Swedish"),
        pytest.param("Seuraava", "next", id="Finnish"),
        pytest.param("Επόμενη", "next", id="Greek"),
        pytest.param("Következő oldal", "next", id="Hungarian"),
        pytest.param("التالي", "next", id="Arabic"),
        pytest.param("หน้าถัดไป", "next", id="Thai"),
        pytest.param("Föregående", "previous", id="Swedish, back"),
        pytest.param("« Previous", "previous", id="back"),
        pytest.param("Précédent", "previous", id="French"),
        *(
            pytest.param(label, "next", id=label)
            for label in (
                *(
                    "Pagina următoare",
                    "Järgmine",
                    "Nākamā lapa",
                    "Kitas puslapis",
                    "Naslednja stran",
                    "Næsta",
                ),
                *("Hurrengoa", "Seterusnya", "अगला पृष्ठ", "পরবর্তী", "بعدی", "次の20件"),
            )
        ),
        pytest.param("Iepriekšējā", "previous", id="Latvian, back"),
        pytest.param("صفحه قبلی", "previous", id="Persian, back"),
        pytest.param("Next: how we cook", "", id="a headline"),
        pytest.param("Nextcloud", "", id="a name"),
        pytest.param("2026", "", id="a year alone"),
    ],
)
def test_what_an_anchor_is_called(label: str, direction: str) -> None:
    pages = found((label, "/other/2"))

    expected = {"next": ("https://site.test/other/2", ""), "previous": ("", "https://site.test/other/2")}
    assert (pages.next_url, pages.previous_url) == expected.get(direction, ("", ""))


def test_an_arrow_that_is_drawn_by_a_style_leads_on_and_is_no_relation_of_the_page() -> None:
    page = read(
        "<body><a class=pager-prev href=/news/1></a><a class=pager-next href=/news/3></a>",
        limits=ParseLimits(extraction=ExtractionLevel.MAIN),
        url="https://site.test/news/2",
    )

    assert (page.previous_url, page.next_url) == ("https://site.test/news/1", "https://site.test/news/3")
    assert not any(page.link_rels)


def test_rel_attributes_take_precedence() -> None:
    link = LinkTag("next", "?after=x", "", "")

    assert found(("Next", "?page=2"), link=link).next_url == f"{LIST}?after=x"


@pytest.mark.parametrize(
    "anchors",
    [
        pytest.param((("20", "?limit=20"), ("50", "?limit=50")), id="how many a page"),
        pytest.param(tuple((str(n), f"?size={n}") for n in range(1, 9)), id="sizes"),
        pytest.param(
            tuple((str(n), f"?eu={n}") for n in range(36, 46)), id="a list begins with its beginning"
        ),
        pytest.param((("2", "/a?until=01%3A21%3A00"), ("3", "/a?until=01%3A31%3A00")), id="escapes"),
        pytest.param((("1", "/photos/1.jpg"), ("2", "/photos/2.jpg")), id="pictures"),
        pytest.param((("Next", "https://other.test/2"),), id="another host"),
        pytest.param((("Next", "javascript:go(2)"), ("2", "#2")), id="no page"),
        pytest.param((("3", "?page=9"), ("4", "?page=2")), id="numbers that do not go together"),
    ],
)
def test_what_is_no_further_page(anchors: tuple[tuple[str, str], ...]) -> None:
    assert found(*anchors) == Pagination()


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("/2016/03/{:02}/", id="days in the path"),
        pytest.param("/?m=201603{:02}", id="days in a parameter"),
        pytest.param("/2016/{:02}/", id="months"),
        pytest.param("/archive?year=2016&month={}", id="months by name"),
        pytest.param("/day/2016-03-{:02}?page=1", id="days by dates"),
    ],
)
def test_a_calendar_is_no_list_of_pages(form: str) -> None:
    pages = found(*((str(day), form.format(day)) for day in range(1, 9)))

    assert pages == Pagination()


def test_years_are_no_pages() -> None:
    pages = found(*((str(year), f"/archive/{year}") for year in range(2010, 2016)))

    assert pages == Pagination()


def test_a_list_is_found_beside_a_calendar() -> None:
    days = ((str(day), f"/2016/03/{day:02}/") for day in range(1, 20))
    pages = found(*days, ("61", "/news/page/61"), ("63", "/news/page/63"), url=f"{LIST}/page/62")

    assert pages.page_urls == (f"{LIST}/page/61", f"{LIST}/page/63")
    assert (pages.next_url, pages.previous_url) == (f"{LIST}/page/63", f"{LIST}/page/61")


def test_a_number_that_is_written_twice_is_one_pattern() -> None:
    pages = found(("2", "?ref=btm_2&page=2"), ("3", "?ref=btm_3&page=3"), url=f"{LIST}?ref=btm_1&page=1")

    assert pages.pattern == f"{LIST}?ref=btm_{{N}}&page={{N}}"
    assert (pages.number, pages.next_url) == (1, f"{LIST}?ref=btm_2&page=2")


@pytest.mark.parametrize(
    ("label", "href", "expected"),
    [
        pytest.param("Load more", "?page=2", f"{LIST}?page=2", id="the same list, another query"),
        pytest.param("Mehr laden", "/news/page/2", f"{LIST}/page/2", id="a number below it"),
        pytest.param("Show 20 more results", "/news?after=x", f"{LIST}?after=x", id="with a number"),
        pytest.param("Show more", "/news/a-story", "", id="a story"),
        pytest.param("View more", "/sport?page=2", "", id="another list"),
        pytest.param("More", "?page=2", "", id="anything"),
    ],
)
def test_more_leads_on_only_where_it_stays_in_the_list(label: str, href: str, expected: str) -> None:
    assert found((label, href)).next_url == expected


def test_a_host_with_and_without_www_is_one() -> None:
    assert (
        found(("Next", "https://www.site.test/news?page=2")).next_url == "https://www.site.test/news?page=2"
    )


def test_a_label_may_be_both_number_and_direction() -> None:
    pages = find_pagination(
        f"{LIST}/p2",
        base=f"{LIST}/p2",
        links=(),
        anchors=Anchors.from_anchors(
            Anchor(f"{LIST}/p{number}", str(number), rel, ELSEWHERE)
            for number, rel in ((1, "prev"), (3, "next"), (4, ""))
        ),
    )

    assert pages.page_urls == (f"{LIST}/p1", f"{LIST}/p3", f"{LIST}/p4")
    assert (pages.previous_url, pages.next_url) == (f"{LIST}/p1", f"{LIST}/p3")


@pytest.mark.parametrize(
    ("first", "is_one"),
    [
        pytest.param("/news?cat=1", True, id="without its number"),
        pytest.param("/news?start=0", True, id="from the beginning"),
        pytest.param("/news?m=20160301", False, id="a day of a calendar"),
    ],
)
def test_the_first_page_has_no_other_parameters(first: str, is_one: bool) -> None:
    numbered = ((str(number), f"/news?cat=1&page={number}") for number in (2, 3, 4))

    pages = found(("1", first), *numbered, url=f"{LIST}?cat=1&page=3")

    assert (f"https://site.test{first}" in pages.page_urls) is is_one


@pytest.mark.parametrize("query", ["page=2&view=grid", "sort=new&page=2&view=grid&x", "view=grid&page=2"])
def test_a_page_knows_its_number_however_its_query_is_ordered(query: str) -> None:
    """Shops order the parameters of their links differently, and add some."""
    pages = found(("1", "?view=grid&page=1"), ("3", "?view=grid&page=3"), url=f"{LIST}?{query}")

    assert (pages.number, pages.next_url) == (2, f"{LIST}?view=grid&page=3")
    assert pages.previous_url == f"{LIST}?view=grid&page=1"


def test_a_link_to_the_next_ten_pages_is_not_that_to_the_next() -> None:
    pages = found(("1", "?page=1"), *((str(n), f"?page={n}") for n in range(2, 11)), ("다음", "?page=11"))

    assert pages.next_url == f"{LIST}?page=2"
    last = found(*((str(n), f"?page={n}") for n in range(1, 11)), ("다음", "?page=11"), url=f"{LIST}?page=10")
    assert last.next_url == f"{LIST}?page=11"


def test_an_offset_may_be_written_twice() -> None:
    pages = found(("1", "?from=0&at=0"), ("3", "?from=48&at=48"), url=f"{LIST}?from=24&at=24&x=1")

    assert (pages.pattern, pages.number) == (f"{LIST}?from={{N}}&at={{N}}", 2)


def test_ten_thousand_numbers_are_looked_through_soon() -> None:
    """Each number may belong to a pattern of its own."""
    anchors = [(str(n), f"?page={n}&p={n}") for n in range(1, 10_000)]

    pages = assert_cheap(lambda: found(*anchors), yardsticks=300)

    assert pages.pattern == f"{LIST}?page={{N}}&p={{N}}"
