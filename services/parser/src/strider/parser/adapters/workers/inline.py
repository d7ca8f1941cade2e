"""In-process parser of small pages, for `strider crawl` and tests alone.

No process has to start for pages of usual size. Nothing here can stop a page that takes too long, so pages
that are larger once decoded, and all PDFs, go to another page parser.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.contracts.generated.enums import DocumentKind, ParseOutcome
from strider.contracts.generated.events import PageFetched
from strider.messaging.ports import Record
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import DEFAULT_OPTIONS, PageOptions, ParseLimits, fit_event
from strider.parser.topology import PageParser, ParsedPage

MAX_INLINE_BYTES: Final = 512 * 1024
"""Nearly every page is smaller, and the worst page of this size takes 100 ms."""

_OVER_LIMIT: Final = frozenset({ParseOutcome.TOO_LARGE, ParseOutcome.DECODE_BOMB})


class InlinePageParser:
    """Parses pages one after the other in this process."""

    def __init__(
        self, limits: ParseLimits, *, has_object_store: bool, large_page_parser: PageParser | None = None
    ) -> None:
        """Set the limits; without `large_page_parser` large pages and PDFs are parsed here too.

        `has_object_store` is whether texts that are too long for an event can be stored elsewhere.
        """
        max_bytes = (
            limits.max_decoded_bytes
            if large_page_parser is None
            else min(MAX_INLINE_BYTES, limits.max_decoded_bytes)
        )
        self._read = make_reader(
            replace(limits, max_decoded_bytes=max_bytes, max_sitemap_bytes=max_bytes),
            reads_pdf=large_page_parser is None,
        )
        self._has_object_store = has_object_store
        self._large_page_parser = large_page_parser

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, options: PageOptions = DEFAULT_OPTIONS
    ) -> ParsedPage:
        """Parse a page."""
        event = self._read(page, body, options)
        is_large = event.outcome in _OVER_LIMIT or event.document_kind == DocumentKind.PDF
        if self._large_page_parser is not None and is_large:
            return await self._large_page_parser.parse(page, record, body, options=options)
        fitted = fit_event(event, may_store=self._has_object_store)
        return ParsedPage(
            fitted.event, texts=fitted.texts, earlier_parts=tuple(map(ParsedPage, fitted.preceding_parts))
        )
