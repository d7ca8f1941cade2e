"""Reads pages in the service's own process.

For embedded mode and tests: no processes to start, the same limits on size and depth, but nothing
that could end a page which takes too long.
"""

from __future__ import annotations

from strider.contracts.generated.events import PageFetched
from strider.parser.core import Limits, fit
from strider.parser.topology import Parsed
from strider.runtime.ports import Record

from .pages import make_reader


class InlineParsers:
    """Reads pages one after the other, where they are."""

    def __init__(self, limits: Limits, *, may_store: bool) -> None:
        """`may_store` says whether texts that are too long can be put elsewhere."""
        self._read = make_reader(limits)
        self._may_store = may_store

    async def parse(self, page: PageFetched, record: Record, body: bytes) -> Parsed:
        """Read a page."""
        del record
        fitted = fit(self._read(page, body), may_store=self._may_store)
        return Parsed(fitted.event, texts=fitted.texts)
