"""Agreement of two parsers, field by field. Pure.

Takes pages of both parsers in any order; a page counts once both have parsed it. Keeps small digests of the
values with their beginnings, so that many pages fit into memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from strider.cli.output import json_text
from strider.contracts.generated.events import PageParsed

MAX_SHOWN_CHARS: Final = 80

PAGE_FIELDS: Final = (
    *("outcome", "document_kind", "charset", "title", "description", "language", "author", "published_at"),
    *("modified_at", "canonical_url", "page_kind", "text_hash", "main_text", "next_url", "page_urls"),
    *("link_urls", "feed_urls", "robots_directives", "structured_types", "records_json"),
)
PRODUCT_FIELDS: Final = (
    *("name", "description", "price", "currency", "old_price", "price_low", "price_high", "availability"),
    *("rating", "review_count", "brand", "category", "sku", "gtin", "mpn", "seller", "image_urls"),
)
_EMPTY_VALUES: Final = frozenset({"", -1, -1.0, "unknown", ()})

Key = tuple[str, str, int]
"""Run, URL key and fetch sequence: one fetch of one page."""


class FieldValue(NamedTuple):
    """A digest of a field's value, with its beginning."""

    digest: bytes
    """Empty where the field has no value."""
    shown: str


_EMPTY_VALUE: Final = FieldValue(b"", "")


class PageReading(NamedTuple):
    """Fields of one page by one parser."""

    url: str
    version: str
    values: dict[str, FieldValue]


@dataclass(slots=True)
class FieldCounts:
    """Counts of equal and different values of one field."""

    same: int = 0
    differ: int = 0
    only_live: int = 0
    only_shadow: int = 0
    example: tuple[str, str, str] = ("", "", "")
    """A page on which they differ, the live value and the shadow value."""

    @property
    def share(self) -> float:
        """Share of pages with a value on which both agree; 1 where no page has one."""
        counts = self.same + self.differ + self.only_live + self.only_shadow
        return self.same / counts if counts else 1.0


@dataclass(slots=True)
class FieldComparison:
    """Comparison of two streams of pages."""

    max_pages: int
    pages: int = 0
    """Compared so far."""
    fields: dict[str, FieldCounts] = field(default_factory=dict)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pages by the versions of live parser and shadow."""
    _unmatched: dict[Key, PageReading] = field(default_factory=dict)

    @property
    def unmatched(self) -> int:
        """Number of the shadow parser's pages that the live parser did not parse."""
        return len(self._unmatched)

    @property
    def is_full(self) -> bool:
        """Whether no more of the shadow's pages are kept."""
        return len(self._unmatched) >= self.max_pages

    def add_shadow(self, page: PageParsed) -> None:
        """Add a page of the shadow parser; a repeated one replaces the first."""
        if not self.is_full:
            self._unmatched[_key(page)] = _reading(page)

    def add_live(self, page: PageParsed) -> None:
        """Compare a page of the live parser, where the shadow parser has parsed it too."""
        shadow = self._unmatched.pop(_key(page), None)
        if shadow is None:
            return
        self.pages += 1
        live = _reading(page)
        self.versions[live.version, shadow.version] += 1
        for name in dict.fromkeys((*live.values, *shadow.values)):
            live_value, shadow_value = (
                live.values.get(name, _EMPTY_VALUE),
                shadow.values.get(name, _EMPTY_VALUE),
            )
            _count(self.fields.setdefault(name, FieldCounts()), page.url, live_value, shadow_value)

    def fields_below(self, min_agreement: float) -> Iterator[str]:
        """Return the fields on which they agree less than this."""
        return (name for name, counts in self.fields.items() if counts.share < min_agreement)


def _count(counts: FieldCounts, url: str, live: FieldValue, shadow: FieldValue) -> None:
    if live.digest == shadow.digest:
        counts.same += bool(live.digest)
        return
    if not counts.example[0]:
        counts.example = (url, live.shown, shadow.shown)
    if not shadow.digest:
        counts.only_live += 1
    elif not live.digest:
        counts.only_shadow += 1
    else:
        counts.differ += 1


def _key(page: PageParsed) -> Key:
    return page.execution_id, page.url_key, page.fetch_sequence


def _reading(page: PageParsed) -> PageReading:
    values = {name: _value(getattr(page, name)) for name in PAGE_FIELDS}
    values["products"] = _value(len(page.products) or "")
    for product in page.products[:1]:
        values |= {f"product.{name}": _value(getattr(product, name)) for name in PRODUCT_FIELDS}
    return PageReading(page.url, f"{page.parser} {page.parser_version}", values)


def _value(value: Any) -> FieldValue:
    plain = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    if plain in _EMPTY_VALUES:
        return _EMPTY_VALUE
    text = json_text(plain, ascii_only=False)
    return FieldValue(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), text[:MAX_SHOWN_CHARS]
    )
