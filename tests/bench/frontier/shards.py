"""What the truth of the frontier costs a page: the shards' transactions, client and broker together.

A page writes three records: its entry accepted, fetched, closed. They come at a steady pace to all
shards of one process, as they do in a crawl; what both processes take without any page is left out.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

import uvloop
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from strider.messaging.kafka import KafkaBus, KafkaConnection, KafkaShardWriter
from strider.messaging.ports import RawRecord
from strider.scheduler.settings import SchedulerSettings
from strider.testing.stack import RunningServer
from tests.bench.measure import Row

SHARDS: Final = 12
PAGES_PER_SECOND: Final = 500
RECORDS: Final = 3
RECORD: Final = b"v" * 300
TURN_SECONDS: Final = 0.05
BAR_MS: Final = 0.15
TICKS: Final = os.sysconf("SC_CLK_TCK")


def measure(kafka: RunningServer, *, rounds: int, short: bool) -> list[Row]:
    """All rows of this file."""
    seconds = 4.0 if short else 8.0
    spent = [uvloop.run(_cost(kafka, seconds)) for _ in range(rounds)]
    detail = f"{SHARDS} shards, {PAGES_PER_SECOND} pages/s, {RECORDS} records a page"
    client, broker = (statistics.median(each[part] for each in spent) for part in (0, 1))
    return [
        Row(
            "transactions of the shards, client and broker",
            client + broker,
            "ms a page",
            BAR_MS,
            detail=detail,
        ),
        Row("… of it the client", client, "ms a page", None),
    ]


async def _cost(kafka: RunningServer, seconds: float) -> tuple[float, float]:
    """Give client's and broker's milliseconds a page."""
    bus, topic = KafkaBus(KafkaConnection((kafka.address,))), f"bench-truth-{uuid4().hex[:8]}"
    await _create(kafka.address, topic)
    interval_seconds = SchedulerSettings().commit_interval_seconds
    try:
        writers = [
            await bus.take_shard(topic, number, commit_interval_seconds=interval_seconds)
            for number in range(SHARDS)
        ]
        await _write(writers, topic, pages=PAGES_PER_SECOND)  # warm
        before = _cpu_ms(kafka.pid)
        await asyncio.sleep(seconds)
        idle = _cpu_ms(kafka.pid)
        pages = round(PAGES_PER_SECOND * seconds)
        await _write(writers, topic, pages=pages)
        busy = _cpu_ms(kafka.pid)
    finally:
        await bus.close()
    client, broker = (
        ((end - middle) - (middle - begin)) / pages
        for begin, middle, end in zip(before, idle, busy, strict=True)
    )
    return client, broker


async def _write(writers: Sequence[KafkaShardWriter], topic: str, *, pages: int) -> None:
    """Append at the pace, whole turns of it, and wait for the last commit."""
    last: dict[int, Awaitable[None]] = {}
    turn_pages = round(PAGES_PER_SECOND * TURN_SECONDS)
    began, loop = asyncio.get_running_loop().time(), asyncio.get_running_loop()
    for page in range(pages):
        if page % turn_pages == 0:
            await asyncio.sleep(max(0.0, began + page / PAGES_PER_SECOND - loop.time()))
        shard = page % SHARDS
        for number in range(RECORDS):
            record = RawRecord(b"%d-%d" % (page, number), RECORD)
            last[shard] = writers[shard].append(topic, shard, record)
    await asyncio.gather(*last.values())


async def _create(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, SHARDS, 1)])
    finally:
        await admin.close()


def _cpu_ms(broker: int) -> tuple[float, float]:
    """CPU time of this process and of the broker so far."""
    own = os.times()
    fields = Path(f"/proc/{broker}/stat").read_text().rpartition(")")[2].split()
    return (own.user + own.system) * 1000, (int(fields[11]) + int(fields[12])) * 1000 / TICKS
