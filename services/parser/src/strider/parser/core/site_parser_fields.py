"""What does a site parser's page say?

Takes the texts that its selectors found; reads prices, states, ratings and addresses from them as for every
other page. Says which parser read, in which version, and whether it found what every page of its site has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from strider.contracts.generated.events import PageParsed
from strider.sites import ATTRIBUTES
from strider.urls import registrable_domain

from .html.metadata import resolve_url
from .products.commerce_vocabulary import parse_availability, parse_rating, parse_review_count
from .products.offers import MAX_TEXT_CHARS, map_availability, normalize_gtin
from .products.prices import country_of, parse_currency_field, parse_price
from .unreadable_pages import PARSER, PARSER_VERSION

MAX_RECORDS_BYTES: Final = 64 * 1024

COMPLETE: Final = "complete"
INCOMPLETE: Final = "incomplete"
FAILED: Final = "failed"
PARSED: Final = "read"
UNREAD: Final = "unread"
VERDICTS: Final = (COMPLETE, INCOMPLETE, FAILED, PARSED, UNREAD)
"""What came of a page for its parser: the first three of site parsers, the others of the general one."""

_READ: Final = frozenset({"parsed", "partly_parsed"})


@dataclass(frozen=True, slots=True)
class SiteParserResult:
    """What a site parser found on one page."""

    parser: str
    version: str
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """What every page of the site has, and this one has not."""
    failure: str = ""
    """Why nothing was found: the parser's own failure."""

    @property
    def verdict(self) -> str:
        """Say what came of it."""
        return FAILED if self.failure else INCOMPLETE if self.missing else COMPLETE

    @property
    def problem(self) -> str:
        """Say in words what is wrong; empty where nothing is."""
        why = self.failure or (f"without {', '.join(self.missing)}" if self.missing else "")
        if not why and len(_further(self)) > MAX_RECORDS_BYTES:
            why = "records too long to travel"
        return f"{self.parser} {self.version}: {self.verdict}, {why}" if why else ""


RunSiteParser = Callable[[str, bytes], SiteParserResult | None]
"""Takes a page's URL and its document in UTF-8; None where the page is of no site that has a parser."""


def no_site_parser(url: str, content: bytes) -> SiteParserResult | None:
    """Read nothing: no parser is chosen for any site."""
    del url, content
    return None


def site_parser_fields(result: SiteParserResult | None) -> dict[str, Any]:
    """Write who read the page, and what was found besides its product."""
    if result is None or result.failure:
        return {}
    text = _further(result)
    return {
        "parser": result.parser,
        "parser_version": f"{result.version}+{PARSER_VERSION}",
        "records_json": text if len(text) <= MAX_RECORDS_BYTES else "",
    }


def _further(reading: SiteParserResult) -> str:
    further = {name: list(texts) for name, texts in reading.values.items() if name not in ATTRIBUTES}
    return json.dumps(further, ensure_ascii=False) if further else ""


def product_of(reading: SiteParserResult | None, base: str) -> dict[str, Any]:
    """Give the attributes of the product; empty where there is none."""
    if reading is None or reading.failure:
        return {}
    said = {name: " ".join(texts[0].split()) for name, texts in reading.values.items() if texts}
    price = parse_price(said.get("price", ""), country=country_of(base))
    old = parse_price(said.get("old_price", ""), country=country_of(base))
    urls = (resolve_url(url, base) for url in reading.values.get("image_urls", ()))
    state = said.get("availability", "")[:60]
    attributes = {
        **{name: said.get(name, "")[:MAX_TEXT_CHARS] for name in _AS_THEY_ARE},
        "price": price.amount if price else "",
        "currency": parse_currency_field(said.get("currency", "")) or (price.currency if price else ""),
        "old_price": old.amount if old and price and float(old.amount) > float(price.amount) else "",
        "availability": map_availability(state) or parse_availability(state),
        "rating": parse_rating(said.get("rating", "")),
        "review_count": _count(said.get("review_count", "")),
        "category": " > ".join(" ".join(text.split()) for text in reading.values.get("category", ())),
        "gtin": normalize_gtin(said.get("gtin", "")),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
    }
    return {name: value for name, value in attributes.items() if value is not None and value not in ("", ())}


def _count(text: str) -> int | None:
    """Count reviews; a selector that found a number alone has found it."""
    said, digits = parse_review_count(text), _DIGITS.search(text)
    return said if said is not None or digits is None else int(re.sub(r"\D", "", digits[0]))


_DIGITS: Final = re.compile(r"\d[\d.,\s]{0,12}")
_AS_THEY_ARE: Final = ("name", "description", "brand", "sku", "mpn", "condition", "seller")


@dataclass(frozen=True, slots=True)
class ParserAttribution:
    """Who read a page, for counting."""

    domain: str
    parser: str
    version: str
    verdict: str


def attribute_parser(event: PageParsed) -> ParserAttribution:
    """Say who read a page and what came of it; a site parser's failure counts as its own."""
    domain = registrable_domain(event.group) or event.group
    failed = next((match for text in event.structured_errors if (match := _PROBLEM.match(text))), None)
    if failed is not None:
        return ParserAttribution(
            domain, failed["parser"], f"{failed['version']}+{PARSER_VERSION}", failed["verdict"]
        )
    if event.parser != PARSER:
        return ParserAttribution(domain, event.parser, event.parser_version, COMPLETE)
    return ParserAttribution(
        domain, PARSER, event.parser_version, PARSED if event.outcome in _READ else UNREAD
    )


def format_attribution(attribution: ParserAttribution) -> str:
    """Write it as one word, as it passes from a worker to its parser."""
    return f"{attribution.domain}|{attribution.parser}|{attribution.version}|{attribution.verdict}"


@lru_cache(maxsize=1_024)
def parse_attribution(text: str) -> ParserAttribution | None:
    """Read such a word; None for what is none."""
    parts = text.split("|")
    return ParserAttribution(*parts) if len(parts) == len(ParserAttribution.__slots__) else None


_PROBLEM: Final = re.compile(
    r"(?P<parser>[a-z][a-z0-9-]{1,40}) (?P<version>[\d.]+): (?P<verdict>complete|incomplete|failed), "
)
