"""Reads pages in the service's own process, and hands on those that may take long there.

For embedded mode and tests: no processes to start for pages of the usual size. Nothing here could end
a page that takes too long; so what is larger, once its encodings are undone, is somebody else's, and so is
every PDF.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.contracts.generated.enums import DocumentKind, ParseOutcome
from strider.contracts.generated.events import PageFetched
from strider.messaging.ports import Record
from strider.parser.adapters.page_reader import make_reader
from strider.parser.core import ParseLimits, fit_event
from strider.parser.topology import PageParser, ParsedPage

MAX_INLINE_BYTES: Final = 512 * 1024
"""Nearly every page is smaller, and the worst of this size takes a tenth of a second."""

_OVER_LIMIT: Final = frozenset({ParseOutcome.TOO_LARGE, ParseOutcome.DECODE_BOMB})


class InlinePageParser:
    """Reads pages one after the other, where they are."""

    def __init__(
        self, limits: ParseLimits, *, has_object_store: bool, large_page_parser: PageParser | None = None
    ) -> None:
        """`may_store` says whether texts that are too long can be put elsewhere; `large` reads large pages,
        without it they are read here too.
        """
        here = (
            limits.max_decoded_bytes
            if large_page_parser is None
            else min(MAX_INLINE_BYTES, limits.max_decoded_bytes)
        )
        self._read = make_reader(
            replace(limits, max_decoded_bytes=here, max_sitemap_bytes=here),
            reads_pdf=large_page_parser is None,
        )
        self._has_object_store = has_object_store
        self._large = large_page_parser

    async def parse(
        self, page: PageFetched, record: Record, body: bytes, *, extraction: str = ""
    ) -> ParsedPage:
        """Read a page."""
        event = self._read(page, body, extraction)
        is_text_in_object = event.outcome in _OVER_LIMIT or event.document_kind == DocumentKind.PDF
        if self._large is not None and is_text_in_object:
            return await self._large.parse(page, record, body, extraction=extraction)
        fitted = fit_event(event, may_store=self._has_object_store)
        return ParsedPage(
            fitted.event, texts=fitted.texts, earlier_parts=tuple(map(ParsedPage, fitted.preceding_parts))
        )
