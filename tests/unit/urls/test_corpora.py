"""Public URL collections: each entry gives the expected result or is a listed difference."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import ada_url
import pytest

from strider.urls import RefusedUrl, UrlKeyRules, to_wire_url, url_key_of_text
from strider.urls.wire_url import strip_wire_url

from .corpus_differences import BEGIN, END, PAGE, listed, render

CORPORA = Path(__file__).parents[4] / "shared" / "corpora" / "url"

pytestmark = pytest.mark.skipif(not CORPORA.is_dir(), reason="../shared/corpora/url is not here")


def _rows(name: str) -> Iterator[list[str]]:
    for line in (CORPORA / name).read_text(encoding="utf-8").split("\n"):
        if line.strip() and not line.startswith("#"):
            yield [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]


def _cases(name: str) -> list[dict[str, str | None]]:
    entries = json.loads((CORPORA / name).read_text(encoding="utf-8"))
    return [entry for entry in entries if isinstance(entry, dict)]


def _wanted(case: dict[str, str | None]) -> str | RefusedUrl:
    """Convert a WHATWG result to a wire URL: no userinfo or fragment, http and https only."""
    if case.get("failure"):
        return RefusedUrl("bad_url")
    if case["protocol"] not in {"http:", "https:"}:
        return RefusedUrl("refused_scheme")
    mark = "?" if not case["search"] and str(case["href"]).partition("#")[0].endswith("?") else ""
    return f"{case['protocol']}//{case['host']}{case['pathname']}{case['search']}{mark}"


def _is_same(got: str | RefusedUrl, wanted: str | RefusedUrl) -> bool:
    if isinstance(got, RefusedUrl) and isinstance(wanted, RefusedUrl):
        return got.reason == wanted.reason
    return got == wanted


@pytest.mark.fault("S3")
@pytest.mark.req("S3.9.7")
def test_the_results_equal_those_of_whatwg() -> None:
    """Browsers parse like this, so pages are written like this."""
    cases = _cases("urltestdata.json")
    different = {
        case["input"]
        for case in cases
        if not _is_same(to_wire_url(case["input"], case.get("base")), _wanted(case))
    }

    assert len(cases) > 800
    assert different == listed("urltestdata.json")


def test_international_names_come_out_as_whatwg_has_them() -> None:
    """Two spellings of a name must be one host, and other names another host."""
    cases = _cases("toascii.json")
    different = set()
    for case in cases:
        wanted = RefusedUrl("bad_url") if case["output"] is None else f"https://{case['output']}/x"
        if not _is_same(to_wire_url(f"https://{case['input']}/x"), wanted):
            different.add(case["input"])

    assert len(cases) > 80
    assert different == listed("toascii.json")


@pytest.mark.req("S3.10.1", "S3.10.2", "S3.10.3", "S3.10.4", "S3.10.7")
def test_normal_forms_agree_where_the_rules_do() -> None:
    """Another crawler's normal form; here the trailing slash is kept as it does."""
    rules = UrlKeyRules(drop_trailing_slash=False)
    rows = list(_rows("weirdToNormalizedUrls.csv"))
    different = {row[0] for row in rows if url_key_of_text(row[0], rules=rules) != row[1]}

    assert len(rows) > 90
    assert different == listed("weirdToNormalizedUrls.csv")


@pytest.mark.fault("S3")
def test_broken_urls_are_refused() -> None:
    """Never an exception: a page may link to anything."""
    answers = [to_wire_url(row[0]) for row in _rows("invalidUrls.csv")]

    assert answers == [RefusedUrl("bad_url"), RefusedUrl("bad_url")]


@pytest.mark.req("S3.9.7")
def test_relative_links_resolve_as_expected() -> None:
    """Most links of a page are relative to it."""
    rows = list(_rows("url-resolve.csv"))
    different = {row[0] for row in rows if to_wire_url(row[0], row[1] or None) != row[2]}

    assert len(rows) > 20
    assert different == listed("url-resolve.csv")


def test_a_second_parser_agrees() -> None:
    """The same standard in another implementation: differences would also be differences from browsers."""
    answers, seconds = [], []
    for case in _cases("urltestdata.json"):
        found = to_wire_url(str(case["input"]), case.get("base"))
        if isinstance(found, RefusedUrl) or str(case["input"]) in listed("urltestdata.json"):
            continue
        base = case.get("base")
        second = ada_url.URL(str(case["input"]), base=base) if base else ada_url.URL(str(case["input"]))
        answers.append(found)
        seconds.append(strip_wire_url(second.href))

    assert len(answers) > 200
    assert answers == seconds


def test_the_page_lists_the_differences() -> None:
    """The docs contain the list that is tested."""
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]

    assert shown == render()
