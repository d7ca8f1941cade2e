"""The owner of a shard as a process of its own, which fills its buffers and reports when they are full.

Run as a program: bootstrap server, namespace, topic, records. After a line on standard input it tries to
commit what it holds, and prints the result.
"""

from __future__ import annotations

import asyncio
import sys

import structlog

from strider.messaging.errors import InfrastructureError, ShardFenced
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import RawRecord


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))


async def main(bootstrap: str, namespace: str, topic: str, count: str) -> None:
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    writer = await bus.take_shard(namespace, 0, commit_interval_seconds=0.2)
    committed = writer.append(topic, 0, RawRecord(b"k", b"owner"))
    await committed
    # Half of it is on its way when the process stops: a commit is due every 0.2 s.
    appended = [writer.append(topic, 0, RawRecord(b"%d" % n, b"zombie")) for n in range(int(count))]
    tell(f"full {writer.epoch}")
    sys.stdin.readline()  # blocks the loop as a long pause would: nothing was sent before it
    outcomes = await asyncio.gather(*appended, return_exceptions=True)
    tell("fenced" if all(isinstance(o, ShardFenced) for o in outcomes) else f"not fenced: {outcomes[0]!r}")
    try:
        await writer.append(topic, 0, RawRecord(b"k", b"zombie"))
        tell("accepted")
    except InfrastructureError as failure:
        tell(type(failure).__name__)
    tell(repr(await asyncio.wait_for(writer.ended(), 5)))
    await bus.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
