"""A member of a sharded group as a process of its own; writes what befalls it to standard output.

Run as a program: bootstrap server, group, session in seconds, topics. One JSON line an event, with
the machine's monotonic time, so that lines of several processes can be put in order.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time

import structlog

from strider.messaging.errors import PartitionNotOwned
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import GroupSpec, TopicPartition


def tell(event: str, partitions: frozenset[TopicPartition] = frozenset()) -> None:
    line = {"at": time.monotonic(), "event": event, "owned": sorted(map(list, partitions))}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Telling:
    def __init__(self) -> None:
        self.last: frozenset[TopicPartition] = frozenset()

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        tell("revoked", partitions)

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.last = partitions
        tell("assigned", partitions)


structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))


async def main(bootstrap: str, group: str, session: str, *topics: str) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    spec = GroupSpec(group, topics, sharded=True, session_timeout_seconds=float(session))
    telling = Telling()
    consumer = await bus.consumer(spec, telling)
    before = time.monotonic()
    while not stopping.is_set():
        held = telling.last
        await consumer.poll(max_records=100, timeout_seconds=0.1)
        if held and time.monotonic() - before > float(session):
            # We were stopped for longer than a session: another member owns the partitions now.
            try:
                await consumer.commit(dict.fromkeys(held, 7))
                tell("commit-accepted", held)
            except PartitionNotOwned:
                tell("commit-refused", held)
        before = time.monotonic()
    tell("leaving", consumer.assignment())
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
