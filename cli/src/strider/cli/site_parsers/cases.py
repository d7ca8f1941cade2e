"""Test cases of site parsers: folders with input.html, url.txt and expected.json.

Decides what a difference is: an expected field with another value, and every problem of the site's parser
itself, as the general parser may have found the same value. Fields that are not expected are not compared.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.cli.arguments import file_error, unknown_name
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, json_text, print_text, warn
from strider.cli.parse.fields import page_fields
from strider.cli.parse.page_sources import fetched_event
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from strider.sites import SiteParser, load_installed_parsers

PROBLEMS: Final = "problems"
"""Field of expected.json for a page that the parser is to parse in part, or not at all."""


class BadCase(Exception):
    """A case that cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class PageCase:
    """One saved page, and its expected fields."""

    name: str
    url: str
    content: bytes
    expected: Mapping[str, Any]


def find_cases(folder: Path) -> Iterator[PageCase]:
    """Return the cases of a folder, in the order of their names."""
    for page in sorted(folder.glob("*/input.html")):
        case = page.parent
        try:
            url = (case / "url.txt").read_text(encoding="utf-8").strip()
            expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
            yield PageCase(case.name, url, page.read_bytes(), expected)
        except (OSError, ValueError) as failure:
            raise BadCase(file_error(case, failure)) from failure


def case_differences(case: PageCase, name: str, version: str) -> list[str]:
    """Parse a case with one parser; returns one line for each difference."""
    limits = ParseLimits(extraction="records", site_parsers=f"{name}={version}")
    page = fetched_event(case.url, case.content, content_type="text/html; charset=utf-8")
    fields = page_fields(make_reader(limits)(page, page.body))
    product = fields["products"][0] if fields["products"] else {}
    problems = [text for text in fields["structured_errors"] if text.startswith(f"{name} ")]
    if not problems and fields["parser"] != name:
        problems = [f"{name} does not apply to {case.url}"]
    found = {**(fields["records"] or {}), "parser": fields["parser"], **product, PROBLEMS: problems}
    actual = json.loads(json_text(found))
    unforeseen = problems if PROBLEMS not in case.expected else []
    return unforeseen + [
        f"{name}: expected {json_text(wanted, ascii_only=False)}, "
        f"found {json_text(actual.get(name), ascii_only=False)}"
        for name, wanted in case.expected.items()
        if actual.get(name) != wanted
    ]


def run_cases(name: str, folder: Path | None) -> CommandExit:
    """Run the cases of one parser, or of all; returns the exit code."""
    found = load_installed_parsers()
    for fault in found.errors:
        warn(fault)
    parsers = [parser for parser in found.parsers if name in {"", parser.name}]
    if not parsers:
        warn(unknown_name("site parser", name, [parser.name for parser in found.parsers]))
        return CommandExit.USAGE
    try:
        failed = sum(_run(parser, folder or case_folder(parser)) for parser in parsers)
    except BadCase as failure:
        warn(str(failure))
        return CommandExit.USAGE
    return CommandExit.FAILED if failed or found.errors else CommandExit.DONE


def case_folder(parser: SiteParser) -> Path:
    """Return the folder of the cases that are installed with a parser."""
    return Path(inspect.getfile(type(parser))).parent / "cases" / parser.name


def _run(parser: SiteParser, folder: Path) -> int:
    failed = count = 0
    for count, case in enumerate(find_cases(folder), start=1):  # noqa: B007  # the last number is the count
        wrong = case_differences(case, parser.name, parser.version)
        failed += bool(wrong)
        for line in wrong:
            print_text(f"{parser.name} {parser.version} {case.name}: {line}")
    result = f"{count - failed} of {counted(count, 'case')} as expected" if count else f"no case in {folder}"
    print_text(f"{parser.name} {parser.version}: {result}")
    return failed or not count
