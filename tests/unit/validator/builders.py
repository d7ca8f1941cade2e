"""Builders of parsed pages, for which tests state only what matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strider.contracts.generated.events import PageParsed
from strider.messaging.ports import Header

TEXT = "Walking on streams is a matter of balance. " * 40


@dataclass(frozen=True, slots=True)
class ARecord:
    """A record as consumed."""

    value: bytes | None = None
    headers: Sequence[Header] = ()
    topic: str = "pages-parsed"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None


def a_page(text: str = TEXT, **fields: Any) -> PageParsed:
    """Return a parsed page, which has content unless something is changed."""
    known: dict[str, Any] = {
        "url": "https://site.test/page",
        "url_key": "ab" * 32,
        "origin": "https://site.test",
        "group": "site.test",
        "job_id": "adhoc",
        "execution_id": "adhoc-20261118-spec",
        "crawl_spec_id": "spec",
        "fetch_sequence": 7,
        "outcome": "parsed",
        "parser": "strider",
        "parser_version": "1",
        "fetched_at_ms": 1_763_467_200_000,
        "status": 200,
        "document_kind": "html",
        "title": "Streams",
        "text": text,
        "text_chars": len(text),
        "decoded_bytes": 5_000,
        "paragraph_count": 4,
        "link_urls": ("https://site.test/a", "https://site.test/b"),
    }
    return PageParsed(**{**known, **fields})
