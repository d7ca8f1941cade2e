"""strider parser try: one page, as its site's parser reads it."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, replace
from typing import Any, Final

from strider.cli.embedded.wish import BadWish, read_seed
from strider.cli.parsing.fetching import fetch
from strider.cli.parsing.reading import FULL, open_reader, read_page
from strider.cli.parsing.showing import is_read
from strider.cli.parsing.sources import BadSource, Source, page_of
from strider.contracts.generated.events import PageFetched
from strider.parser.core import PARSER
from strider.runtime.observability.logging import configure_logs
from strider.sites import InvalidParserChoice, load_installed_parsers, select_parsers

MAX_VALUE_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line."""

    page: str
    url: str = ""
    versions: str = ""
    as_json: bool = False
    contact: str = ""
    allow_private: bool = False


def try_one(asked: Asked) -> int:
    """Show what is found; gives the exit code."""
    configure_logs("parser-try", stream=sys.stderr, level="error", console=True)
    try:
        select_parsers(load_installed_parsers().parsers, asked.versions)
        told = asyncio.run(_read(asked))
    except (InvalidParserChoice, BadSource, BadWish) as wrong:
        print(f"strider parser try: {wrong}", file=sys.stderr)
        return 2
    seen = _seen(told)
    if is_read(told) and seen["parser"] == PARSER and not seen["problems"]:
        print(f"strider parser try: no site parser reads {told['url']}", file=sys.stderr)
    print(json.dumps(seen, ensure_ascii=False, indent=2) if asked.as_json else _as_text(seen))
    return 0 if is_read(told) and seen["parser"] != PARSER and not seen["problems"] else 1


async def _read(asked: Asked) -> dict[str, Any]:
    page = await _page(asked)
    async with open_reader(1, replace(FULL, site_parsers=asked.versions)) as readers:
        return await read_page(readers, page)


async def _page(asked: Asked) -> PageFetched:
    if asked.page.startswith(("http://", "https://")):
        return await fetch(read_seed(asked.page), contact=asked.contact, allow_private=asked.allow_private)
    return page_of(Source(asked.page, asked.url))


def _seen(told: dict[str, Any]) -> dict[str, Any]:
    product = told["products"][0] if told["products"] else {}
    return {
        "outcome": told["outcome"],
        "parser": told["parser"],
        "parser_version": told["parser_version"],
        "problems": list(told["structured_errors"]),
        "product": {name: product[name] for name in product.get("sources", {})},
        "sources": product.get("sources", {}),
        "records": told["records"],
    }


def _as_text(seen: dict[str, Any]) -> str:
    lines = [f"{seen['parser']} {seen['parser_version']}: {seen['outcome']}"]
    lines += [f"  ! {problem}" for problem in seen["problems"]]
    lines += [
        f"{_line(name, value)}  ({seen['sources'].get(name, '')})" for name, value in seen["product"].items()
    ]
    lines += [_line(name, value) for name, value in (seen["records"] or {}).items()]
    return "\n".join(lines)


def _line(name: str, value: Any) -> str:
    return f"  {name:<16} {json.dumps(value, ensure_ascii=False)[:MAX_VALUE_CHARS]}"
