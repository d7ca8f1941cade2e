"""RDFa and microdata of pages: the corpus of extruct with its expectations.

The own code reads them from the tree that is made for each page anyway, so its time is that of a whole page;
extruct makes a tree of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from tests.integration.parser.test_corpora import in_any_order
from tests.unit.parser.pages import a_page

from .comparison import OWN, Candidate, Case, Read, Task

STRUCTURED: Final = Path(__file__).parents[4] / "shared" / "corpora" / "structured"
URL: Final = "http://www.example.com/index.html"
SUBJECT: Final = b'<p vocab="http://schema.org/" typeof="A"><b property="name">x</b></p>'


def _own() -> Read:
    read_page = make_reader(ParseLimits(extraction="records"))

    def read(content: bytes) -> list[Any]:
        groups = json.loads(read_page(a_page(content, url=URL), content).structured_json or "[]")
        return next((group["items"] for group in groups if group["format"] == "rdfa"), [])

    return read


def _extruct() -> Read:
    from extruct import extract  # noqa: PLC0415  # optional

    def read(content: bytes) -> list[Any]:
        found = extract(content.decode("utf-8", "replace"), base_url=URL, syntaxes=["rdfa", "microdata"])
        return list(found["rdfa"])

    return read


def _cases() -> list[Case]:
    cases = []
    for path in sorted(STRUCTURED.glob("w*/*.expanded.json")):
        wanted = in_any_order(json.loads(path.read_text(encoding="utf-8")))
        content = path.with_name(path.name.replace(".expanded.json", ".html")).read_bytes()
        cases.append(Case(content, lambda found, wanted=wanted: in_any_order(found) == wanted))
    return cases


def rdfa() -> Task:
    """Pages to the subjects of their RDFa, in any order."""
    return Task(
        "RDFa, with microdata read in the same run",
        [Candidate(f"{OWN}, whole page", "", _own), Candidate("extruct", "extruct", _extruct)],
        _cases(),
        {
            "1,500 nested items": b'<div itemscope itemprop="a">' * 1_500,
            "20,000 subjects": SUBJECT * 20_000,
        },
    )
