"""strider parser: site parsers are written, found, tested and tried from the command line."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.site_parsers.audit import AuditOptions as Audited
from strider.cli.site_parsers.audit import run_audit
from strider.cli.site_parsers.cases import PageCase, case_differences, case_folder, find_cases, run_cases
from strider.cli.site_parsers.diff import DiffOptions
from strider.cli.site_parsers.inspection import TryOptions, print_installed, try_page
from strider.cli.site_parsers.scaffold import write_package
from strider.sites import ENTRY_POINT_GROUP, Select, load_installed_parsers
from strider.sites.amazon import Amazon
from strider.sites.base import find_declaration_errors


@pytest.mark.req("S4.11.7")
def test_the_example_reads_its_saved_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """Generated pages with the structure of real ones."""
    assert print_installed() == 0
    assert run_cases("amazon", None) == 0
    assert "amazon 1.0: 2 of 2 cases as expected" in capsys.readouterr().out


def test_a_difference_names_attribute_expectation_and_finding() -> None:
    first = next(find_cases(case_folder(Amazon())))
    changed = PageCase(
        first.name, first.url, first.content, {**first.expected, "price": "1.00", "colour": "red"}
    )

    assert case_differences(changed, "amazon", "1.0") == [
        'price: expected "1.00", found "34.99"',
        'colour: expected "red", found null',
    ]


def test_what_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert run_cases("nobody", None) == 2
    assert run_cases("amazon", tmp_path) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            {"selectors": {"name": Select.text("h1 >>> x")}}, "failed, BadSelectorError", id="selector"
        ),
        pytest.param({"required": ("name", "condition")}, "incomplete, without condition", id="incomplete"),
        pytest.param({"refine": None}, "failed, TypeError", id="raises"),
        pytest.param({"paths": "^/nowhere"}, "amazon does not apply to https://", id="other-paths"),
    ],
)
def test_a_case_fails_with_its_parser_though_the_general_one_finds_the_same(
    change: dict[str, object], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a parser that extracts nothing would pass all of its cases."""
    case = next(find_cases(case_folder(Amazon())))
    for name, value in change.items():
        monkeypatch.setattr(Amazon, name, value)

    found = case_differences(case, "amazon", "1.0")

    assert problem in found[0]
    foreseen = PageCase(case.name, case.url, case.content, {"problems": [found[0]]})
    assert case_differences(foreseen, "amazon", "1.0") == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param(("Tea Shop", "tea.test", ""), "'Tea Shop' is not a valid name", id="name"),
        pytest.param(("strider", "tea.test", ""), "the name of the general parser", id="taken"),
        pytest.param(("tea", "https://tea.test/", ""), "'https://tea.test/' is not a domain", id="url"),
        pytest.param(("tea", "müsli.test", ""), "xn--", id="letters"),
        pytest.param(("tea", "tea.test", "a-file"), "Not a directory", id="folder"),
    ],
)
def test_an_unwritable_file_is_reported_in_one_line(
    words: tuple[str, str, str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a-file").touch()
    name, domain, folder = words

    assert write_package(name, domain=domain, folder=tmp_path / folder) == 2
    assert problem in capsys.readouterr().err


def test_no_site_parser_has_the_name_of_the_general_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records and metrics could not tell the two apart."""
    monkeypatch.setattr(Amazon, "name", "strider")

    assert list(find_declaration_errors(Amazon())) == [
        "name is 'strider', which is reserved for the general parser"
    ]


def test_a_page_without_a_site_parser_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.html").write_text("<title>T</title><p>One.")

    assert try_page(TryOptions(str(tmp_path / "page.html"), "https://other.test/")) == 1
    assert "no site parser applies to https://other.test/" in capsys.readouterr().err


def test_an_address_of_a_database_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        run_audit(Audited(dsn="nonsense"))

    assert ended.value.exit_code == 2
    assert "must be an address that begins with postgresql://" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--min-agreement", "--least"])
def test_the_agreement_that_diff_requires_has_two_names(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts with the former name work as before; help shows the present one."""
    wanted: list[float] = []

    def keep(_target: object, options: DiffOptions) -> None:
        wanted.append(options.min_agreement)

    monkeypatch.setattr("strider.cli.site_parsers.diff.run_diff", keep)
    monkeypatch.setattr("strider.cli.connections.run_with_broker", lambda _bootstrap, work: work(None) or 0)

    assert CliRunner().invoke(app, ["parser", "diff", option, "0.98"]).exit_code == 0
    assert wanted == [0.98]
    assert "--least" not in CliRunner().invoke(app, ["parser", "diff", "--help"]).output


def test_a_new_package_is_one_that_can_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package passes every check, and an existing one is not overwritten."""
    assert write_package("tea-shop", domain="tea.test", folder=tmp_path) == 0
    assert write_package("tea-shop", domain="tea.test", folder=tmp_path) == 2
    assert write_package("Tea", domain="tea.test", folder=tmp_path) == 2

    root = tmp_path / "strider-site-tea-shop"
    monkeypatch.syspath_prepend(root)
    found = load_installed_parsers(
        [EntryPoint("tea-shop", "strider_site_tea_shop:TeaShop", ENTRY_POINT_GROUP)]
    )
    own = case_folder(found.parsers[0])
    monkeypatch.delitem(sys.modules, "strider_site_tea_shop")

    assert (found.errors, found.parsers[0].domains) == ((), ("tea.test",))
    (case,) = find_cases(own)
    assert case.url == "https://tea.test/kettle"
    assert own == root / "strider_site_tea_shop" / "cases" / "tea-shop"
    assert case.expected["price"] == "12.50"
