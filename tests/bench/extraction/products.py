"""What of a product is found where its structured data is taken away.

Pages that say in JSON-LD, microdata or RDFa what they offer are read twice: as they are, and without all of
it. What they said then is what form, meta elements and scripts have to give.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from strider.contracts.generated.enums import AttributeSource, ExtractionLevel
from strider.contracts.generated.events import Product
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits
from tests.unit.parser.pages import a_page

READ: Final = make_reader(ParseLimits(extraction=ExtractionLevel.RECORDS))
ATTRIBUTES: Final = (
    *("name", "price", "currency", "availability", "sku"),
    *("gtin", "mpn", "brand", "rating", "review_count"),
)
ALIKE: Final = 0.5
"""Share of words of the page's title from which on the first product is the one that the page is about."""

_SAYING: Final = frozenset({AttributeSource.JSON_LD, AttributeSource.MICRODATA, AttributeSource.RDFA})
_JSON_LD: Final = re.compile(rb"<script[^>]*application/ld\+json.*?</script\s*>", re.DOTALL | re.IGNORECASE)
_OF_ITEMS: Final = re.compile(
    rb"""(?<=[\s"'])(?:item(?:prop|scope|type|ref|id)|typeof|vocab)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?"""
    rb"(?=[\s/>])",
    re.IGNORECASE,
)


def without_structure(content: bytes) -> bytes:
    """Take away what a page says for machines; its metas and its scripts stay."""
    return _OF_ITEMS.sub(b"", _JSON_LD.sub(b"", content))


def read_both(content: bytes, url: str) -> tuple[Product, Product | None] | None:
    """Give the product that a page says it is about, and the one that is found without its saying so."""
    page = READ(a_page(content, url=url, content_type=""), content)
    if not page.products:
        return None
    said = page.products[0]
    titles = f"{page.title}".casefold().split()
    words = said.name.casefold().split()
    is_own = sum(word in titles for word in words) >= ALIKE * len(words)
    if said.sources.get("name") not in _SAYING or not is_own:
        return None
    bare = without_structure(content)
    found = READ(a_page(bare, url=url, content_type=""), bare).products
    return said, found[0] if found else None


def tally(said: Product, found: Product | None, counts: Counter[tuple[str, str]]) -> None:
    """Count each attribute that was said as right, wrong or missed."""
    for name in ATTRIBUTES:
        wanted = getattr(said, name)
        if said.sources.get(name) not in _SAYING:
            continue
        value = getattr(found, name, None)
        if found is None or name not in found.sources:
            counts[name, "missed"] += 1
        else:
            counts[name, "right" if is_same(name, value, wanted) else "wrong"] += 1


def is_same(name: str, value: Any, wanted: Any) -> bool:
    """Compare as what an attribute is: a number, a state, or words."""
    if name in {"price", "rating"}:
        return abs(float(value) - float(wanted)) <= (0.1 if name == "rating" else 0.005)
    if name == "gtin":
        return str(value).lstrip("0") == str(wanted).lstrip("0")
    one, other = (" ".join(str(each).casefold().split()) for each in (value, wanted))
    return one == other or (name in {"name", "brand"} and (one in other or other in one))


def products(pages: Iterable[tuple[bytes, str]]) -> str:
    """Measure all pages, as a section of the document."""
    counts: Counter[tuple[str, str]] = Counter()
    number = 0
    for content, url in pages:
        if (both := read_both(content, url)) is not None:
            number += 1
            tally(*both, counts)
    return HEAD.format(count=number) + "".join(_row(counts, name) for name in ATTRIBUTES)


HEAD: Final = """
## Products

What form, meta elements and scripts give where the page's own JSON-LD, microdata and RDFa are taken out of
its bytes, against what these said of the page's product: {count} pages of all sets, those among them that
sell nothing but bear the markup (few, so the figures are rough ones).

| attribute | said | precision | recall | F1 |
|---|---|---|---|---|
"""


def _row(counts: Counter[tuple[str, str]], name: str) -> str:
    right, wrong, missed = (counts[name, what] for what in ("right", "wrong", "missed"))
    said = right + wrong + missed
    precision, recall = right / max(1, right + wrong), right / max(1, said)
    f1 = 2 * right / max(1, right + wrong + said)
    return f"| {name.replace('_', ' ')} | {said} | {precision:.3f} | {recall:.3f} | {f1:.3f} |\n"
