"""Pages of archived logs: the same lines as the whole, and no more is read than they need."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

import pytest

from strider.messaging.inprocess.virtual_clock import EventLoopClock
from strider.runtime.observability.job_logs import JobLogLine
from strider.storage.errors import ObjectCorrupt
from strider.storage.objects import DeadLetterObjectStore, ObjectOptions, open_object_store
from strider.storage.run_logs.archive import RunLogArchive, object_name
from strider.storage.run_logs.archive_format import ArchivedLog, encode_archive
from strider.storage.run_logs.models import LogEntry

RUN = "news-1"


def entries_of(count: int, *, note: str = "") -> list[LogEntry]:
    found = []
    for number in range(count):
        fields = {"job_id": "news", "execution_id": RUN, "ts": f"t{number}", "level": "info", "event": "E"}
        text = json.dumps({**fields, "service": "parser", "note": note or incompressible(number)})
        line = JobLogLine("news", f"t{number}", "info", "E", text, RUN)
        found.append(LogEntry(f"{1_700_000_000_000 + number}-0", line))
    return found


def incompressible(number: int) -> str:
    return "".join(sha256(f"{number}.{part}".encode()).hexdigest() for part in range(10))


@dataclass
class CountedObjects:
    """A real store that notes how many bytes are read, and may replace an object between two reads."""

    store: DeadLetterObjectStore
    sizes: list[int] = field(default_factory=list)
    replacement: bytes = b""

    async def put_named(self, name: str, content: bytes) -> None:
        await self.store.put_named(name, content)

    async def get_named(self, name: str, *, max_bytes: int) -> bytes:
        content = await self.store.get_named(name, max_bytes=max_bytes)
        self.sizes.append(len(content))
        return content

    async def get_named_range(
        self, name: str, *, start: int, end: int, version: str = ""
    ) -> tuple[bytes, str]:
        if version and self.replacement:
            content, self.replacement = self.replacement, b""
            await self.store.put_named(name, content)
        found = await self.store.get_named_range(name, start=start, end=end, version=version)
        self.sizes.append(len(found[0]))
        return found

    async def delete_older(self, prefix: str, *, than: datetime) -> int:
        return await self.store.delete_older(prefix, than=than)


@pytest.fixture
async def objects(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CountedObjects]:
    folder = tmp_path_factory.mktemp("objects")
    store = open_object_store(ObjectOptions(f"file://{folder}"), clock=EventLoopClock())
    yield CountedObjects(store)
    await store.close()


async def pages_of(archive: RunLogArchive, count: int) -> list[list[LogEntry]]:
    """Return the pages of the log, as a client reads them."""
    after, found = "0-0", []
    while (page := await archive.page(RUN, after=after, count=count)) is not None:
        found.append(list(page.entries))
        after = page.position
        if page.is_last:
            return found
    raise AssertionError("there is no archive")


@pytest.mark.parametrize("count", [1, 199, 200, 201, 1_000])
@pytest.mark.parametrize("lines", [1, 200, 401])
async def test_pages_have_every_line_once(objects: CountedObjects, count: int, lines: int) -> None:
    entries, archive = entries_of(lines), RunLogArchive(objects)
    await archive.add("news", RUN, entries, archived_at="now")

    pages = await pages_of(archive, count)
    summary = await archive.summary(RUN)

    assert [entry for page in pages for entry in page] == entries
    assert [len(page) for page in pages[:-1]] == [count] * ((lines - 1) // count)
    assert await archive.tail(RUN, count=150) == entries[-150:]
    assert summary is not None
    assert (summary.lines, summary.first_ts, summary.last_ts) == (lines, "t0", f"t{lines - 1}")
    assert (
        gzip.decompress(await objects.get_named(object_name(RUN), max_bytes=10**8)).count(b"\n") == lines + 1
    )


@pytest.mark.req("S1.13.10", part="a page of an archived log reads its part alone")
async def test_a_page_reads_its_part_of_the_archive_alone(objects: CountedObjects) -> None:
    entries, archive = entries_of(6_000), RunLogArchive(objects)
    await archive.add("news", RUN, entries, archived_at="now")
    whole = len(await objects.get_named(object_name(RUN), max_bytes=10**8))
    objects.sizes.clear()

    page = await archive.page(RUN, after=entries[3_000].position, count=100)
    of_page = sum(objects.sizes)
    await archive.summary(RUN)
    await archive.tail(RUN, count=50)

    assert page is not None
    assert list(page.entries) == entries[3_001:3_101]
    assert of_page < whole / 4
    assert sum(objects.sizes) < whole / 2


@pytest.mark.req("S1.13.10", part="200 readers of an archived log in flat memory")
async def test_many_readers_hold_no_archive(objects: CountedObjects) -> None:
    entries, archive = entries_of(6_000), RunLogArchive(objects)
    await archive.add("news", RUN, entries, archived_at="now")
    places = [entries[number * 29].position for number in range(200)]
    plain = sum(len(entry.line.text) for entry in entries)
    tracemalloc.start()
    try:
        pages = await asyncio.gather(*(archive.page(RUN, after=place, count=1) for place in places))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [page and page.entries[0] for page in pages] == [entries[number * 29 + 1] for number in range(200)]
    assert peak < plain


async def test_an_archive_that_is_replaced_meanwhile_is_read_as_the_new_one(objects: CountedObjects) -> None:
    """Another scheduler adds lines between the head and the block."""
    entries, archive = entries_of(900), RunLogArchive(objects)
    await archive.add("news", RUN, entries[:300], archived_at="a")
    objects.replacement = encode_archive(ArchivedLog("news", RUN, "b", entries))

    page = await archive.page(RUN, after=entries[250].position, count=500)

    assert page is not None
    assert list(page.entries) == entries[251:751]


async def test_an_archive_in_the_earlier_form_is_read(objects: CountedObjects) -> None:
    """All in one part, and no blocks in the head."""
    entries, archive = entries_of(300), RunLogArchive(objects)
    head = {"job_id": "news", "run": RUN, "archived_at": "now", "lines": 300}
    lines = [head, *(entry.document() for entry in entries)]
    content = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
    await objects.put_named(object_name(RUN), content)

    pages = await pages_of(archive, 120)
    summary = await archive.summary(RUN)
    tail = await archive.tail(RUN, count=3)
    await archive.add("news", RUN, [*entries, *entries_of(301)[300:]], archived_at="later")

    assert [entry for page in pages for entry in page] == entries
    assert (summary and summary.lines, tail) == (300, entries[-3:])
    assert [entry for page in await pages_of(archive, 120) for entry in page] == entries_of(301)


async def test_a_long_head_is_read_whole(objects: CountedObjects) -> None:
    """Lines of the largest size are a block each."""
    entries, archive = entries_of(3, note="é" * 60_000), RunLogArchive(objects)
    run = RUN + "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))
    await archive.add("news", run, entries, archived_at="now")

    page = await archive.page(run, after=entries[0].position, count=5)

    assert page is not None
    assert list(page.entries) == entries[1:]


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        gzip.compress(b""),
        gzip.compress(b"{}\n"),
        gzip.compress(b'{"blocks": [[1]]}\n'),
        gzip.compress(b"1"),
    ],
    ids=["no gzip", "no line", "no head", "wrong blocks", "a number"],
)
async def test_an_object_that_is_no_archive_is_refused(objects: CountedObjects, content: bytes) -> None:
    await objects.put_named(object_name(RUN), content)

    with pytest.raises(ObjectCorrupt):
        await RunLogArchive(objects).page(RUN, after="0-0", count=1)
    assert await RunLogArchive(objects).page("another", after="0-0", count=1) is None
