"""List installed site parsers, and try one on a page (`strider parser list`, `try`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Final

from strider.cli.crawl.request import BadCrawlRequest, parse_seed
from strider.cli.exit_codes import CommandExit
from strider.cli.output import fail, json_text, log_to_stderr, print_json, print_listing, print_text, warn
from strider.cli.parse.fields import is_parsed
from strider.cli.parse.page_reader import FULL_LIMITS, open_parsers, read_page
from strider.cli.parse.page_sources import BadPageSource, PageSource, load_page
from strider.cli.parse.single_page_crawl import fetch_page
from strider.contracts.generated.events import PageFetched
from strider.parser.adapters.html_tree.site_selectors import find_broken_selectors
from strider.parser.core import PARSER
from strider.sites import InvalidParserChoice, load_installed_parsers, select_parsers

MAX_VALUE_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class TryOptions:
    """The options of `strider parser try`."""

    page: str
    url: str = ""
    versions: str = ""
    as_json: bool = False
    contact: str = ""
    allow_private: bool = False


def print_installed(*, as_json: bool = False) -> CommandExit:
    """Print the site parsers, and on standard error what is wrong with them; returns the exit code."""
    found = load_installed_parsers()
    rows = [(parser.name, parser.version, " ".join(parser.domains)) for parser in found.parsers]
    print_listing(
        [
            {"name": each.name, "version": each.version, "domains": list(each.domains)}
            for each in found.parsers
        ],
        ("name", "version", "domains"),
        rows,
        as_json=as_json,
        empty="no site parser is installed",
        wrapped=("domains",),
    )
    faults = [*found.errors, *(fault for parser in found.parsers for fault in find_broken_selectors(parser))]
    for fault in faults:
        warn(fault)
    return CommandExit.FAILED if faults else CommandExit.DONE


def try_page(options: TryOptions) -> CommandExit:
    """Print what the site's parser extracts; returns the exit code."""
    log_to_stderr("error")
    try:
        select_parsers(load_installed_parsers().parsers, options.versions)
        fields = asyncio.run(_read(options))
    except (InvalidParserChoice, BadPageSource, BadCrawlRequest) as wrong:
        fail(str(wrong), CommandExit.USAGE)
    result = _page_result(fields)
    if is_parsed(fields) and result["parser"] == PARSER and not result["problems"]:
        warn(f"no site parser applies to {fields['url']}")
    if options.as_json:
        print_json(result, ascii_only=False, indent=2)
    else:
        print_text(_as_text(result))
    is_complete = is_parsed(fields) and result["parser"] != PARSER and not result["problems"]
    return CommandExit.DONE if is_complete else CommandExit.FAILED


async def _read(options: TryOptions) -> dict[str, Any]:
    page = await _load_page(options)
    async with open_parsers(1, replace(FULL_LIMITS, site_parsers=options.versions)) as readers:
        return await read_page(readers, page)


async def _load_page(options: TryOptions) -> PageFetched:
    if options.page.startswith(("http://", "https://")):
        return await fetch_page(
            parse_seed(options.page).wire, contact=options.contact, allow_private=options.allow_private
        )
    return load_page(PageSource(options.page, options.url))


def _page_result(fields: dict[str, Any]) -> dict[str, Any]:
    product = fields["products"][0] if fields["products"] else {}
    return {
        "outcome": fields["outcome"],
        "parser": fields["parser"],
        "parser_version": fields["parser_version"],
        "problems": list(fields["structured_errors"]),
        "product": {name: product[name] for name in product.get("sources", {})},
        "sources": product.get("sources", {}),
        "records": fields["records"],
    }


def _as_text(result: dict[str, Any]) -> str:
    lines = [f"outcome: {result['outcome']}; parser: {result['parser']}, version {result['parser_version']}"]
    lines += [f"  ! {problem}" for problem in result["problems"]]
    lines += [
        f"{_line(name, value)}  ({result['sources'].get(name, '')})"
        for name, value in result["product"].items()
    ]
    lines += [_line(name, value) for name, value in (result["records"] or {}).items()]
    return "\n".join(lines)


def _line(name: str, value: Any) -> str:
    return f"  {name:<16} {json_text(value, ascii_only=False)[:MAX_VALUE_CHARS]}"
