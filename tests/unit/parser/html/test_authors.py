"""Authors by meta elements, structured data, marked elements, lines and links; other text is rejected."""

from __future__ import annotations

import json

import pytest

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.core import ParseLimits
from strider.parser.core.html.authors import clean_name
from strider.parser.core.structured.page_entities import PageEntities, collect_names
from tests.unit.parser import pages

PROSE = "<p>" + "A sentence of an article that goes on for quite a while, as these do. " * 4 + "</p>"
ANN = "Ann Otter"


def author(head: str = "", body: str = "", *, url: str = pages.URL, extraction: str = "main") -> str:
    text = f"<!doctype html><title>T</title>{head}<main><h1>A heading</h1>{body}{PROSE * 6}</main>"
    return pages.read(text, limits=ParseLimits(extraction=ExtractionLevel(extraction)), url=url).author


def data(value: object) -> str:
    return f"<script type=application/ld+json>{json.dumps(value)}</script>"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (ANN, ANN),
        ("  By  Ann\n Otter, ", ANN),
        ("Written by: Ann Otter", ANN),
        ("von Ann Otter", ANN),
        ("Ann Otter <ann@site.test>", ANN),
        ("Ann Otter (ann@site.test)", ANN),
        ("jsteinhardt", "jsteinhardt"),
        ("AccountingDepartment.com", "AccountingDepartment.com"),
        ("Bypass Team", "Bypass Team"),
        ("李小龍", "李小龍"),
        ("https://www.facebook.com/ann", ""),
        ("www.site.test", ""),
        ("@ann", ""),
        ("ann@site.test", ""),
        ("undefined", ""),
        ("page.head.extra.author", ""),
        ("{{ author }}", ""),
        (".css-1cclx50{flex:1}", ""),
        (", USA TODAY", ""),
        ("2024", ""),
        ("", ""),
        ("word " * 60, ""),
    ],
)
def test_text_that_is_not_a_name_is_rejected(value: str, name: str) -> None:
    assert clean_name(value) == name


@pytest.mark.parametrize("extraction", ["basic", "main"])
@pytest.mark.parametrize(
    "head",
    [
        "<meta name=author content='Ann Otter'>",
        "<meta property=article:author content=https://f.test/ann><meta name=byl content='By Ann Otter'>",
        "<meta name=author content=undefined><meta name=parsely-author content='Ann Otter'>",
        "<meta name=twitter:label1 content='Written by'><meta name=twitter:data1 content='Ann Otter'>",
        "<meta name=author content=Name><meta name=author content='Ann Otter'>",
    ],
)
def test_meta_elements_name_the_author_at_every_level(head: str, extraction: str) -> None:
    assert author(head, extraction=extraction) == ANN


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(
            data({"@graph": [{"author": {"@id": "#a"}}, {"@id": "#a", "@type": "Person", "name": ANN}]}),
            id="graph",
        ),
        pytest.param(data({"author": {"givenName": "Ann", "familyName": "Otter"}}), id="parts"),
        pytest.param(data({"review": {"author": {"name": "Bob"}}, "author": ANN}), id="not-of-a-review"),
        pytest.param(data({"creator": [{"name": ANN}]}), id="creator"),
        pytest.param(
            "<meta name=author content='The Site'><meta property=og:site_name content='The Site'>"
            + data({"author": ANN}),
            id="rather-a-person-than-the-site",
        ),
    ],
)
def test_structured_data_names_the_author(head: str) -> None:
    assert author(head) == ANN


@pytest.mark.parametrize(
    "body",
    [
        "<div itemprop=author><style>.a{b:c}</style><b itemprop=name><style>.a{}</style>Ann Otter</b></div>",
        "<a rel=author href=/x>Ann Otter</a>",
        "<p>By Ann Otter</p>",
        "<p>Posted by Ann Otter on March 3, 2024</p>",
        "<p>Von Ann Otter | 3. März 2024</p>",
        "<p><span>By</span><span>Ann Otter</span></p>",
        "<div>Written by</div><div>Ann Otter</div>",
        "<div class=post-author>By <a href=/a>Ann Otter</a> · <span>Editor of things</span></div>",
        "<div class=author-box><h4 class=author-box__name>Ann Otter</h4></div>",
        "<a href=/authors/ann-otter>Ann Otter</a>",
        "<p>By <a href=/staff/1>Ann Otter</a>, Updated today</p>",
    ],
)
def test_elements_lines_and_links_name_the_author(body: str) -> None:
    assert author(body=body) == ANN


def test_a_line_far_from_the_heading_has_to_be_a_certain_byline() -> None:
    assert author(body=PROSE * 12 + "<div>Posted by Ann Otter at noon</div>") == ANN
    assert author(body=PROSE * 12 + "<div>By Ann Otter</div>") == ""


def test_all_who_wrote_it_are_named() -> None:
    assert (
        author(data({"author": [{"name": ANN}, {"name": "Bob Lee"}, {"name": ANN}]})) == "Ann Otter, Bob Lee"
    )
    assert author(body="<p>By Ann Otter and Bob Lee</p>") == "Ann Otter and Bob Lee"


@pytest.mark.parametrize(
    "body",
    [
        "<p>By the time it was done, nobody cared.</p>",
        "<p>Por favor, espere</p>",
        "<div class=comment-author>Ann Otter</div>",
        "<nav><a href=/authors/ann>Ann Otter</a></nav>",
        "<div class=author>all of our authors can be found on this page</div>",
    ],
)
def test_what_only_looks_like_a_byline_is_none(body: str) -> None:
    assert author(body=body) == ""


def test_reviewers_of_a_product_are_not_its_author() -> None:
    head = data({"@type": "Product", "name": "Lamp", "offers": {"price": "3", "priceCurrency": "EUR"}})

    assert (
        author(head, "<div itemprop=author>Martin</div><p>By Ann Otter</p>", url="https://s.test/p/1") == ""
    )


def test_of_a_discussion_it_is_who_began_it() -> None:
    posts = "".join(
        f"<div class=post><a href=/members/{name}.1/>{name}</a>{PROSE}</div>" for name in ("sean_g", "bob")
    )

    assert (
        author("<meta name=generator content=XenForo>", posts, url="https://s.test/threads/a.1/") == "sean_g"
    )


def test_names_without_end_are_read_up_to_a_limit() -> None:
    many = [[[{"@id": f"#{number}"} for number in range(300)]] * 300] * 300
    objects = PageEntities('{"@graph":[{"@id":"#0","name":"Ann"}]}' + "{" * 100_000)

    assert set(filter(None, collect_names(many, objects))) == {"Ann"}
    assert len(collect_names([f"Ann {number}" for number in range(50)])) == 10
    nested: object = "Ann"
    for _ in range(1_000):
        nested = [nested]
    assert collect_names(nested) == []
