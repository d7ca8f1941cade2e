"""strider parser: parsers for single sites are written, found, tested and tried from the command line."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from strider.cli.siteparsers.cases import Case, differences, find_cases
from strider.cli.siteparsers.listing import show_installed
from strider.cli.siteparsers.testing import cases_of, run_cases
from strider.cli.siteparsers.writing import write_package
from strider.sites import GROUP, find_parsers
from strider.sites.amazon import Amazon


@pytest.mark.req("S4.11.7")
def test_the_example_reads_its_saved_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """Pages of our own making that have the structure of the real ones."""
    assert show_installed() == 0
    assert run_cases("amazon", None) == 0
    assert "amazon 1.0: 2 of 2 cases as expected" in capsys.readouterr().out


def test_a_difference_names_attribute_expectation_and_finding() -> None:
    first = next(find_cases(cases_of(Amazon())))
    changed = Case(first.name, first.url, first.content, {**first.expected, "price": "1.00", "colour": "red"})

    assert differences(changed, "") == [
        'price: expected "1.00", found "34.99"',
        'colour: expected "red", found null',
    ]


def test_what_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert run_cases("nobody", None) == 2
    assert run_cases("amazon", tmp_path) == 1


def test_a_new_package_is_one_that_can_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `new` writes passes every check, and nobody's work is written over."""
    assert write_package("tea-shop", domain="tea.test", folder=tmp_path) == 0
    assert write_package("tea-shop", domain="tea.test", folder=tmp_path) == 2
    assert write_package("Tea", domain="tea.test", folder=tmp_path) == 2

    root = tmp_path / "strider-site-tea-shop"
    monkeypatch.syspath_prepend(root)
    found = find_parsers([EntryPoint("tea-shop", "strider_site_tea_shop:TeaShop", GROUP)])
    own = cases_of(found.parsers[0])
    monkeypatch.delitem(sys.modules, "strider_site_tea_shop")

    assert (found.faults, found.parsers[0].domains) == ((), ("tea.test",))
    (case,) = find_cases(own)
    assert case.url == "https://tea.test/kettle"
    assert own == root / "strider_site_tea_shop" / "cases" / "tea-shop"
    assert case.expected["price"] == "12.50"
