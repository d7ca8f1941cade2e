"""How far do two parsers agree, field by field?

Takes pages as both have read them, in any order; a page counts once both have said something. Of what
is compared small digests are kept with a beginning of each value, so that many pages fit. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

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
_NOTHING: Final = frozenset({"", -1, -1.0, "unknown", ()})

Key = tuple[str, str, int]
"""Execution, URL key and fetch: one reading of one page."""


class Value(NamedTuple):
    """A field's value, small."""

    digest: bytes
    """Empty where the field says nothing."""
    shown: str


class Reading(NamedTuple):
    """What one parser said of one page."""

    url: str
    version: str
    values: dict[str, Value]


@dataclass(slots=True)
class FieldAgreement:
    """What both parsers say in one field."""

    same: int = 0
    differ: int = 0
    only_live: int = 0
    only_shadow: int = 0
    example: tuple[str, str, str] = ("", "", "")
    """A page on which they do not agree, what the live one says and what the shadow does."""

    @property
    def share(self) -> float:
        """Say which share of the pages that say something here they agree on; 1 where none does."""
        told = self.same + self.differ + self.only_live + self.only_shadow
        return self.same / told if told else 1.0


@dataclass(slots=True)
class Agreement:
    """Gathers, from two streams of pages."""

    most_pages: int
    pages: int = 0
    """Compared so far."""
    fields: dict[str, FieldAgreement] = field(default_factory=dict)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pages by the versions of live parser and shadow."""
    _waiting: dict[Key, Reading] = field(default_factory=dict)

    @property
    def unmatched(self) -> int:
        """Say of how many of the shadow's pages the live parser has said nothing."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether no more of the shadow's pages are kept."""
        return len(self._waiting) >= self.most_pages

    def hear_shadow(self, page: PageParsed) -> None:
        """Keep what the shadow said; of a page that was read twice the last."""
        if not self.is_full:
            self._waiting[_key(page)] = _reading(page)

    def hear_live(self, page: PageParsed) -> None:
        """Compare, where the shadow has read the same page."""
        shadow = self._waiting.pop(_key(page), None)
        if shadow is None:
            return
        self.pages += 1
        live = _reading(page)
        self.versions[live.version, shadow.version] += 1
        for name in dict.fromkeys((*live.values, *shadow.values)):
            said, other = live.values.get(name, _UNSAID), shadow.values.get(name, _UNSAID)
            _count(self.fields.setdefault(name, FieldAgreement()), page.url, said, other)

    def below(self, least: float) -> Iterator[str]:
        """Name the fields on which they agree less than this."""
        return (name for name, told in self.fields.items() if told.share < least)


_UNSAID: Final = Value(b"", "")


def _count(told: FieldAgreement, url: str, live: Value, shadow: Value) -> None:
    if live.digest == shadow.digest:
        told.same += bool(live.digest)
        return
    if not told.example[0]:
        told.example = (url, live.shown, shadow.shown)
    if not shadow.digest:
        told.only_live += 1
    elif not live.digest:
        told.only_shadow += 1
    else:
        told.differ += 1


def _key(page: PageParsed) -> Key:
    return page.execution_id, page.url_key, page.fetch_sequence


def _reading(page: PageParsed) -> Reading:
    values = {name: _value(getattr(page, name)) for name in PAGE_FIELDS}
    values["products"] = _value(len(page.products) or "")
    for product in page.products[:1]:
        values |= {f"product.{name}": _value(getattr(product, name)) for name in PRODUCT_FIELDS}
    return Reading(page.url, f"{page.parser} {page.parser_version}", values)


def _value(value: Any) -> Value:
    plain = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    if plain in _NOTHING:
        return _UNSAID
    text = json.dumps(plain, ensure_ascii=False)
    return Value(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), text[:MAX_SHOWN_CHARS])
