"""Fetched pages, of which tests name only what matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strider.contracts.generated.events import PageFetched, PageParsed
from strider.messaging.ports import Header
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits

URL = "https://site.test/folder/page.html"


@dataclass(frozen=True, slots=True)
class ARecord:
    """A message as it was read."""

    value: bytes | None = None
    headers: Sequence[Header] = ()
    topic: str = "pages-fetched"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None


def a_page(body: bytes = b"", **fields: Any) -> PageFetched:
    """Make a fetched page."""
    known: dict[str, Any] = {
        "url": URL,
        "url_key": "ab" * 32,
        "origin": "https://site.test",
        "group": "site.test",
        "job_id": "adhoc",
        "execution_id": "adhoc-20261118-spec",
        "crawl_spec_id": "spec",
        "fetch_sequence": 7,
        "lease_id": "3-1-7",
        "try_number": 1,
        "fetched_at_ms": 1_763_467_200_000,
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "body": body,
        "body_bytes": len(body),
    }
    return PageFetched(**{**known, **fields})


def read(body: bytes | str, *, limits: ParseLimits | None = None, **fields: Any) -> PageParsed:
    """Read a page with the real tools."""
    content = body.encode() if isinstance(body, str) else body
    page = a_page(content, **fields)
    return make_reader(limits or ParseLimits())(page, page.body)
