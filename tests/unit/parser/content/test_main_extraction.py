"""Authors and publishers in structured data, in all common forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from tests.unit.parser import pages

ANN = "Ann Otter"


def read(text: str) -> PageParsed:
    return pages.read(text, limits=ParseLimits(extraction=ExtractionLevel.RECORDS))


def page(**data: Any) -> str:
    return with_data(json.dumps({"@type": "NewsArticle", **data}))


def with_data(data: str) -> str:
    return f"<title>t</title><script type=application/ld+json>{data}</script><p>Some text.</p>"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(ANN, id="text"),
        pytest.param({"@type": "Organization", "name": ANN}, id="object"),
        pytest.param({"logo": {"@type": "ImageObject", "name": "logo"}, "name": ANN}, id="object-in-front"),
        pytest.param([{"name": ANN}], id="list-of-objects"),
        pytest.param([ANN], id="list-of-texts"),
        pytest.param({"name": [f" {ANN}\n"]}, id="list-within"),
    ],
)
@pytest.mark.parametrize("field", ["author", "publisher"])
def test_a_name_is_a_text_an_object_or_a_list(field: str, value: Any) -> None:
    found = read(page(**{field: value}))

    assert (found.author if field == "author" else found.site_name) == ANN
    assert json.loads(found.structured_json)[0]["items"][0][field] == value


def test_of_several_publishers_the_first_is_the_sites_name() -> None:
    found = read(page(publisher=[{"name": ANN}, {"name": "Bob"}], author=[ANN, "Bob"]))

    assert (found.site_name, found.author) == (ANN, f"{ANN}, Bob")


def test_escapes_of_json_are_read() -> None:
    assert read(with_data(r'{"author": {"name": "Jos\u00e9 \"Pepe\" P\/"}}')).author == 'José "Pepe" P/'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param('{"author": {"name": "Cut', "", id="cut-off"),
        pytest.param('{"author": {name: 1}, "b": {"author": "Ann"}}', "Ann", id="the-next-is-whole"),
        pytest.param('{"author": ' + "[" * 50_000, "", id="nested-without-end"),
        pytest.param('{"author": 17, "publisher": null}', "", id="no-names"),
        pytest.param('{"author": ""}', "", id="empty"),
    ],
)
def test_what_is_broken_costs_nothing_else(data: str, expected: str) -> None:
    found = read(with_data(data))

    assert (found.author, found.site_name, found.outcome) == (expected, "", "parsed")


def test_meta_elements_take_precedence() -> None:
    head = "<meta name=author content=Head><meta property=og:site_name content=Site>"

    found = read(head + page(author="Data", publisher="Data"))

    assert (found.author, found.site_name) == ("Head", "Site")


@pytest.mark.parametrize("field", ["author", "publisher"])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            lambda field: {
                "@graph": [
                    {"@type": "Article", field: {"@id": "#a"}},
                    {"@id": "#a", "@type": "Person", "name": ANN},
                ]
            },
            id="elsewhere-in-the-graph",
        ),
        pytest.param(
            lambda field: [{"@id": "#b"}, {"x": [{"@id": "#a", "name": ANN}]}, {field: [{"@id": "#a"}]}],
            id="in-another-block",
        ),
        pytest.param(lambda field: {field: {"givenName": "Ann", "familyName": "Otter"}}, id="in-two-parts"),
        pytest.param(
            lambda field: {field: {"name": {"@value": ANN, "@language": "en"}}}, id="with-a-language"
        ),
        pytest.param(lambda field: {field: "Ann &#79;tter"}, id="with-entities"),
        pytest.param(
            lambda field: {
                "@type": "NewsArticle",
                "comment": [{field: {"name": "Commenter"}}],
                "isPartOf": {field: "Series"},
                field: ANN,
            },
            id="not-who-commented",
        ),
    ],
)
def test_the_author_is_that_of_the_pages_own_entities(data: Any, field: str) -> None:
    """Most blog plug-ins name authors and publishers by reference only."""
    found = read(with_data(json.dumps(data(field))))

    assert (found.author if field == "author" else found.site_name) == ANN


def test_who_reviews_a_product_is_not_the_author_of_its_page() -> None:
    data = {"@type": "Product", "name": "Anvil", "review": [{"author": {"name": "Bob"}}]}

    assert read(with_data(json.dumps(data))).author == ""


def test_references_that_lead_in_circles_end() -> None:
    data = [
        {"author": {"@id": "#a"}},
        {"@id": "#a", "name": {"@id": "#b"}},
        {"@id": "#b", "name": {"@id": "#a"}},
    ]

    assert read(with_data(json.dumps(data))).outcome == "parsed"
