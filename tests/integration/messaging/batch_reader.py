"""A member of a group as a process of its own: it steps over what it cannot read, and prints its memory.

Run as a program: bootstrap server, group, topic, offset at which it ends. One JSON line for each record and
each range that it stepped over, and one with the resident memory before the first fetch and at its peak.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import structlog

from strider.messaging.errors import UnreadRange
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import GroupSpec, TopicPartition


def write(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def memory_mib(which: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(which))


class NoListener:
    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...
    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...


structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))


async def main(bootstrap: str, group: str, topic: str, end: str) -> None:
    bus = KafkaBus(KafkaConnection((bootstrap,), max_decompressed_batch_bytes=16 * 1024 * 1024))
    consumer = await bus.consumer(GroupSpec(group, (topic,)), NoListener())
    partition = TopicPartition(topic, 0)
    before = memory_mib("VmRSS")
    reached = 0
    while reached < int(end):
        try:
            found = await consumer.poll(max_records=500, timeout_seconds=1.0)
        except UnreadRange as unread:
            write(event="skipped", first=unread.first, last=unread.last, why=str(unread))
            reached = unread.resume_at
            consumer.seek(partition, reached)
            continue
        for record in found.get(partition, ()):
            write(event="record", offset=record.offset, size=len(record.value or b""))
            reached = record.offset + 1
    await consumer.commit({partition: reached})
    write(event="memory", before=before, peak=memory_mib("VmHWM"))
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
