"""Has pages read by the parser's own workers: a page that hangs or crashes costs itself alone.

Decides how many are in hand at a time, and that answers come in the order of the questions.
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
from strider.parser.adapters.workers.pool import ParserFault, WorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import ParseLimits
from strider.parser.core.event_size import join_parts
from strider.runtime.clocks import SystemClock

from .showing import failed, told_of
from .sources import BadSource, Source, page_of

PAGES_AT_HAND: Final = 16
"""For each worker: enough that none waits, few enough that memory stays small."""

FULL: Final = ParseLimits(extraction=ExtractionLevel.RECORDS, with_markdown=True)


@dataclass(frozen=True, slots=True)
class _Unsent:
    """A page that came by no topic."""

    value: bytes | None = None
    headers: tuple[Header, ...] = ()
    topic: str = ""
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None


@asynccontextmanager
async def open_reader(workers: int, limits: ParseLimits = FULL) -> AsyncIterator[WorkerPool]:
    """Start workers that read everything there is on a page, and end them."""
    orders = WorkerConfig(parent_pid=os.getpid(), limits=limits, has_object_store=True)
    parsers = WorkerPool(
        orders,
        Codec(SchemaStore.bundled()),
        workers=workers,
        clock=SystemClock(),
        environ=dict(os.environ),
        gives_events=True,
    )
    await parsers.start()
    try:
        yield parsers
    finally:
        await parsers.close()


async def read_page(parsers: WorkerPool, page: PageFetched) -> dict[str, Any]:
    """Have one page read, and tell what the parser saw."""
    try:
        parsed = await parsers.parse(page, _Unsent(), page.body)
    except ParserFault as fault:
        lines = str(fault).strip().splitlines() or [""]
        return failed(f"the parser failed: {lines[-1]}", page.url)
    except Unavailable as failure:
        return failed(str(failure), page.url)
    return told_of(join_parts([part.event for part in (*parsed.earlier_parts, parsed)]), parsed.texts)


async def read_source(parsers: WorkerPool, source: Source) -> dict[str, Any]:
    """Have the page of a file read; its file is told with it."""
    try:
        page = page_of(source)
    except BadSource as failure:
        told = failed(str(failure), source.url)
    else:
        told = await read_page(parsers, page)
    return {"file": source.file, **told}


async def read_all(
    sources: Iterable[Source], *, workers: int, limits: ParseLimits = FULL
) -> AsyncGenerator[dict[str, Any]]:
    """Have many read, in their order."""
    async with open_reader(workers, limits) as parsers:
        waiting: deque[asyncio.Task[dict[str, Any]]] = deque()
        try:
            for source in sources:
                waiting.append(asyncio.create_task(read_source(parsers, source)))
                if len(waiting) >= PAGES_AT_HAND * workers:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for task in waiting:
                task.cancel()


async def read_one(source: Source) -> dict[str, Any]:
    """Have one read."""
    async with aclosing(read_all((source,), workers=1)) as answers:
        return await anext(answers)
