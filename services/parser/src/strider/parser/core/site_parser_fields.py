"""Turn the result of a site parser into event fields and product attributes.

Takes the texts that its selectors found; parses prices, availability, ratings and URLs like for any other
page. Also attributes each page to the parser and version that read it, for metrics.
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
UNPARSED: Final = "unread"
VERDICTS: Final = (COMPLETE, INCOMPLETE, FAILED, PARSED, UNPARSED)
"""Results per page and parser: the first three are of site parsers, the others of the generic parser."""

_PARSED_OUTCOMES: Final = frozenset({"parsed", "partly_parsed"})


@dataclass(frozen=True, slots=True)
class SiteParserResult:
    """Values that a site parser found on one page."""

    parser: str
    version: str
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Required attributes of the site that this page lacks."""
    failure: str = ""
    """Error message of the parser if it failed."""

    @property
    def verdict(self) -> str:
        """The verdict: complete, incomplete or failed."""
        return FAILED if self.failure else INCOMPLETE if self.missing else COMPLETE

    @property
    def problem(self) -> str:
        """A sentence about what is wrong; empty if nothing is."""
        reason = self.failure or (f"without {', '.join(self.missing)}" if self.missing else "")
        if not reason and len(_records_json(self)) > MAX_RECORDS_BYTES:
            reason = "records too long to travel"
        return f"{self.parser} {self.version}: {self.verdict}, {reason}" if reason else ""


RunSiteParser = Callable[[str, bytes], SiteParserResult | None]
"""Run the site parser for a URL on a UTF-8 document; None if no parser covers the site."""


def no_site_parser(url: str, content: bytes) -> SiteParserResult | None:
    """Return None: no site parser is configured."""
    del url, content
    return None


def site_parser_fields(result: SiteParserResult | None) -> dict[str, Any]:
    """Return the event fields for parser, version and records besides the product."""
    if result is None or result.failure:
        return {}
    text = _records_json(result)
    return {
        "parser": result.parser,
        "parser_version": f"{result.version}+{PARSER_VERSION}",
        "records_json": text if len(text) <= MAX_RECORDS_BYTES else "",
    }


def _records_json(result: SiteParserResult) -> str:
    further = {name: list(texts) for name, texts in result.values.items() if name not in ATTRIBUTES}
    return json.dumps(further, ensure_ascii=False) if further else ""


_COPIED_ATTRIBUTES: Final = ("name", "description", "brand", "sku", "mpn", "condition", "seller")


def site_product_attributes(result: SiteParserResult | None, base: str) -> dict[str, Any]:
    """Return the product attributes of a site parser result; empty if there are none."""
    if result is None or result.failure:
        return {}
    texts_by_name = {name: " ".join(texts[0].split()) for name, texts in result.values.items() if texts}
    price = parse_price(texts_by_name.get("price", ""), country=country_of(base))
    old = parse_price(texts_by_name.get("old_price", ""), country=country_of(base))
    urls = (resolve_url(url, base) for url in result.values.get("image_urls", ()))
    state = texts_by_name.get("availability", "")[:60]
    attributes = {
        **{name: texts_by_name.get(name, "")[:MAX_TEXT_CHARS] for name in _COPIED_ATTRIBUTES},
        "price": price.amount if price else "",
        "currency": parse_currency_field(texts_by_name.get("currency", ""))
        or (price.currency if price else ""),
        "old_price": old.amount if old and price and float(old.amount) > float(price.amount) else "",
        "availability": map_availability(state) or parse_availability(state),
        "rating": parse_rating(texts_by_name.get("rating", "")),
        "review_count": _review_count(texts_by_name.get("review_count", "")),
        "category": " > ".join(" ".join(text.split()) for text in result.values.get("category", ())),
        "gtin": normalize_gtin(texts_by_name.get("gtin", "")),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
    }
    return {name: value for name, value in attributes.items() if value is not None and value not in ("", ())}


_DIGITS: Final = re.compile(r"\d[\d.,\s]{0,12}")


def _review_count(text: str) -> int | None:
    """Return the number of reviews; a selector that found a bare number counts as one."""
    labelled, digits = parse_review_count(text), _DIGITS.search(text)
    return labelled if labelled is not None or digits is None else int(re.sub(r"\D", "", digits[0]))


@dataclass(frozen=True, slots=True)
class ParserAttribution:
    """The parser that read a page, and its verdict; labels of a metric."""

    domain: str
    parser: str
    version: str
    verdict: str


_PROBLEM: Final = re.compile(
    r"(?P<parser>[a-z][a-z0-9-]{1,40}) (?P<version>[\d.]+): (?P<verdict>complete|incomplete|failed), "
)


def attribute_parser(event: PageParsed) -> ParserAttribution:
    """Return which parser read a page; a failed site parser is counted under its own name."""
    domain = registrable_domain(event.group) or event.group
    failed = next((match for text in event.structured_errors if (match := _PROBLEM.match(text))), None)
    if failed is not None:
        return ParserAttribution(
            domain, failed["parser"], f"{failed['version']}+{PARSER_VERSION}", failed["verdict"]
        )
    if event.parser != PARSER:
        return ParserAttribution(domain, event.parser, event.parser_version, COMPLETE)
    return ParserAttribution(
        domain, PARSER, event.parser_version, PARSED if event.outcome in _PARSED_OUTCOMES else UNPARSED
    )


def format_attribution(attribution: ParserAttribution) -> str:
    """Return the attribution as one string, for the worker protocol."""
    return f"{attribution.domain}|{attribution.parser}|{attribution.version}|{attribution.verdict}"


@lru_cache(maxsize=1_024)
def parse_attribution(text: str) -> ParserAttribution | None:
    """Parse such a string; None if it is invalid."""
    parts = text.split("|")
    return ParserAttribution(*parts) if len(parts) == len(ParserAttribution.__slots__) else None
