"""Sends echo requests, kills the counting service in the middle, and shows that every count is exact."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter

from rich.console import Console
from rich.table import Table

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EchoRequested, TallyKept
from strider.contracts.generated.topics import ECHO_REQUESTS, TALLIES
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher

REQUESTS = 3_000
HOSTS = 12
PATIENCE_SECONDS = 60.0


def _stack() -> dict[str, object]:
    """Ask `strider status` where things are; not being all ready is an answer too."""
    told = subprocess.run(
        [".venv/bin/strider", "status", "--json"], capture_output=True, text=True, check=False
    )
    return dict(json.loads(told.stdout))


def _pid(name: str) -> int:
    processes = _stack()["processes"]
    assert isinstance(processes, list)
    return int(next(each["pid"] for each in processes if each["name"] == name))


async def _counts(bus: KafkaBus, codec: Codec, shards: int) -> Counter[str]:
    """Read the table as any service would: the compacted topic, to its end."""
    found: Counter[str] = Counter()

    def keep(_key: bytes | None, value: bytes | None) -> None:
        if value is not None:
            tally: TallyKept = codec.decode(TALLIES, value)
            found[tally.host] = tally.count

    partitions = [TopicPartition(TALLIES.name, shard) for shard in range(shards)]
    await CompactedTableReader(bus, clock=SystemClock()).read(partitions, keep)
    return found


async def _until_counted(bus: KafkaBus, codec: Codec, shards: int, *, expected: Counter[str]) -> Counter[str]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (found := await _counts(bus, codec, shards)).total() < expected.total():
            await asyncio.sleep(0.3)
    return found


def _show(console: Console, before: Counter[str], sent: Counter[str], counted: Counter[str]) -> None:
    table = Table("host", "sent", "counted", box=None, header_style="bold")
    for host in sorted(sent):
        table.add_row(host, str(sent[host]), str(counted[host] - before[host]))
    console.print(table)


async def main() -> int:
    """Run the demonstration; 1 where a count is wrong."""
    console = Console(highlight=False)
    endpoints = _stack()["endpoints"]
    assert isinstance(endpoints, dict)
    bus = KafkaBus(KafkaConnection((str(endpoints["kafka"]),)))
    codec, clock = Codec(SchemaStore.bundled()), SystemClock()
    shards = await bus.partition_count(TALLIES.name) or 0
    speaker = EventPublisher(bus, codec, service="demo", shards=shards, clock=clock)
    before, sent = await _counts(bus, codec, shards), Counter[str]()
    console.print(
        f"\nsending {REQUESTS} requests for {HOSTS} hosts; echo answers them, tally counts the answers"
    )
    for begin in range(0, REQUESTS, 500):
        batch = [
            (f"{os.getpid()}-{number}", f"host{number % HOSTS}.test") for number in range(begin, begin + 500)
        ]
        await speaker.publish(
            [Publish(ECHO_REQUESTS, EchoRequested(name, host, "hello")) for name, host in batch]
        )
        sent.update(host for _, host in batch)
        if begin == REQUESTS // 2:
            pid = _pid("tally")
            console.print(f"kill -9 {pid} (tally); the supervisor starts another")
            os.kill(pid, signal.SIGKILL)
    counted = await _until_counted(bus, codec, shards, expected=before + sent)
    _show(console, before, sent, counted)
    await speaker.close()
    await bus.close()
    exact = all(counted[host] - before[host] == sent[host] for host in sent)
    console.print("every count is exact" if exact else "[bold red]a count is wrong[/]")
    console.print("next: strider up --examples; strider topics tail tallies; examples/tally/README.md")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
