"""strider parser test: every case of a parser, and what of it differs."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from strider.sites import SiteParser, load_installed_parsers

from .cases import BadCase, differences, find_cases


def run_cases(name: str, folder: Path | None) -> int:
    """Run the cases of one parser, or of all; gives the exit code."""
    found = load_installed_parsers()
    for fault in found.errors:
        print(f"strider parser: {fault}", file=sys.stderr)
    parsers = [parser for parser in found.parsers if name in {"", parser.name}]
    if not parsers:
        print(f"strider parser test: no site parser is called {name!r}", file=sys.stderr)
        return 2
    try:
        failed = sum(_run(parser, folder or cases_of(parser)) for parser in parsers)
    except BadCase as failure:
        print(f"strider parser test: {failure}", file=sys.stderr)
        return 2
    return 1 if failed or found.errors else 0


def cases_of(parser: SiteParser) -> Path:
    """Give the folder of the cases that come with a parser."""
    return Path(inspect.getfile(type(parser))).parent / "cases" / parser.name


def _run(parser: SiteParser, folder: Path) -> int:
    failed = count = 0
    for count, case in enumerate(find_cases(folder), start=1):  # noqa: B007  # the last number is told
        wrong = differences(case, parser.name, parser.version)
        failed += bool(wrong)
        for line in wrong:
            print(f"{parser.name} {parser.version} {case.name}: {line}")
    told = f"{count - failed} of {count} cases as expected" if count else f"no case in {folder}"
    print(f"{parser.name} {parser.version}: {told}")
    return failed or not count
