"""Parse pages with the parser's own killable workers.

Decides how many pages are in memory at a time, and keeps the order of the results.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import PageFetched
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Header
from strider.parser.adapters.workers.pool import ParserFault, ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import ParseLimits
from strider.parser.core.event_size import join_parts
from strider.runtime.clocks import SystemClock

from .fields import failed_fields, page_fields
from .page_sources import BadPageSource, PageSource, load_page

PAGES_PER_WORKER: Final = 16
"""Pages at a time: enough that no worker waits, few enough that memory stays small."""

FULL_LIMITS: Final = ParseLimits(extraction=ExtractionLevel.RECORDS, with_markdown=True)


@dataclass(frozen=True, slots=True)
class _NoRecord:
    """Record of a page that did not come from a topic."""

    value: bytes | None = None
    headers: tuple[Header, ...] = ()
    topic: str = ""
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None


@asynccontextmanager
async def open_parsers(workers: int, limits: ParseLimits = FULL_LIMITS) -> AsyncIterator[ParserWorkerPool]:
    """Start parser workers that extract everything, and stop them at the end."""
    orders = WorkerConfig(parent_pid=os.getpid(), limits=limits, has_object_store=True)
    parsers = ParserWorkerPool(
        orders,
        Codec(SchemaStore.bundled()),
        workers=workers,
        clock=SystemClock(),
        environ=dict(os.environ),
        returns_events=True,
    )
    await parsers.start()
    try:
        yield parsers
    finally:
        await parsers.close()


async def read_page(parsers: ParserWorkerPool, page: PageFetched) -> dict[str, Any]:
    """Parse one page, and return its fields."""
    try:
        parsed = await parsers.parse(page, _NoRecord(), page.body)
    except ParserFault as fault:
        lines = str(fault).strip().splitlines() or [""]
        return failed_fields(f"the parser failed: {lines[-1]}", page.url)
    except Unavailable as failure:
        return failed_fields(str(failure), page.url)
    return page_fields(join_parts([part.event for part in (*parsed.earlier_parts, parsed)]), parsed.texts)


async def read_source(parsers: ParserWorkerPool, source: PageSource) -> dict[str, Any]:
    """Parse the page of a file; its fields include the file."""
    try:
        page = load_page(source)
    except BadPageSource as failure:
        fields = failed_fields(str(failure), source.url)
    else:
        fields = await read_page(parsers, page)
    return {"file": source.file, **fields}


async def read_all(
    sources: Iterable[PageSource], *, workers: int, limits: ParseLimits = FULL_LIMITS
) -> AsyncGenerator[dict[str, Any]]:
    """Parse many pages; returns them in their order."""
    async with open_parsers(workers, limits) as parsers:
        waiting: deque[asyncio.Task[dict[str, Any]]] = deque()
        try:
            for source in sources:
                waiting.append(asyncio.create_task(read_source(parsers, source)))
                if len(waiting) >= PAGES_PER_WORKER * workers:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for task in waiting:
                task.cancel()


async def read_one(source: PageSource) -> dict[str, Any]:
    """Parse one page."""
    async with aclosing(read_all((source,), workers=1)) as results:
        return await anext(results)
