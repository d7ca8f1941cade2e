"""What the parser costs beyond the extraction itself: its worker's hand-over, and the service on a broker.

CPU of every process that is ours: the service's and its worker's. The bare extraction is what the worker's
own clock says of each page, on the event itself: the same reading on a machine that does nothing else takes
a third less, as two busy cores take from each other, and its figure stands beside it. The hand-over is
measured with a page that was read before, and on one core: else it would be a small difference of large
figures.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from strider.contracts import TOPICS
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ExtractionLevel
from strider.contracts.generated.events import PageFetched, PageParsed
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED
from strider.contracts.partitioning import shard_of_host
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage
from strider.messaging.topics import apply_topics
from strider.parser.adapters.page_reader import PageReader, make_reader
from strider.parser.adapters.workers.pool import ParserWorkerPool
from strider.parser.adapters.workers.worker import WorkerConfig
from strider.parser.core import DEFAULT_OPTIONS, PageOptions, ParseLimits, fit_event
from strider.runtime.clocks import SystemClock
from tests.bench.measure import Row
from tests.processes.services import Service, Yard
from tests.processes.waiting import until
from tests.unit.parser.pages import ARecord, a_page

from .pages import synthetic

SHARDS: Final = 12
HOSTS: Final = 200
AT_ONCE: Final = 16
DEADLINE_SECONDS: Final = 120.0
LEVEL: Final = ExtractionLevel.BASIC.value
"""As far as other crawlers read a page."""

_CODEC: Final = Codec(SchemaStore.bundled())


def _page(host: str = "site.test") -> tuple[bytes, bytes]:
    """Give a fetched page's body as sent, and its event."""
    body = gzip.compress(synthetic())
    page = a_page(
        body,
        url=f"https://{host}/folder/page.html",
        origin=f"https://{host}",
        group=host,
        content_encoding="gzip",
        body_bytes=len(body),
    )
    return body, _CODEC.encode(PAGES_FETCHED, page).value


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process, to the nanosecond as the kernel's scheduler counts it."""
    return sum(
        int(Path(f"/proc/{pid}/task/{task.name}/schedstat").read_text().split()[0]) / 1e9
        for task in Path(f"/proc/{pid}/task").iterdir()
    )


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def bare(count: int) -> float:
    """CPU seconds of extracting one page where it is."""
    body, event = _page()
    page, read = _CODEC.decode(PAGES_FETCHED, event), make_reader(ParseLimits())
    begin = time.process_time()
    for _ in range(count):
        read(page, body, PageOptions(LEVEL))
    return (time.process_time() - begin) / count


def make_known_reader(limits: ParseLimits) -> PageReader:
    """Make a reader that reads the first page, and says the same of all others."""
    read, found = make_reader(limits), list[PageParsed]()

    def read_again(page: PageFetched, body: bytes, options: PageOptions = DEFAULT_OPTIONS) -> PageParsed:
        if not found:
            found.append(read(page, body, options))
        return found[0]

    return read_again


def _whole_worker(read: PageReader, count: int) -> float:
    """CPU seconds of all that a worker does with a page, in this process: event to event."""
    _, event = _page()
    begin = time.thread_time()
    for _ in range(count):
        page = _CODEC.decode(PAGES_FETCHED, event)
        _CODEC.encode(
            PAGES_PARSED, fit_event(read(page, page.body, PageOptions(LEVEL)), may_store=False).event
        )
    return (time.thread_time() - begin) / count


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep this process, and those that it starts, on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


async def _handed_over(rounds: int, count: int) -> list[float]:
    """CPU seconds a page of both processes, beyond what the worker does with it."""
    body, event = _page()
    page, record = _CODEC.decode(PAGES_FETCHED, event), ARecord(event)
    parsers = ParserWorkerPool(
        WorkerConfig(parent_pid=os.getpid(), reader_factory=f"{__name__}:make_known_reader"),
        _CODEC,
        workers=1,
        clock=SystemClock(),
        environ={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    read = make_known_reader(ParseLimits())
    await parsers.start()

    async def hand_over(numbers: range) -> None:
        left = iter(numbers)

        async def some() -> None:
            for _ in left:
                await parsers.parse(page, record, body, options=PageOptions(LEVEL))

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))

    found = []
    try:
        await hand_over(range(count))
        (worker,) = parsers.pids
        for _ in range(rounds):
            begin = time.process_time() + _cpu_seconds(worker)
            await hand_over(range(count))
            both = (time.process_time() + _cpu_seconds(worker) - begin) / count
            found.append(both - _whole_worker(read, count))
    finally:
        await parsers.close()
    return found


class _Wire:
    """Sends pages to a parser and looks how many it has answered."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._bus = KafkaBus(KafkaConnection((bootstrap,)))
        self._read: dict[TopicPartition, int] = {}
        """As far as answers were looked at."""

    async def send(self, count: int) -> None:
        pages = [(f"h{number}.test", _page(f"h{number}.test")[1]) for number in range(HOSTS)]
        opening = _CODEC.message_prefix(PAGES_FETCHED)[1]
        producer = await self._bus.producer(compression=None)
        acknowledgements = []
        for number in range(count):
            host, event = pages[number % HOSTS]
            shard = shard_of_host(host, SHARDS)
            acknowledgements.append(
                await producer.send(OutgoingMessage(PAGES_FETCHED.name, host.encode(), event, shard, opening))
            )
        await asyncio.gather(*acknowledgements)
        await producer.close()

    async def answered(self) -> int:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(PAGES_PARSED.name, shard) for shard in range(SHARDS)]
            return sum((await consumer.end_offsets(partitions)).values())
        finally:
            await consumer.stop()

    async def reading_seconds(self, count: int) -> float:
        """CPU seconds that the last pages' reading took, as their events say."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(PAGES_PARSED.name, shard) for shard in range(SHARDS)]
            ends = await consumer.end_offsets(partitions)
            consumer.assign(partitions)
            for partition in partitions:
                consumer.seek(partition, self._read.get(partition, 0))
            micros = [
                await self._parse_us(consumer) for _ in range(sum(ends.values()) - sum(self._read.values()))
            ]
            self._read = dict(ends)
        finally:
            await consumer.stop()
        return sum(micros[-count:]) / 1e6

    @staticmethod
    async def _parse_us(consumer: AIOKafkaConsumer) -> int:
        record = await consumer.getone()
        return _CODEC.decode(PAGES_PARSED, record.value, record.headers).parse_us

    async def until_answered(self, count: int, tell: Callable[[], str]) -> None:
        async def are_answered() -> bool:
            return await self.answered() >= count

        await until(are_answered, what=f"{count} pages", tell=tell, seconds=DEADLINE_SECONDS)

    async def close(self) -> None:
        await self._bus.close()


@dataclass(frozen=True, slots=True)
class Served:
    """CPU seconds a page of a parser on a broker."""

    all: float
    reading: float
    """Of it the extraction, by its own clock."""
    alone: float
    """The extraction in a process that does nothing else, just after."""


async def _served(bootstrap: str, directory: Path, *, rounds: int, count: int) -> list[Served]:
    topics = [topic for topic in TOPICS.values() if topic.profile != "example"]
    await apply_topics(KafkaConnection((bootstrap,)), topics, shards=SHARDS)
    yard, wire = Yard(bootstrap, directory, shards=SHARDS), _Wire(bootstrap)
    try:
        service = yard.start(("-m", "strider.parser"), {"PARSER_EXTRACTION": LEVEL, "OBJECT_STORE_URL": ""})
        await service.until_ready()
        found, before = [], await wire.answered()
        for number in range(rounds + 1):
            begin = _spent(service)
            await wire.send(count)
            await wire.until_answered(before + (number + 1) * count, service.last_words)
            spent = (_spent(service) - begin) / count
            reading = await wire.reading_seconds(count) / count
            if number:  # the first one warms up
                found.append(Served(spent, reading, await asyncio.to_thread(bare, count)))
    finally:
        await wire.close()
        await asyncio.to_thread(yard.close)
    return found


def _spent(service: Service) -> float:
    return sum(map(_cpu_seconds, (service.pid, *_children(service.pid))))


def measure(bootstrap: str, directory: Path, *, rounds: int, count: int) -> list[Row]:
    """All rows of this file."""
    with _on_one_core():
        handed = statistics.median(uvloop.run(_handed_over(rounds, count)))
    served = uvloop.run(_served(bootstrap, directory, rounds=rounds, count=count))
    beyond = statistics.median(each.all - each.reading for each in served)
    alone = statistics.median(each.all - each.alone for each in served)
    detail = f"{alone * 1e6:.0f} µs over the extraction on a machine that does nothing else"
    return [
        Row("hand-over of a page to a worker and back, 26 KB page", handed * 1e6, "µs CPU", 30),
        Row(
            "parser service on Kafka over its extraction, 26 KB page",
            beyond * 1e6,
            "µs CPU",
            250,
            detail=detail,
        ),
    ]
