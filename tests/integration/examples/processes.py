"""The examples as real processes on a real broker, with the checks of the tests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EchoRequested, TallyKept
from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, TALLIES, TOPICS
from strider.contracts.partitioning import shard_of_host
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.runtime.observability import log_events

SHARDS = 12
DEADLINE_SECONDS = 60.0
CODEC = Codec(SchemaStore.bundled())


def wait_for(question: Callable[[], Any], *, seconds: float = DEADLINE_SECONDS) -> Any:
    """Repeat until the result is not empty, and return it; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)  # each question costs more than this wait
    return answer


class ServiceProcess:
    """One process of an example."""

    def __init__(
        self, name: str, bootstrap: str, log: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("STRIDER_", "ECHO_", "TALLY_", "KAFKA_"))
        }
        variables |= {
            "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "KAFKA_SESSION_TIMEOUT": "6s",
            "STRIDER_SHARDS": str(SHARDS),
            **(environ or {}),
        }
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"strider.{name}"],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    def open_files(self) -> int:
        """Count its open files, sockets included."""
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def lines_of(self, event: str) -> list[dict[str, Any]]:
        """Give the log lines of an event."""
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{"))
        return [line for line in lines if line["event"] == event]

    def wait_for_event(self, event: str) -> dict[str, Any]:
        """Wait for a log line; a process that ended instead is shown."""
        wait_for(lambda: self.lines_of(event) or self._process.poll() is not None)
        assert self.lines_of(event), self.log.read_text()
        return self.lines_of(event)[0]

    def get(self, path: str) -> httpx.Response:
        """Return the response of one of its probes."""
        url = self.wait_for_event(log_events.HEALTH_SERVER_STARTED.text)["url"] + path
        return httpx.get(url, trust_env=False, timeout=10)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the exit code."""
        self._process.send_signal(number)
        return self._process.wait(DEADLINE_SECONDS)

    def code(self) -> int:
        """Wait for it to end by itself; its exit code."""
        return self._process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        """End it, however it is."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Requests:
    """Sends echo requests, and knows what must be counted for them."""

    def __init__(self, bootstrap: str, hosts: Iterable[str]) -> None:
        self._connection = KafkaConnection(bootstrap_servers=(bootstrap,))
        self._hosts = list(hosts)
        self._number = 0
        self.expected: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def apply_topics(self) -> None:
        """Make the examples' topics, and the first offsets of their groups."""
        wanted: list[Topic[Any]] = [
            topic for topic in TOPICS.values() if topic.profile == "example" or topic.name == "schemas"
        ]
        asyncio.run(apply_topics(self._connection, wanted, shards=SHARDS))

    def ask(self, count: int) -> None:
        """Send so many requests over the hosts in turn; every tenth is blank, and must be refused."""
        asyncio.run(self._ask(count))

    async def _ask(self, count: int) -> None:
        bus = KafkaBus(self._connection)
        producer = await bus.producer()
        for _ in range(count):
            self._number += 1
            host = self._hosts[self._number % len(self._hosts)]
            is_blank = self._number % 10 == 0
            (self.refused if is_blank else self.expected)[host] += 1
            event = EchoRequested(f"{host}-{self._number}", host, " " if is_blank else "hello")
            encoded = CODEC.encode(ECHO_REQUESTS, event)
            await producer.send(
                OutgoingMessage(
                    ECHO_REQUESTS.name,
                    host.encode(),
                    encoded.value,
                    partition=shard_of_host(host, SHARDS),
                    headers=encoded.headers,
                )
            )
        await producer.flush()
        await bus.close()

    def tallies(self) -> dict[str, TallyKept]:
        """Read the latest tally of each of our hosts, committed ones only."""
        return asyncio.run(self._tallies())

    async def _tallies(self) -> dict[str, TallyKept]:
        bus = KafkaBus(self._connection)
        partitions = [TopicPartition(TALLIES.name, number) for number in range(SHARDS)]
        table = await CompactedTableReader(bus, clock=SystemClock()).load(
            partitions, key=bytes.decode, value=lambda value: CODEC.decode(TALLIES, value)
        )
        await bus.close()
        return {host: table[host] for host in self._hosts if host in table}

    def echoed(self) -> Counter[tuple[str, str]]:
        """Count what stands in the log of echoes for our hosts, by host and outcome."""
        return asyncio.run(self._echoed())

    async def _echoed(self) -> Counter[tuple[str, str]]:
        bus = KafkaBus(self._connection)
        found: Counter[tuple[str, str]] = Counter()

        def note(_key: bytes | None, value: bytes | None) -> None:
            echo = CODEC.decode(ECHOES, value)
            found[echo.host, echo.outcome] += 1

        partitions = [TopicPartition(ECHOES.name, number) for number in range(SHARDS)]
        await CompactedTableReader(bus, clock=SystemClock()).read(partitions, note)
        await bus.close()
        return Counter({key: count for key, count in found.items() if key[0] in self._hosts})

    def counted(self) -> int:
        """Count how many of our requests are in the tallies."""
        return sum(tally.count + tally.refused for tally in self.tallies().values())

    def is_exact(self) -> bool:
        """Whether the tallies equal the log of echoes, host by host, no more and no less."""
        log, tallies = self.echoed(), self.tallies()
        return all(
            (tallies[host].count, tallies[host].refused) == (log[host, "echoed"], log[host, "refused_empty"])
            for host in self._hosts
        )
