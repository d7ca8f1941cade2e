"""Worker pools for tests, and pages for them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import PAGES_FETCHED
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.topology import ParsedPage
from strider.runtime.clocks import SystemClock
from tests.unit.parser.pages import ARecord, a_page

ROOT = Path(__file__).parents[3]
CODEC = Codec(SchemaStore.bundled())
BODY = b"<title>T</title><p>Walking on streams.</p><a href=/next>next</a>"
SECONDS = 30.0


@asynccontextmanager
async def some_workers(
    count: int = 1,
    *,
    reader_factory: str = "tests.integration.parser.hostile_reader:make_reader",
    **options: Any,
) -> AsyncIterator[ParserWorkerPool]:
    rare_defaults = {"page_seconds": 0.5, "memory_mb": 256, "has_object_store": True}
    config = {**rare_defaults, "reader_factory": reader_factory, **options}
    returns_events = config.pop("returns_events", False)
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "POSTGRES_DSN": "secret"}
    parsers = ParserWorkerPool(
        WorkerConfig(parent_pid=os.getpid(), **config),
        CODEC,
        workers=count,
        clock=SystemClock(),
        environ=environ,
        returns_events=returns_events,
    )
    try:
        async with asyncio.timeout(SECONDS):
            await parsers.start()
            yield parsers
    finally:
        await parsers.close()


async def parse(
    parsers: ParserWorkerPool, path: str = "/page", body: bytes = BODY, **fields: Any
) -> ParsedPage:
    page = a_page(body, url=f"https://site.test{path}", **fields)
    encoded = CODEC.encode(PAGES_FETCHED, page)
    return await parsers.parse(page, ARecord(encoded.value, encoded.headers), body)


async def parse_elsewhere(parsers: ParserWorkerPool, body: bytes) -> ParsedPage:
    """Parse a page whose body is in the object store."""
    page = a_page(b"", body_object="2026-11-18/ab/abcd")
    encoded = CODEC.encode(PAGES_FETCHED, page)
    return await parsers.parse(page, ARecord(encoded.value, encoded.headers), body)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not is_so():
            await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def environ_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()
