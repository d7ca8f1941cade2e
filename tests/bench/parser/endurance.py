"""How much memory does a worker hold, after very many pages? Real workers, real documents and synthetic ones.

One page in a hundred is a large one. The figure is the most that any of the workers held between its pages
or at one, by the kernel's own count; and how many were let go because they had grown.
"""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

import uvloop

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.topics import PAGES_FETCHED
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import PageOptions
from strider.runtime.clocks import SystemClock
from tests.bench.measure import Row, resident_mib
from tests.unit.parser.pages import ARecord, a_page

from .pages import REAL_PAGES, real_pages, synthetic

WORKERS: Final = 2
AT_ONCE: Final = 32
LOOK_EVERY: Final = 50
LARGE_EVERY: Final = 100
LARGE_BYTES: Final = 1024 * 1024
BAR_MB: Final = 200.0

_CODEC: Final = Codec(SchemaStore.bundled())


def _pages() -> Iterator[tuple[bytes, bytes]]:
    """Give bodies as sent and events, without end: ordinary ones, and now and then a large one."""
    ordinary = [gzip.compress(page) for page in (synthetic(), *real_pages())]
    files = sorted(REAL_PAGES.glob("*.html.gz"))
    large = [file.read_bytes() for file in files if len(gzip.decompress(file.read_bytes())) > LARGE_BYTES]
    usual, unusual = cycle(ordinary), cycle(large or ordinary)
    number = 0
    while True:
        number += 1
        body = next(unusual if number % LARGE_EVERY == 0 else usual)
        page = a_page(body, content_encoding="gzip", body_bytes=len(body), url=f"https://s.test/{number}")
        yield body, _CODEC.encode(PAGES_FETCHED, page).value


class _Peaks:
    """The most that each worker held, for as long as it was there."""

    def __init__(self, parsers: ParserWorkerPool) -> None:
        self._parsers = parsers
        self.of_worker: dict[int, float] = {}

    def look(self) -> None:
        """Look at those that are there now."""
        for pid in self._parsers.pids:
            try:
                self.of_worker[pid] = resident_mib(of=pid)
            except (OSError, StopIteration):  # it has just gone
                continue


async def _read(count: int) -> _Peaks:
    parsers = ParserWorkerPool(
        WorkerConfig(parent_pid=os.getpid()),
        _CODEC,
        workers=WORKERS,
        clock=SystemClock(),
        environ={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    await parsers.start()
    peaks, pages, left = _Peaks(parsers), _pages(), iter(range(count))

    async def some() -> None:
        for number in left:
            body, event = next(pages)
            page = _CODEC.decode(PAGES_FETCHED, event)
            await parsers.parse(page, ARecord(event), body, options=PageOptions(ExtractionLevel.MAIN.value))
            if number % LOOK_EVERY == 0:
                peaks.look()

    try:
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        peaks.look()
    finally:
        await parsers.close()
    return peaks


def measure(*, count: int) -> list[Row]:
    """All rows of this file."""
    peaks = uvloop.run(_read(count))
    most, all_of_them = max(peaks.of_worker.values()), len(peaks.of_worker)
    detail = f"{all_of_them - WORKERS} let go as they had grown"
    name = f"memory of a parser's worker over {count:,} pages, at its peak"
    return [Row(name, most, "MB", BAR_MB, detail=detail)]
