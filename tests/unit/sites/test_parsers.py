"""Declarations, discovery and selection of site parsers."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from strider.sites import (
    ENTRY_POINT_GROUP,
    InstalledParsers,
    InvalidParserChoice,
    Select,
    SiteParser,
    find_declaration_errors,
    load_installed_parsers,
    select_parsers,
)
from strider.sites.amazon import Amazon


class Shop(SiteParser):
    """A parser for tests."""

    name = "shop"
    version = "1.2"
    domains = ("shop.test",)
    selectors = {"name": Select.text("h1")}  # noqa: RUF012  # as people write it


class NewShop(Shop):
    """A newer version of it."""

    version = "1.10"


class Books(Shop):
    """A parser for one subdomain."""

    name = "books"
    domains = ("books.shop.test",)
    paths = r"^/b/\d+"


class Broken(Shop):
    """A parser that cannot be created."""

    def __init__(self) -> None:
        raise OSError("no such table")


TEXT = str
"""A class that is not a parser."""


def point(name: str, kind: type[Any]) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{kind.__name__}", ENTRY_POINT_GROUP)


@pytest.mark.req("S4.11.7")
def test_the_example_is_found_by_its_entry_point() -> None:
    found = load_installed_parsers()

    assert found.errors == ()
    assert [(parser.name, parser.version) for parser in found.parsers] == [("amazon", "1.0")]
    assert list(find_declaration_errors(Amazon())) == []


def test_an_unusable_site_parser_is_reported_and_costs_no_other() -> None:
    found = load_installed_parsers(
        [
            point("broken", Broken),
            EntryPoint("text", f"{__name__}:TEXT", ENTRY_POINT_GROUP),
            point("shop", Shop),
        ]
    )

    assert [parser.name for parser in found.parsers] == ["shop"]
    assert found.errors == ("broken: OSError: no such table", "text is not a SiteParser")
    assert load_installed_parsers([]) == InstalledParsers()


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        pytest.param({"name": "A Shop"}, "name is 'A Shop'", id="name"),
        pytest.param({"version": "new"}, "version is 'new'", id="version"),
        pytest.param({"domains": ("shop",)}, "domains are ('shop',)", id="domain"),
        pytest.param(
            {"required": ("colour",)}, "it requires 'colour', for which it has no selector", id="required"
        ),
        pytest.param(
            {"selectors": {}}, "selectors are missing, or one of them names no element", id="selectors"
        ),
    ],
)
def test_unreadable_declarations_are_reported(changed: dict[str, Any], fault: str) -> None:
    parser = type("Changed", (Shop,), changed)()

    assert list(find_declaration_errors(parser)) == [fault]


@pytest.mark.req("S4.7.4", "S3.21.10")
@pytest.mark.parametrize(
    ("url", "wanted", "expected"),
    [
        pytest.param("https://www.shop.test/x", "", ("shop", "1.10"), id="newest"),
        pytest.param("https://shop.test/x", "shop=1.2", ("shop", "1.2"), id="named"),
        pytest.param("https://shop.test/x", "shop=off", None, id="off"),
        pytest.param("https://books.shop.test/b/7", "", ("books", "1.2"), id="most-exact-domain"),
        pytest.param("https://books.shop.test/about", "", ("shop", "1.10"), id="another-path"),
        pytest.param("https://shop.test.example/x", "", None, id="another-site"),
    ],
)
def test_one_version_reads_a_site(url: str, wanted: str, expected: tuple[str, str] | None) -> None:
    chosen = select_parsers((Shop(), NewShop(), Books()), wanted).parser_for(url)

    assert (chosen and (chosen.name, chosen.version)) == expected


@pytest.mark.parametrize(
    ("wanted", "why"),
    [("other=1", "named 'other'"), ("shop=9", "only 1.2, 1.10"), ("shop", "expected name=version")],
)
def test_a_choice_that_cannot_be_kept_is_refused(wanted: str, why: str) -> None:
    with pytest.raises(InvalidParserChoice, match=why):
        select_parsers((Shop(), NewShop()), wanted)
