"""Saved pages with what is expected of them: a folder for each, with input.html, url.txt and expected.json.

Decides what a difference is: an attribute that was expected and is not as it was, and whatever the site's
parser itself failed at, as the general parser may have found the same all the same. Attributes that nobody
expected are free.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.cli.parsing.showing import told_of
from strider.cli.parsing.sources import fetched
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits

PROBLEMS: Final = "problems"
"""What a case says of a page that its parser is to read in part, or not at all."""


class BadCase(Exception):
    """A case that cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class Case:
    """One saved page."""

    name: str
    url: str
    content: bytes
    expected: Mapping[str, Any]


def find_cases(folder: Path) -> Iterator[Case]:
    """Give the cases of a folder, in the order of their names."""
    for page in sorted(folder.glob("*/input.html")):
        case = page.parent
        try:
            url = (case / "url.txt").read_text(encoding="utf-8").strip()
            expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
            yield Case(case.name, url, page.read_bytes(), expected)
        except (OSError, ValueError) as failure:
            raise BadCase(f"{case}: {failure}") from failure


def differences(case: Case, name: str, version: str) -> list[str]:
    """Read a case by one parser and say what is not as expected; a line each."""
    limits = ParseLimits(extraction="records", site_parsers=f"{name}={version}")
    page = fetched(case.url, case.content, content_type="text/html; charset=utf-8")
    told = told_of(make_reader(limits)(page, page.body))
    product = told["products"][0] if told["products"] else {}
    problems = [text for text in told["structured_errors"] if text.startswith(f"{name} ")]
    if not problems and told["parser"] != name:
        problems = [f"{name} does not read {case.url}"]
    seen = {**(told["records"] or {}), "parser": told["parser"], **product, PROBLEMS: problems}
    said = json.loads(json.dumps(seen))
    unforeseen = problems if PROBLEMS not in case.expected else []
    return unforeseen + [
        f"{name}: expected {_written(wanted)}, found {_written(said.get(name))}"
        for name, wanted in case.expected.items()
        if said.get(name) != wanted
    ]


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
