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

from .metadata import resolve
from .offers import MAX_TEXT_CHARS, as_gtin, state_named
from .outcomes import PARSER, PARSER_VERSION
from .prices import as_currency, country_of, read_price
from .shopwords import rating_in, reviews_in, state_of

MAX_RECORDS_BYTES: Final = 64 * 1024

COMPLETE: Final = "complete"
INCOMPLETE: Final = "incomplete"
FAILED: Final = "failed"
READ: Final = "read"
UNREAD: Final = "unread"
VERDICTS: Final = (COMPLETE, INCOMPLETE, FAILED, READ, UNREAD)
"""What came of a page for its parser: the first three of site parsers, the others of the general one."""

_READ: Final = frozenset({"parsed", "partly_parsed"})


@dataclass(frozen=True, slots=True)
class SiteReading:
    """What a site parser found on one page."""

    parser: str
    version: str
    found: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """What every page of the site has, and this one has not."""
    fault: str = ""
    """Why nothing was found: the parser's own failure."""

    @property
    def verdict(self) -> str:
        """Say what came of it."""
        return FAILED if self.fault else INCOMPLETE if self.missing else COMPLETE

    @property
    def problem(self) -> str:
        """Say in words what is wrong; empty where nothing is."""
        why = self.fault or (f"without {', '.join(self.missing)}" if self.missing else "")
        if not why and len(_further(self)) > MAX_RECORDS_BYTES:
            why = "records too long to travel"
        return f"{self.parser} {self.version}: {self.verdict}, {why}" if why else ""


ReadSite = Callable[[str, bytes], SiteReading | None]
"""Takes a page's URL and its document in UTF-8; None where the page is of no site that has a parser."""


def no_site(url: str, content: bytes) -> SiteReading | None:
    """Read nothing: no parser is chosen for any site."""
    del url, content
    return None


def of_site(reading: SiteReading | None) -> dict[str, Any]:
    """Write who read the page, and what was found besides its product."""
    if reading is None or reading.fault:
        return {}
    text = _further(reading)
    return {
        "parser": reading.parser,
        "parser_version": f"{reading.version}+{PARSER_VERSION}",
        "records_json": text if len(text) <= MAX_RECORDS_BYTES else "",
    }


def _further(reading: SiteReading) -> str:
    further = {name: list(texts) for name, texts in reading.found.items() if name not in ATTRIBUTES}
    return json.dumps(further, ensure_ascii=False) if further else ""


def product_of(reading: SiteReading | None, base: str) -> dict[str, Any]:
    """Give the attributes of the product; empty where there is none."""
    if reading is None or reading.fault:
        return {}
    said = {name: " ".join(texts[0].split()) for name, texts in reading.found.items() if texts}
    price = read_price(said.get("price", ""), country=country_of(base))
    old = read_price(said.get("old_price", ""), country=country_of(base))
    urls = (resolve(url, base) for url in reading.found.get("image_urls", ()))
    state = said.get("availability", "")[:60]
    attributes = {
        **{name: said.get(name, "")[:MAX_TEXT_CHARS] for name in _AS_THEY_ARE},
        "price": price.amount if price else "",
        "currency": as_currency(said.get("currency", "")) or (price.currency if price else ""),
        "old_price": old.amount if old and price and float(old.amount) > float(price.amount) else "",
        "availability": state_named(state) or state_of(state),
        "rating": rating_in(said.get("rating", "")),
        "review_count": _count(said.get("review_count", "")),
        "category": " > ".join(" ".join(text.split()) for text in reading.found.get("category", ())),
        "gtin": as_gtin(said.get("gtin", "")),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
    }
    return {name: value for name, value in attributes.items() if value is not None and value not in ("", ())}


def _count(text: str) -> int | None:
    """Count reviews; a selector that found a number alone has found it."""
    said, digits = reviews_in(text), _DIGITS.search(text)
    return said if said is not None or digits is None else int(re.sub(r"\D", "", digits[0]))


_DIGITS: Final = re.compile(r"\d[\d.,\s]{0,12}")
_AS_THEY_ARE: Final = ("name", "description", "brand", "sku", "mpn", "condition", "seller")


@dataclass(frozen=True, slots=True)
class Reader:
    """Who read a page, for counting."""

    domain: str
    parser: str
    version: str
    verdict: str


def reader_of(event: PageParsed) -> Reader:
    """Say who read a page and what came of it; a site parser's failure counts as its own."""
    domain = registrable_domain(event.group) or event.group
    failed = next((match for text in event.structured_errors if (match := _FAULT.match(text))), None)
    if failed is not None:
        return Reader(domain, failed["parser"], f"{failed['version']}+{PARSER_VERSION}", failed["verdict"])
    if event.parser != PARSER:
        return Reader(domain, event.parser, event.parser_version, COMPLETE)
    return Reader(domain, PARSER, event.parser_version, READ if event.outcome in _READ else UNREAD)


def write_reader(reader: Reader) -> str:
    """Write it as one word, as it passes from a worker to its parser."""
    return f"{reader.domain}|{reader.parser}|{reader.version}|{reader.verdict}"


@lru_cache(maxsize=1_024)
def as_reader(text: str) -> Reader | None:
    """Read such a word; None for what is none."""
    parts = text.split("|")
    return Reader(*parts) if len(parts) == len(Reader.__slots__) else None


_FAULT: Final = re.compile(
    r"(?P<parser>[a-z][a-z0-9-]{1,40}) (?P<version>[\d.]+): (?P<verdict>complete|incomplete|failed), "
)
